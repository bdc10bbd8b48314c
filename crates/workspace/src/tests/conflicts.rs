//! The host changed while the cage worked: nothing is overwritten in silence, text is merged where it can be, and the
//! caller's word decides the rest.

use std::fs;
use std::os::fd::AsFd as _;
use std::process::Command;

use super::support::{Fixture, assert_same, open, paths, summary};
use crate::{Conflict, FileHunks, Request, Selection, WorkspaceError};

const TEXT: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";

fn changed(line: &str, to: &str) -> String {
    TEXT.replace(&format!("\n{line}\n"), &format!("\n{to}\n"))
}

#[test]
fn what_the_host_changed_since_is_left_and_named() {
    let fixture = Fixture::new();
    fixture
        .host(&[
            ("a", "a"),
            ("b", "b"),
            ("dir/c", "c"),
            ("dir/d", "d"),
            ("e", "e"),
            ("f/g", "g"),
            ("same", "s"),
        ])
        .start();
    fixture.cage(
        "echo cage > a; rm b; rm -r dir; echo cage >> e; mkdir new; echo cage > new/x; echo x > f/h; echo y > same",
    );
    fixture.host(&[
        ("a", "host"),
        ("b", "host"),
        ("dir/new", "host"),
        ("new/x", "host"),
        ("same", "y\n"),
    ]);
    fs::remove_file(fixture.host.join("e")).unwrap();
    fs::remove_dir_all(fixture.host.join("f")).unwrap();
    let changes = fixture.changes();
    assert_eq!(
        summary(&changes),
        [
            "M a !",
            "D b !",
            "D dir !",
            "D dir/c",
            "D dir/d",
            "D dir/new !",
            "A e !",
            "A f !",
            "A f/h",
            "M new/x !"
        ]
    );
    let applied = fixture.apply_all();
    assert_eq!(applied.applied, paths(&["dir/c", "dir/d"]));
    let left: Vec<_> =
        applied.left.iter().map(|(path, conflict)| (path.to_string(), *conflict)).collect();
    let expected = [
        ("a", Conflict::Changed),
        ("b", Conflict::Changed),
        ("dir", Conflict::Made),
        ("dir/new", Conflict::Made),
        ("e", Conflict::Gone),
        ("f", Conflict::Gone),
        ("f/h", Conflict::Gone),
        ("new/x", Conflict::Made),
    ];
    assert_eq!(left, expected.map(|(path, conflict)| (path.to_owned(), conflict)));
    for (name, content) in [("a", "host"), ("b", "host"), ("dir/new", "host"), ("new/x", "host")] {
        assert_eq!(fs::read_to_string(fixture.host.join(name)).unwrap(), content);
    }
    assert!(!fixture.host.join("e").exists() && !fixture.host.join("f").exists());
}

#[test]
fn a_caller_can_insist_by_path_and_undo_it() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "a"), ("dir/c", "c"), ("z", "z")]).start();
    fixture.cage("echo cage > a; rm -r dir; echo cage > z");
    fixture.host(&[("a", "host"), ("dir/new", "host"), ("z", "host")]);
    let before = fixture.host_tree();
    let workspace = fixture.workspace();
    let changes = workspace.changes().unwrap();
    let force = paths(&["a", "dir"]);
    let applied =
        workspace.apply(&changes, &Request { force, ..Request::of(Selection::All) }).unwrap();
    assert_eq!(applied.left.len(), 1);
    assert_eq!(fs::read_to_string(fixture.host.join("a")).unwrap(), "cage\n");
    assert!(!fixture.host.join("dir").exists());
    assert_eq!(fs::read_to_string(fixture.host.join("z")).unwrap(), "host");
    fixture.workspace().undo(&[]).unwrap();
    assert_same(&fixture.host_tree(), &before);
    // The two still disagree.
    assert_eq!(
        summary(&fixture.changes()),
        ["M a !", "D dir !", "D dir/c", "D dir/new !", "M z !"]
    );
}

