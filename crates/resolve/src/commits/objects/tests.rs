//! Objects as Git writes them, loose and in packs, and what is not what its name says.

use super::*;
use crate::fixture::host_path;

/// What Git calls a file with this text.
#[test]
fn names_are_gits() {
    assert_eq!(hash_blob(b"").text(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    assert_eq!(hash_blob(b"text\n").text(), "8e27be7d6154a1f68ea9160ef0e18691d20560dc");
    let text = "8e27be7d6154a1f68ea9160ef0e18691d20560dc";
    assert_eq!(Id::parse(text.as_bytes()), Some(hash_blob(b"text\n")));
    for text in ["", "8e27", "zz27be7d6154a1f68ea9160ef0e18691d20560dc"] {
        assert_eq!(Id::parse(text.as_bytes()), None, "{text}");
    }
}

fn git(directory: &std::path::Path, words: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=n@example.com"]).args(words);
    git.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", directory);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// T78: loose or packed, with what differs by place or by name, a commit's tree is what Git says.
#[test]
fn objects_are_read_wherever_git_keeps_them() {
    if !testing::has("git") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    for number in 0..40 {
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        // Trees with much in common, so that a pack has differences alone for most.
        for file in 0..30 {
            std::fs::write(top.join(format!("a/b/file-{file}")), format!("{file}")).unwrap();
        }
        std::fs::write(top.join("a/b/changes"), format!("{number}")).unwrap();
        git(&top, &["add", "."]);
        git(&top, &["commit", "-q", "-m", "x"]);
    }
    let check = || {
        for back in [0, 1, 20, 39] {
            let commit = git(&top, &["rev-parse", &format!("HEAD~{back}")]);
            let blob = git(&top, &["rev-parse", &format!("HEAD~{back}:a/b/changes")]);
            let mut objects = Objects::of(&host_path(top.join(".git"))).unwrap();
            let tree = objects.commit(Id::parse(commit.as_bytes()).unwrap()).unwrap().tree;
            let found = objects.entry_at(tree, b"a/b/changes").unwrap().unwrap();
            assert_eq!(found.id.text(), blob);
            assert_eq!(objects.entry_at(tree, b"a/b/none"), Ok(None));
            assert_eq!(objects.entry_at(tree, b"a/b/changes/x"), Ok(None));
        }
    };
    check();
    git(&top, &["repack", "-q", "-a", "-d", "-f", "--depth=50"]);
    check();
    git(&top, &["-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f"]);
    check();
}

/// T78: what stands at an object's place and is not what its name says is not there.
#[test]
fn an_object_that_was_exchanged_does_not_exist() {
    if !testing::has("git") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    git(&top, &["init", "-q"]);
    let mut names = Vec::new();
    for text in ["good", "evil"] {
        std::fs::write(top.join(".envrc"), text).unwrap();
        git(&top, &["add", "."]);
        git(&top, &["commit", "-q", "-m", text]);
        names.push(git(&top, &["rev-parse", "HEAD^{tree}"]));
    }
    let place = |name: &str| top.join(".git/objects").join(&name[..2]).join(&name[2..]);
    let good = Id::parse(names[0].as_bytes()).unwrap();
    let store = host_path(top.join(".git"));
    assert!(Objects::of(&store).unwrap().object(good).is_some());
    std::fs::remove_file(place(&names[0])).unwrap();
    std::fs::copy(place(&names[1]), place(&names[0])).unwrap();
    assert!(Objects::of(&store).unwrap().object(good).is_none());
}
