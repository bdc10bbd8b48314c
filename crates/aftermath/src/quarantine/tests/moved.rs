//! Names that appear without any file being new: by a directory that is moved, by a link in the place of one,
//! by a repository that is completed around an old file.

use std::os::unix::fs::DirEntryExt as _;

use super::*;

impl Grant {
    /// Notes what a start notes: the directories at the top.
    fn noted(files: &[&str]) -> Self {
        let mut grant = Self::with(files);
        let mut waiting = vec![(grant.top.clone(), 0)];
        while let Some((directory, depth)) = waiting.pop() {
            let entries = std::fs::read_dir(&directory).unwrap().flatten();
            let inside: Vec<_> =
                entries.filter(|entry| entry.file_type().unwrap().is_dir()).collect();
            let numbers =
                inside.iter().map(|entry| (entry.file_name().as_bytes().to_vec(), entry.ino()));
            let listed = Listed { path: host_path(&directory), inside: numbers.collect() };
            grant.at_start.directories.push(listed);
            if depth < 3 {
                waiting.extend(inside.iter().map(|entry| (entry.path(), depth + 1)));
            }
        }
        grant
    }

    fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.top.join(from), self.top.join(to)).unwrap();
    }
}

/// K227, T5: what is in a directory that was moved has kept its times.
#[test]
fn what_comes_with_its_directory_has_appeared() {
    let grant = Grant::noted(&[
        "x/config.toml",
        "g/config",
        "w/1/2/3/4/5/.envrc",
        "kept/.npmrc",
        "kept/deep/er/yet/down/.npmrc",
    ]);
    grant.rename("x", ".cargo");
    std::fs::create_dir(grant.top.join("sub")).unwrap();
    grant.rename("g", "sub/.git");
    write(&grant.top.join("sub/.git/HEAD"));
    grant.rename("w/1/2/3/4/5", "up");
    write(&grant.top.join("kept/new.rs"));
    assert_eq!(
        grant.sweep(),
        ["moved .cargo/config.toml", "moved sub/.git/config", "moved up/.envrc"]
    );
    assert!(grant.sweep().is_empty());
}

/// The cover over a path is not one over whatever else comes there.
#[test]
fn a_directory_in_the_place_of_another_is_another() {
    let mut grant = Grant::noted(&["a/.envrc", "b/.envrc"]);
    let covered = ["a/.envrc", "b/.envrc"].map(|path| host_path(&grant.top.join(path)));
    grant.at_start.covered = covered.to_vec();
    assert!(grant.sweep().is_empty());
    grant.rename("a", "c");
    grant.rename("b", "a");
    assert_eq!(grant.sweep(), ["moved a/.envrc", "moved c/.envrc"]);
}

/// Deeper than a start looks, nobody knows for sure.
#[test]
fn deep_down_it_is_suspected_and_told() {
    let grant = Grant::noted(&["a/b/c/d/e/1/.envrc", "a/b/c/d/e/2/.envrc", "a/b/c/d/e/3/file"]);
    grant.rename("a/b/c/d/e/1", "a/b/c/d/e/one");
    write(&grant.top.join("a/b/c/d/e/3/other"));
    assert_eq!(grant.sweep(), ["perhaps a/b/c/d/e/one/.envrc"]);
    assert!(grant.top.join("a/b/c/d/e/one/.envrc").exists());
}

/// K227, T5: a link in the place of a directory gives its files their names.
#[test]
fn a_new_link_in_the_place_of_a_directory_is_set_aside() {
    let grant = Grant::noted(&["x/config.toml", "fish/conf/fish/config.fish", "lib/a.rs"]);
    symlink("x", grant.top.join(".cargo")).unwrap();
    symlink(grant.top.join("fish/conf"), grant.top.join(".config")).unwrap();
    symlink("lib", grant.top.join("tools")).unwrap();
    symlink("nothing", grant.top.join(".mvn")).unwrap();
    assert_eq!(grant.sweep(), ["moved .cargo", "moved .config"]);
    assert!(grant.top.join("x/config.toml").exists());
    assert!(grant.top.join("tools").exists());
}