/// A host with a repository, and the commit of the start on record.
fn with_commit() -> Fixture {
    let fixture = Fixture::new();
    fixture.host(&[("text", TEXT), ("clash", TEXT), ("touched", TEXT)]);
    let script = format!(
        "cd {} && git init -q && git add -A && git -c user.name=u -c user.email=u@e commit -qm one \
         && git rev-parse HEAD",
        fixture.host.display(),
    );
    let mut command = Command::new("sh");
    let output = command.args(["-c", &script]).env("HOME", fixture.place.path()).output().unwrap();
    assert!(output.status.success());
    crate::note_commit(open(&fixture.area).as_fd(), open(&fixture.host).as_fd()).unwrap();
    let noted = fs::read_to_string(fixture.area.join("git-head")).unwrap();
    assert_eq!(noted, String::from_utf8_lossy(&output.stdout).trim());
    fixture.start();
    fixture
}

/// The commit is found in whichever form Git keeps it, and the first note stays.
#[test]
fn the_commit_is_noted_in_every_form() {
    if !testing::has("git") {
        return;
    }
    let fixture = with_commit();
    let noted = fixture.area.join("git-head");
    let first = fs::read_to_string(&noted).unwrap();
    let note = || {
        crate::note_commit(open(&fixture.area).as_fd(), open(&fixture.host).as_fd()).unwrap();
        fs::read_to_string(&noted).ok()
    };
    for form in ["git pack-refs --all", "git checkout -q --detach"] {
        let mut command = Command::new("sh");
        command.args(["-c", form]).current_dir(&fixture.host).env("HOME", fixture.place.path());
        assert!(command.status().unwrap().success());
        fs::remove_file(&noted).unwrap();
        assert_eq!(note(), Some(first.clone()), "{form}");
    }
    fs::write(fixture.host.join(".git/HEAD"), "0".repeat(40)).unwrap();
    assert_eq!(note(), Some(first));
    fs::remove_file(&noted).unwrap();
    for odd in ["ref: ../../../etc/passwd", "ref: refs/heads/none", "", "zz"] {
        fs::write(fixture.host.join(".git/HEAD"), odd).unwrap();
        assert_eq!(note(), None, "{odd}");
    }
}

#[test]
fn text_is_merged_where_the_start_is_known() {
    if !testing::has("git") {
        return;
    }
    let fixture = with_commit();
    // What a repository's own configuration could start is not started.
    let trap = fixture.place.path().join("trap");
    let config = format!(
        "[core]\n\tfsmonitor = touch {0}\n\tsshCommand = touch {0}\n[diff]\n\texternal = touch {0}\n",
        trap.display()
    );
    let path = fixture.host.join(".git/config");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &config).unwrap();
    fixture.cage("sed -i s/^3$/cage/ text; sed -i s/^3$/cage/ clash; sed -i s/^3$/cage/ touched");
    fixture.host(&[
        ("text", &changed("17", "host")),
        ("clash", &changed("3", "host")),
        ("touched", TEXT),
    ]);
    let before = fixture.host_tree();
    let applied = fixture.apply_all();
    assert_eq!(applied.merged, paths(&["text", "touched"]));
    assert_eq!(applied.left, [(paths(&["clash"])[0].clone(), Conflict::Changed)]);
    let read = |name: &str| fs::read_to_string(fixture.host.join(name)).unwrap();
    assert_eq!(read("text"), changed("17", "host").replace("\n3\n", "\ncage\n"));
    assert_eq!(read("clash"), changed("3", "host"));
    assert_eq!(read("touched"), changed("3", "cage"));
    assert!(!trap.exists());
    // The view shows what was merged, and nothing of it is a change any more.
    assert_eq!(summary(&fixture.changes()), ["M clash !"]);
    assert_eq!(fixture.cage("true")[b"text".as_slice()].2, read("text").into_bytes());
    fixture.workspace().undo(&[]).unwrap();
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(summary(&fixture.changes()), ["M clash !", "M text !", "M touched !"]);
}

