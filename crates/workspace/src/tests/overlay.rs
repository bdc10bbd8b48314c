//! Uppers that the kernel wrote: the host is untouched until an apply, and then is what the cage saw.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;

use plan::HostPath;

use super::support::{Fixture, assert_same, paths, summary};
use crate::{Progress, Request, Selection, TreePath, WorkspaceError, Writing};

/// One shell session with everything that ordinary work does to files.
const WORK: &str = "
    echo more >> kept/file; echo new > added; mkdir -p fresh/deep; echo x > fresh/deep/x
    rm gone; rm -r tree; mkdir tree; echo again > tree/other
    mv kept/named kept/renamed; chmod 755 script; touch touched
    rm becomes-directory; mkdir becomes-directory; echo in > becomes-directory/in
    rm -r becomes-file; echo file > becomes-file; ln -s kept/file link; rm old-link
    cp -a copied copied.new; mv copied.new copied
    mv moved elsewhere; chmod 700 kept; mkdir empty; touch -d 2001-01-01 dated";

fn ordinary() -> Fixture {
    let fixture = Fixture::new();
    fixture.host(&[
        ("kept/file", "one\n"),
        ("kept/named", "the content of a file that gets another name\n"),
        ("gone", "g"),
        ("tree/a/b", "b"),
        ("tree/c", "c"),
        ("script", "#!/bin/sh\n"),
        ("touched", "t"),
        ("becomes-directory", "d"),
        ("becomes-file/x", "x"),
        ("becomes-file/y/z", "z"),
        ("old-link", "-> gone"),
        ("copied", "same"),
        ("moved/one", "the content of one that moves\n"),
        ("moved/two", "the content of two that moves\n"),
        ("dated", ""),
        ("untouched/file", "u"),
    ]);
    fixture.start();
    fixture
}

/// T12: whole before and whole after.
#[test]
fn after_a_whole_apply_the_host_is_what_the_cage_saw() {
    let fixture = ordinary();
    let before = fixture.host_tree();
    let seen = fixture.cage(WORK);
    assert_same(&fixture.host_tree(), &before);
    let changes = fixture.changes();
    assert_eq!(
        summary(&changes),
        [
            "A added",
            "T becomes-directory",
            "A becomes-directory/in",
            "T becomes-file",
            "D becomes-file/x",
            "D becomes-file/y",
            "D becomes-file/y/z",
            "A elsewhere",
            "R moved/one -> elsewhere/one",
            "R moved/two -> elsewhere/two",
            "A empty",
            "A fresh",
            "A fresh/deep",
            "A fresh/deep/x",
            "D gone",
            "P kept",
            "M kept/file",
            "R kept/named -> kept/renamed",
            "A link",
            "D moved",
            "D old-link",
            "P script",
            "D tree/a",
            "D tree/a/b",
            "D tree/c",
            "A tree/other",
        ]
    );
    let applied = fixture.apply_all();
    assert_eq!((applied.applied.len(), applied.left.len()), (changes.list.len(), 0));
    let mut after = fixture.host_tree();
    // A date alone is no change: the host keeps its own.
    for name in ["touched", "dated", "copied"] {
        after.insert(name.into(), seen[name.as_bytes()].clone());
    }
    assert_same(&after, &seen);
    assert!(fixture.changes().is_empty());
    assert_eq!(fixture.upper_names(), Vec::<String>::new());
    // The view stays what it was.
    assert_eq!(fixture.cage("true").keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>());
}

/// The area on another file system than the host: everything is copied.
#[test]
fn an_apply_works_across_file_systems() {
    let Some(fixture) = Fixture::apart() else { return };
    fixture.host(&[("a", "1\n"), ("d/x", "x"), ("d/e/y", "y"), ("t", "t")]).start();
    let before = fixture.host_tree();
    let seen = fixture.cage("echo 2 >> a; rm -r d; mkdir n; echo z > n/z; ln -s a l; chmod 600 t");
    let changes = summary(&fixture.changes());
    fixture.apply_all();
    assert_same(&fixture.host_tree(), &seen);
    fixture.workspace().undo(&[]).unwrap();
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(summary(&fixture.changes()), changes);
}