/// What appears behind such a link, and what is moved there.
#[test]
fn behind_an_old_link_in_the_place_of_a_directory_names_appear() {
    let mut grant = Grant::noted(&["x/y", "old/config.toml", "z/.envrc"]);
    symlink("x", grant.top.join(".cargo")).unwrap();
    let link = Link { path: host_path(&grant.top.join(".cargo")), target: "x".into() };
    grant.at_start.links = vec![link];
    assert!(grant.sweep().is_empty());
    write(&grant.top.join("x/config.toml"));
    assert_eq!(grant.sweep(), ["moved x/config.toml"]);
    // Another directory in the place of the one that it leads to, with files that are old.
    grant.rename("x", "away");
    grant.rename("old", "x");
    assert_eq!(grant.sweep(), ["moved x/config.toml"]);
    // What was there and covered is not touched, and what has another name is not looked at.
    grant.rename("x/config.toml.quarantined-01ABC", "x/config.toml");
    grant.at_start.directories.clear();
    grant.at_start.covered = vec![host_path(&grant.top.join("x/config.toml"))];
    assert!(grant.sweep().is_empty());
}

/// K227: an old file becomes configuration where a repository is made around it.
#[test]
fn a_repository_that_is_completed_around_an_old_file_is_seen() {
    let grant = Grant::noted(&["b/config", "deep/er/and/er/down/b/config"]);
    for place in ["b", "deep/er/and/er/down/b"] {
        let place = grant.top.join(place);
        write(&place.join("HEAD"));
        std::fs::create_dir(place.join("objects")).unwrap();
        std::fs::create_dir(place.join("refs")).unwrap();
    }
    assert_eq!(grant.sweep(), ["moved b/config", "perhaps deep/er/and/er/down/b/config"]);
}

/// T5: Git appends to what these lead to, or replaces it.
#[test]
fn links_among_the_data_of_a_repository_are_set_aside() {
    let files = [".git/HEAD", ".git/objects/ab/cd", ".git/refs/heads/.envrc", ".git/logs/refs/x"];
    let mut grant = Grant::noted(&files);
    let home = grant.top.join("../bashrc");
    let links =
        [".git/logs/HEAD", ".git/COMMIT_EDITMSG", ".git/logs/refs/main", ".git/objects/pack"];
    for link in links {
        symlink(&home, grant.top.join(link)).unwrap();
    }
    symlink(&home, grant.top.join("elsewhere")).unwrap();
    symlink("x", grant.top.join(".git/refs/old")).unwrap();
    write(&grant.top.join(".git/refs/heads/.npmrc"));
    let old = Link { path: host_path(&grant.top.join(".git/refs/old")), target: "x".into() };
    grant.at_start.links = vec![old];
    assert_eq!(
        grant.sweep(),
        [
            "moved .git/COMMIT_EDITMSG",
            "moved .git/logs/HEAD",
            "moved .git/logs/refs/main",
            "moved .git/objects/pack",
        ]
    );
}

/// T5: what looks like a repository hides nothing that is in it.
#[test]
fn a_directory_made_to_look_like_a_repository_is_searched_as_before() {
    let grant = Grant::noted(&["src/main.rs"]);
    for file in ["HEAD", "objects/x", "refs/.envrc", "src/.envrc", "src/a/.vscode/tasks.json"] {
        write(&grant.top.join(file));
    }
    symlink("/x", grant.top.join("src/link")).unwrap();
    assert_eq!(
        grant.sweep(),
        ["moved refs/.envrc", "moved src/.envrc", "moved src/a/.vscode", "moved src/link"]
    );
}

/// T5: what configuration names is judged by where it comes from as well.
#[test]
fn hooks_that_come_with_a_directory_above_them_have_appeared() {
    let grant = Grant::noted(&[".git/HEAD", ".git/config", "y/hooks/pre-commit", "z/watch.sh"]);
    let text = "[core]\nhooksPath = ci/hooks\nfsmonitor = ./bin/watch.sh\n";
    std::fs::write(grant.top.join(".git/config"), text).unwrap();
    std::thread::sleep(Duration::from_millis(40));
    let grant = Grant { began: Began::now(), ..grant };
    assert!(grant.sweep().is_empty());
    grant.rename("y", "ci");
    grant.rename("z", "bin");
    assert_eq!(grant.sweep(), ["moved bin/watch.sh", "moved ci/hooks"]);
}