#[test]
fn hunks_are_applied_one_by_one() {
    let fixture = Fixture::new();
    fixture.host(&[("text", TEXT)]).start();
    fixture.cage("sed -i 's/^3$/cage/; s/^17$/cage/' text; chmod 600 text");
    let workspace = fixture.workspace();
    let changes = workspace.changes().unwrap();
    let mut hunks = FileHunks::of(&workspace, &changes.list[0]).unwrap().unwrap();
    assert_eq!(hunks.hunks.len(), 2);
    assert_eq!(hunks.hunks[1].header(), "@@ -14,7 +14,7 @@");
    hunks.hunks.remove(0);
    let request = Request::of(Selection::Parts { whole: Vec::new(), hunks: vec![hunks.clone()] });
    workspace.apply(&changes, &request).unwrap();
    assert_eq!(fs::read_to_string(fixture.host.join("text")).unwrap(), changed("17", "cage"));
    // The rest is still a change, and no conflict.
    let changes = fixture.changes();
    assert_eq!(summary(&changes), ["M text"]);
    assert_eq!(FileHunks::of(&workspace, &changes.list[0]).unwrap().unwrap().hunks.len(), 1);
    // Hunks of a file that has changed since are refused.
    let stale = workspace.apply(&changes, &request);
    assert!(matches!(stale, Err(WorkspaceError::ChangedSinceReview(_))), "{stale:?}");
    fixture.apply_all();
    assert!(fixture.changes().is_empty());
    assert_eq!(
        fs::read_to_string(fixture.host.join("text")).unwrap(),
        changed("17", "cage").replace("\n3\n", "\ncage\n")
    );
}

/// T2, T53: one thing is reviewed and another one would be applied.
#[test]
fn what_changed_between_review_and_apply_is_not_applied() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "a"), ("b", "b")]).start();
    fixture.cage("echo one > a; echo one > b");
    let workspace = fixture.workspace();
    let all = || Request::of(Selection::All);
    let reviewed = workspace.changes().unwrap();
    let before = fixture.host_tree();
    fixture.upper(&[("b", "evil")]);
    let refused = workspace.apply(&reviewed, &all());
    assert!(matches!(refused, Err(WorkspaceError::ChangedSinceReview(_))), "{refused:?}");
    assert_same(&fixture.host_tree(), &before);
    // The host, too: the first file is taken back when the second one is found changed.
    let reviewed = workspace.changes().unwrap();
    fixture.host(&[("b", "mine")]);
    let before = fixture.host_tree();
    let refused = workspace.apply(&reviewed, &all());
    assert!(matches!(refused, Err(WorkspaceError::HostChanged(_))), "{refused:?}");
    assert_same(&fixture.host_tree(), &before);
}

/// T1, T3: a directory of the host is swapped for a link after the review.
#[test]
fn no_link_of_the_host_is_followed() {
    let fixture = Fixture::new();
    fixture.host(&[("dir/a", "a"), ("dir/b", "b")]).start();
    fixture.cage("echo evil > dir/a; echo evil > dir/new; rm dir/b");
    let outside = fixture.place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "mine").unwrap();
    fs::write(outside.join("b"), "mine").unwrap();
    let workspace = fixture.workspace();
    let reviewed = workspace.changes().unwrap();
    fs::rename(fixture.host.join("dir"), fixture.host.join("aside")).unwrap();
    std::os::unix::fs::symlink(&outside, fixture.host.join("dir")).unwrap();
    let before = fixture.host_tree();
    workspace.apply(&reviewed, &Request::of(Selection::All)).unwrap_err();
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "mine");
    assert!(outside.join("b").exists() && !outside.join("new").exists());
    // Looked at again, the link is what the cage's directory would replace, and it is newer.
    assert_eq!(summary(&fixture.changes()), ["T dir !", "A dir/a", "A dir/new"]);
    assert_eq!(fixture.apply_all().left.len(), 3);
}

#[test]
fn two_commands_do_not_meet() {
    let fixture = Fixture::new();
    fixture.host(&[("a", "a")]).start();
    fixture.cage("echo b > a");
    let (one, other) = (fixture.workspace(), fixture.workspace());
    let changes = one.changes().unwrap();
    let lock = one.lock().unwrap();
    assert!(matches!(other.discard_all(), Err(WorkspaceError::Busy)));
    drop(lock);
    other.apply(&changes, &Request::of(Selection::All)).unwrap();
}