/// T13: what an apply makes in the project itself is nothing that a cage could change on its way: as long as one may
/// write there, by a grant of the directory or of one above it, nothing is applied, and while something is, none begins.
#[test]
fn an_apply_in_the_project_and_a_cage_that_may_write_there_hold_each_other_off() {
    let Some(fixture) = Fixture::apart() else { return };
    fixture.host(&[("a", "1\n"), ("d/x", "x")]).start();
    fixture.cage("echo 2 >> a");
    let of = |path: &Path| HostPath::new(path.as_os_str().to_owned()).unwrap();
    for granted in [fixture.host.as_path(), fixture.place.path()] {
        let before = fixture.host_tree();
        let writing = Writing::begin(&[of(granted)]).unwrap();
        let refused = fixture.apply(Selection::All);
        assert!(matches!(refused, Err(WorkspaceError::WritableInCage)), "{refused:?}");
        assert_same(&fixture.host_tree(), &before);
        // Two cages do not hold each other off.
        drop((Writing::begin(&[of(granted)]).unwrap(), writing));
    }
    // What reaches a part alone reaches nothing of an apply.
    let _part = Writing::begin(&[of(&fixture.host.join("d"))]).unwrap();
    let (told, during) = mpsc::channel();
    let host = of(&fixture.host);
    let workspace = fixture.workspace().with_progress(move |progress| {
        if let Progress::Staged { .. } = progress {
            told.send(Writing::begin(std::slice::from_ref(&host)).map(drop)).unwrap();
        }
    });
    let changes = workspace.changes().unwrap();
    workspace.apply(&changes, &Request::of(Selection::All)).unwrap();
    let during = during.try_recv().unwrap();
    assert!(matches!(during, Err(WorkspaceError::ApplyAtWork(_))), "{during:?}");
    drop(Writing::begin(&[of(&fixture.host)]).unwrap());
}

/// Where the area is on the same file system nothing is made in the project, and nobody waits.
#[test]
fn an_apply_from_the_same_file_system_goes_beside_cages_that_may_write() {
    let fixture = ordinary();
    fixture.cage("echo 2 >> a");
    let host = HostPath::new(fixture.host.as_os_str().to_owned()).unwrap();
    let _writing = Writing::begin(&[host]).unwrap();
    fixture.apply(Selection::All).unwrap();
}

#[test]
fn an_undo_gives_back_the_host_and_the_changes() {
    let fixture = ordinary();
    let before = fixture.host_tree();
    let seen = fixture.cage(WORK);
    let changes = summary(&fixture.changes());
    fixture.apply_all();
    fixture.workspace().undo(&[]).unwrap();
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(summary(&fixture.changes()), changes);
    assert_eq!(fixture.cage("true").keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>());
    // And again from the beginning.
    assert!(matches!(fixture.workspace().undo(&[]), Err(crate::WorkspaceError::NothingToUndo)));
    assert_eq!(fixture.apply_all().left, []);
    assert!(fixture.changes().is_empty());
}

/// A directory of the view that its owner may not write to: moving something into it is to write it all the same.
#[test]
fn an_undo_gives_back_what_lies_in_a_closed_directory() {
    let fixture = Fixture::new();
    fixture.host(&[("b/a/x", "x")]).start();
    fixture.cage(
        "chmod 555 b; echo 1 > b/a/x; mkdir -p c/d; echo 1 > c/d/e; echo 2 > c/f; chmod 555 c",
    );
    let changes = summary(&fixture.changes());
    for path in ["b/a/x", "c/d/e"] {
        let path = TreePath::parse(path.as_bytes()).unwrap();
        fixture.apply(Selection::Paths(vec![path])).unwrap();
        fixture.workspace().undo(&[]).unwrap();
        assert_eq!(summary(&fixture.changes()), changes);
    }
}

/// Two names of one file: the kernel changes the second when the first goes.
#[test]
fn names_of_one_file_are_applied_together() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "x\n"), ("c", "x\n"), ("gone", "x\n")]);
    fs::hard_link(fixture.host.join("a"), fixture.host.join("b")).unwrap();
    fs::hard_link(fixture.host.join("gone"), fixture.host.join("too")).unwrap();
    fixture.start();
    let seen = fixture.cage("echo 1 >> a; echo 2 >> b; echo 3 >> c; rm gone too");
    let before = fixture.host_tree();
    assert_eq!(fixture.apply_all().left, vec![]);
    assert_same(&fixture.host_tree(), &seen);
    fixture.workspace().undo(&[]).unwrap();
    assert_same(&fixture.host_tree(), &before);
}

#[test]
fn an_undo_refuses_what_was_changed_since_and_names_it() {
    let fixture = ordinary();
    fixture.cage(WORK);
    fixture.apply_all();
    fs::write(fixture.host.join("kept/file"), "mine").unwrap();
    fs::write(fixture.host.join("fresh/mine"), "mine").unwrap();
    let after = fixture.host_tree();
    let error = fixture.workspace().undo(&[]).unwrap_err().to_string();
    assert!(error.contains("`kept/file`") && error.contains("`fresh`"), "{error}");
    assert_same(&fixture.host_tree(), &after);
}

