//! Repositories and protected names that an index has come to hold.

use super::*;

const FILE: u32 = 0o100_644;
const GITLINK: u32 = 0o160_000;

/// Writes an index of version 2.
fn index(path: &Path, entries: &[(&str, u32)], extensions: &[u8]) {
    let count = u32::try_from(entries.len()).unwrap();
    let mut bytes = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
    for (path, mode) in entries {
        let mut entry = vec![0; 60];
        entry[24..28].copy_from_slice(&mode.to_be_bytes());
        entry.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        entry.extend(path.as_bytes());
        entry.resize((entry.len() + 1).next_multiple_of(8), 0);
        bytes.extend(entry);
    }
    bytes.extend(extensions);
    bytes.extend([0; 20]);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

impl Grant {
    /// A grant that is a repository, whose index holds these.
    fn with_index(files: &[&str], entries: &[(&str, u32)]) -> Self {
        let mut grant = Self::with(files);
        index(&grant.top.join(".git/index"), entries, b"");
        write(&grant.top.join(".git/HEAD"));
        let of = |wanted| {
            let chosen = entries.iter().filter(move |(_, mode)| *mode == wanted);
            chosen.map(|(path, _)| path.as_bytes().to_vec())
        };
        let nameless = |path| (path, (FILE, vec![0; 20]));
        let protected = of(FILE).map(nameless).collect();
        let tracked = Tracked { gitlinks: of(GITLINK).collect(), protected, unknown: None };
        let path = host_path(&grant.top.join(".git/index"));
        grant.at_start.indexes = vec![Index { path, tracked }];
        std::thread::sleep(Duration::from_millis(40));
        grant.began = Began::now();
        grant
    }
}

/// T67: however deep it lies, and however little else is searched.
#[test]
fn a_repository_that_an_index_has_come_to_name_is_judged_first() {
    let limits = Limits { names: 3, names_among_packages: 1, ..Limits::default() };
    for limits in [limits, Limits::default()] {
        let grant = Grant::with_index(&["src/x"], &[]);
        let deep = "node_modules/a/b/c/d/e";
        write(&grant.top.join(deep).join(".git/config"));
        index(&grant.top.join(".git/index"), &[(deep, GITLINK)], b"");
        let lines = grant.sweep_within(limits);
        assert!(lines.contains(&format!("moved {deep}/.git/config")), "{lines:#?}");
        assert!(lines.contains(&format!("gitlinks 1 {deep}")), "{lines:#?}");
    }
}

/// T67: what was there and was changed or moved runs as well.
#[test]
fn a_repository_that_is_newly_named_must_be_as_it_was() {
    let setting = || Grant::with_index(&["x/.git/config", "store/config", "y/z"], &[]);
    let name = |grant: &Grant, path| index(&grant.top.join(".git/index"), &[(path, GITLINK)], b"");
    let grant = setting();
    name(&grant, "x");
    assert_eq!(grant.sweep(), ["gitlinks 1 x"]);
    let grant = setting();
    name(&grant, "x");
    std::fs::write(grant.top.join("x/.git/config"), "changed").unwrap();
    assert_eq!(grant.sweep(), ["gitlinks 1 x", "moved x/.git/config"]);
    let grant = setting();
    name(&grant, "y");
    std::fs::rename(grant.top.join("store"), grant.top.join("y/.git")).unwrap();
    assert_eq!(grant.sweep(), ["gitlinks 1 y", "moved y/.git/config"]);
    let grant = Grant::with_index(&["x/.git/config", "x/.git/hooks/post-index-change"], &[]);
    name(&grant, "x");
    std::fs::write(grant.top.join("x/.git/hooks/post-index-change"), "changed").unwrap();
    assert_eq!(grant.sweep(), ["gitlinks 1 x", "moved x/.git/hooks"]);
    let grant = setting();
    name(&grant, "y");
    std::fs::write(grant.top.join("y/.git"), "gitdir: ../store").unwrap();
    assert_eq!(grant.sweep(), ["gitlinks 1 y", "moved y/.git"]);
}

/// T67: one that was named before is no news, and what appears in it is found all the same.
#[test]
fn a_repository_that_was_named_is_judged_as_any_other() {
    let grant = Grant::with_index(&["x/.git/config", "y/z"], &[("x", GITLINK), ("y", GITLINK)]);
    index(&grant.top.join(".git/index"), &[("x", GITLINK), ("y", GITLINK), ("n", FILE)], b"");
    assert!(grant.sweep().is_empty());
    write(&grant.top.join("y/.git/config"));
    let limits = Limits { names: 1, ..Limits::default() };
    assert!(grant.sweep_within(limits).contains(&"moved y/.git/config".to_owned()));
}

/// T67: Git asks the repositories of a repository in their turn.
#[test]
fn repositories_of_repositories_are_followed() {
    let grant = Grant::with_index(&["x/.git/config", "x/.git/HEAD", "x/target/y/z"], &[]);
    index(&grant.top.join(".git/index"), &[("x", GITLINK)], b"");
    index(&grant.top.join("x/.git/index"), &[("target/y", GITLINK)], b"");
    write(&grant.top.join("x/target/y/.git/config"));
    let limits = Limits { names: 3, names_among_packages: 1, ..Limits::default() };
    let lines = grant.sweep_within(limits);
    assert!(lines.contains(&"moved x/target/y/.git/config".to_owned()), "{lines:#?}");
}

/// T78
#[test]
fn protected_names_that_an_index_has_come_to_hold_are_told() {
    let grant = Grant::with_index(&["src/x"], &[(".envrc", FILE)]);
    let entries = [(".envrc", FILE), (".vscode/tasks.json", FILE), ("src/x", FILE)];
    index(&grant.top.join(".git/index"), &entries, b"");
    assert_eq!(grant.sweep(), ["tracked 1 .vscode/tasks.json"]);
    // One that is not known from the start is new, or cannot be compared.
    let grant = Grant::with(&["src/x"]);
    index(&grant.top.join("new/.git/index"), &entries, b"");
    let found = grant.sweep();
    assert!(found.iter().all(|line| !line.starts_with("tracked")), "{found:?}");
    let grant = Grant { at_start: listed(&grant, &["src"]), ..grant };
    assert_eq!(grant.sweep(), ["tracked 2 new/.envrc"]);
}

fn listed(grant: &Grant, directories: &[&str]) -> AtStart {
    let inside = directories.iter().map(|name| (name.as_bytes().to_vec(), 0)).collect();
    let directories = vec![Listed { path: host_path(&grant.top), inside }];
    AtStart { directories, ..AtStart::default() }
}

/// T67: an index that cannot be looked into is not taken for an empty one.
#[test]
fn an_index_of_which_not_all_is_known_is_told() {
    let split = [b"link".as_slice(), &20_u32.to_be_bytes(), &[0; 20]].concat();
    let unknown = [b"what".as_slice(), &0_u32.to_be_bytes()].concat();
    for (extensions, expected) in [(split, "Split .git/index"), (unknown, "Damaged .git/index")] {
        let grant = Grant::with_index(&["src/x"], &[]);
        index(&grant.top.join(".git/index"), &[("src/x", FILE)], &extensions);
        assert_eq!(grant.sweep(), [expected]);
    }
    // A branch of that name is none.
    let grant = Grant::with_index(&["src/x"], &[]);
    write(&grant.top.join(".git/refs/heads/index"));
    assert!(grant.sweep().is_empty());
}

/// T67: where it is not known what an index named, what has not changed is left alone, wherever it was.
#[test]
fn repositories_of_an_unknown_index_stay_unless_they_have_changed() {
    let setting = || {
        let files = ["a/b/c/d/.git/HEAD", "a/b/c/d/x/.git/config", "a/b/c/d/y/.git/config"];
        let grant = Grant::with(&files);
        let entries = [("x", GITLINK), ("y", GITLINK)];
        // Ordinary work around it.
        write(&grant.top.join("a/b/c/new"));
        write(&grant.top.join("a/b/c/d/new"));
        write(&grant.top.join("a/b/c/d/x/new"));
        index(&grant.top.join("a/b/c/d/.git/index"), &entries, b"");
        grant
    };
    let moved = |lines: Vec<String>| lines.into_iter().filter(|line| line.starts_with("moved"));
    assert_eq!(moved(setting().sweep()).count(), 0);
    let grant = setting();
    std::fs::write(grant.top.join("a/b/c/d/x/.git/config"), "changed").unwrap();
    let lines: Vec<String> = moved(grant.sweep()).collect();
    assert_eq!(lines, ["moved a/b/c/d/x/.git/config"]);
}
