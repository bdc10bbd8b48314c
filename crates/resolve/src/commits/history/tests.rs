//! What commits say about versions of files: real repositories, made with Git.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;
use crate::commits::{hash_blob, tips};
use crate::fixture::host_path;

struct Made {
    _directory: tempfile::TempDir,
    top: PathBuf,
}

fn git(directory: &Path, words: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=n@example.com"]).args(words);
    git.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", directory);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Made {
    /// Two branches with `.envrc`, one without, and one commit that is only in the log.
    fn new() -> Option<Self> {
        if !testing::has("git") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let made = Self { _directory: directory, top };
        git(&made.top, &["init", "-q", "-b", "main"]);
        made.commit("file", "x");
        git(&made.top, &["branch", "without"]);
        made.commit(".envrc", "one");
        made.commit(".envrc", "two");
        made.commit(".envrc", "dropped");
        git(&made.top, &["reset", "-q", "--hard", "HEAD~1"]);
        Some(made)
    }

    fn commit(&self, file: &str, text: &str) {
        let path = self.top.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        git(&self.top, &["add", "-f", "."]);
        git(&self.top, &["commit", "-q", "-m", text]);
    }

    fn repository(&self) -> Repository {
        let common = host_path(self.top.join(".git"));
        let tips = tips(&common).unwrap();
        Repository { common, work_trees: Vec::new(), tips }
    }

    fn history(&self) -> History {
        let until = Instant::now() + Duration::from_secs(60);
        History::of(&self.repository(), until).unwrap()
    }
}

fn version(text: &str) -> Version {
    Version { contents: hash_blob(text.as_bytes()), is_link: false, is_executable: false }
}

/// T78: every commit of the start counts, and none that has come since.
#[test]
fn commits_of_the_start_know_their_versions() {
    let Some(made) = Made::new() else { return };
    let mut history = made.history();
    made.commit(".envrc", "three");
    for (path, text, expected) in [
        (".envrc", "one", Answer::Yes),
        (".envrc", "two", Answer::Yes),
        (".envrc", "dropped", Answer::Yes),
        (".envrc", "three", Answer::No),
        ("file", "x", Answer::Yes),
        // What another path held is not what this one held.
        ("file", "one", Answer::No),
        ("sub/.envrc", "one", Answer::No),
    ] {
        assert_eq!(history.held(path.as_bytes(), version(text)), expected, "{path} {text}");
    }
    let executable = Version { is_executable: true, ..version("one") };
    assert_eq!(history.held(b".envrc", executable), Answer::No);
    let link = Version { is_link: true, ..version("one") };
    assert_eq!(history.held(b".envrc", link), Answer::No);
    assert_eq!(history.lacked(b".envrc"), Answer::Yes);
    assert_eq!(history.lacked(b"file"), Answer::No);
}

/// T78: what time does not suffice for is not known, and not taken for nothing.
#[test]
fn what_cannot_be_read_in_time_is_unknown() {
    let Some(made) = Made::new() else { return };
    let mut history = History::of(&made.repository(), Instant::now()).unwrap();
    assert_eq!(history.held(b".envrc", version("one")), Answer::Unknown);
    assert_eq!(history.lacked(b"file"), Answer::Unknown);
}

/// T78: commits, stashes and branches that have come are told with what runs code in them.
#[test]
fn commits_that_have_come_are_told() {
    let Some(made) = Made::new() else { return };
    let told = |history: &mut History| {
        let now = tips(&host_path(made.top.join(".git"))).unwrap();
        let (found, is_whole) = history.made_since(&now);
        assert!(is_whole);
        let mut paths: Vec<_> =
            found.iter().map(|one| String::from_utf8(one.path.clone()).unwrap()).collect();
        paths.sort();
        paths.dedup();
        paths.join(" ")
    };
    let mut history = made.history();
    assert_eq!(told(&mut history), "");
    // Old content by its own path is no news, whatever the commit.
    made.commit(".envrc", "one");
    made.commit("src/lib.rs", "x");
    git(&made.top, &["checkout", "-q", "without"]);
    git(&made.top, &["merge", "-q", "main"]);
    assert_eq!(told(&mut history), "");
    made.commit(".vscode/a/tasks.json", "x");
    std::fs::remove_file(made.top.join(".vscode/a/tasks.json")).unwrap();
    git(&made.top, &["commit", "-q", "-a", "-m", "removed again"]);
    assert_eq!(told(&mut history), ".vscode/a/tasks.json");
    std::fs::write(made.top.join(".envrc"), "stashed").unwrap();
    git(&made.top, &["stash", "-q"]);
    git(&made.top, &["checkout", "-q", "-b", "other", "main"]);
    made.commit("sub/.npmrc", "x");
    git(&made.top, &["checkout", "-q", "main"]);
    assert_eq!(told(&mut history), ".envrc .vscode/a/tasks.json sub/.npmrc");
}