#[test]
fn a_part_can_be_applied_and_then_the_rest() {
    let fixture = ordinary();
    let seen = fixture.cage(WORK);
    let all = fixture.changes().list.len();
    let some =
        paths(&["fresh/deep/x", "tree/other", "kept/renamed", "becomes-directory", "moved/one"]);
    let applied = fixture.apply(Selection::Paths(some)).unwrap();
    assert_eq!(
        applied.applied,
        paths(&[
            "becomes-directory",
            "becomes-directory/in",
            "elsewhere",
            "elsewhere/one",
            "fresh",
            "fresh/deep",
            "fresh/deep/x",
            "kept/renamed",
            "tree/other"
        ])
    );
    assert_eq!(fs::read_to_string(fixture.host.join("fresh/deep/x")).unwrap(), "x\n");
    assert!(!fixture.host.join("added").exists());
    assert!(fixture.host.join("tree/c").exists());
    // Nothing of what is left looks as if somebody else had changed it, and the view is the same.
    let left = fixture.changes();
    assert_eq!(left.list.len(), all - 9);
    assert!(left.list.iter().all(|change| change.conflict.is_none()), "{:?}", summary(&left));
    assert_eq!(fixture.cage("true").keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>());
    fixture.apply_all();
    assert!(fixture.changes().is_empty());
    let names: Vec<_> = seen.keys().cloned().collect();
    assert_eq!(fixture.host_tree().keys().cloned().collect::<Vec<_>>(), names);
    assert!(fixture.apply(Selection::Paths(paths(&["nothing"]))).is_err());
}

/// A session with several runs: what the host had when a later one began is not a conflict for it.
#[test]
fn a_later_run_begins_with_the_host_of_its_time() {
    let fixture = ordinary();
    fixture.cage("echo more >> kept/file");
    fixture.apply_all();
    fs::write(fixture.host.join("gone"), "edited between runs\n").unwrap();
    fixture.start();
    fixture.cage("echo again >> kept/file; echo line >> gone; rm script");
    assert_eq!(summary(&fixture.changes()), ["M gone", "M kept/file", "D script"]);
}

/// A repository: commits, branches and worktrees, applied as a whole, are sound.
#[test]
fn what_git_did_in_the_cage_is_sound_on_the_host() {
    if !testing::has("git") {
        return;
    }
    let fixture = Fixture::new();
    fixture.host(&[("src/main.rs", "fn main() {}\n"), ("rust-toolchain.toml", "a\n")]);
    let git = |arguments: &str| {
        let script = format!(
            "cd {} && git -c user.name=u -c user.email=u@example.com {arguments}",
            fixture.host.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env("HOME", fixture.place.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git("init -q && git add -A && git -c user.name=u -c user.email=u@example.com commit -qm one");
    fixture.start();
    let seen = fixture.cage(
        "git config --global user.name u; git config --global user.email u@e; git config --global safe.directory '*'
         git checkout -qb work; echo '// x' >> src/main.rs; echo b > rust-toolchain.toml; git commit -qam two
         git checkout -q -; git checkout -q work; git worktree add -q tree HEAD~1; git gc -q",
    );
    fixture.apply_all();
    assert!(fixture.changes().is_empty(), "{:?}", summary(&fixture.changes()));
    let names: Vec<_> = seen.keys().collect();
    assert_eq!(fixture.host_tree().keys().collect::<Vec<_>>(), names);
    assert_eq!(git("fsck --strict 2>&1"), "");
    assert_eq!(git("log --format=%s"), "two\none\n");
    assert_eq!(git("status --porcelain"), "?? tree/\n");
    assert_eq!(git("branch --show-current"), "work\n");
}

/// Directories that their owner may not write to, as package managers make them.
#[test]
fn closed_directories_arrive_closed() {
    let fixture = Fixture::new();
    fixture.host(&[("old/x", "x"), ("opened/y", "y")]);
    fs::set_permissions(fixture.host.join("opened"), fs::Permissions::from_mode(0o555)).unwrap();
    fixture.start();
    let before = fixture.host_tree();
    let seen = fixture.cage(
        "mkdir -p cache/a; echo f > cache/a/f; chmod 444 cache/a/f; chmod 555 cache/a cache
         chmod 755 opened; echo z > opened/z; chmod 555 old",
    );
    fixture.apply_all();
    assert_same(&fixture.host_tree(), &seen);
    assert!(fixture.changes().is_empty());
    fixture.workspace().undo(&[]).unwrap();
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(
        summary(&fixture.changes()),
        ["A cache", "A cache/a", "A cache/a/f", "P old", "P opened", "A opened/z"]
    );
    fixture.apply_all();
    assert_same(&fixture.host_tree(), &seen);
    for name in ["cache/a", "cache", "old"] {
        fs::set_permissions(fixture.host.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fixture.workspace().discard_all().unwrap();
}

#[test]
fn usage_counts_what_is_there() {
    let fixture = ordinary();
    let usage = fixture.workspace().usage().unwrap();
    assert_eq!((usage.bytes, usage.names, usage.changed), (0, 0, None));
    fixture.cage("head -c 100000 /dev/zero | tr '\\0' x > big; mkdir d");
    let usage = fixture.workspace().usage().unwrap();
    assert_eq!((usage.names, usage.is_partial), (2, false));
    assert!(usage.bytes >= 100_000 && usage.changed > Some(usage.begun));
    assert!(fixture.workspace().with_most_names(1).usage().unwrap().is_partial);
}
