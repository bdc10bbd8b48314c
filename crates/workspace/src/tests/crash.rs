//! An apply and an undo that are interrupted at every single call, by death and by failure, on the same file system
//! and across two: afterwards the host is whole, before or after, and nothing is lost.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;

use super::support::{Fixture, Tree, assert_same, summary};
use crate::failpoint::{self, Event};
use crate::{Request, Selection, Workspace, WorkspaceError};

const WORK: &str = "
    echo two >> kept; rm gone; rm -r tree; mkdir -p new/deep; echo x > new/deep/x; chmod 555 new/deep
    rm swap; mkdir swap; echo in > swap/in; rm -r turns; echo file > turns; ln -s kept link
    mv named renamed; chmod 700 dir; echo y > dir/y";

fn fixture(fixture: Fixture) -> Fixture {
    fixture.host(&[
        ("kept", "one\n"),
        ("gone", "gone"),
        ("tree/a/b", "b"),
        ("swap", "s"),
        ("turns/x", "x"),
        ("turns/y/z", "z"),
        ("named", "a name that changes\n"),
        ("dir/x", "x"),
    ]);
    fixture.start();
    fixture
}

/// A made fixture that can be brought back to how it was, because a real overlay takes time.
struct Saved {
    fixture: Fixture,
    before: Tree,
    after: Tree,
    changes: Vec<String>,
}

impl Saved {
    fn new(made: Fixture) -> Self {
        let fixture = fixture(made);
        let before = fixture.host_tree();
        let after = fixture.cage(WORK);
        let changes = summary(&fixture.changes());
        Self { fixture, before, after, changes }
    }

    /// Brings everything back to before the apply, and proves that all is still there by doing so.
    fn restore(&self, what: &str) {
        let workspace = self.fixture.workspace();
        match workspace.undo(&[]) {
            Ok(_) | Err(WorkspaceError::NothingToUndo) => {}
            Err(error) => panic!("{what}: {error}"),
        }
        assert_same(&self.fixture.host_tree(), &self.before);
        assert_eq!(summary(&self.fixture.changes()), self.changes, "{what}");
        assert_tidy(&self.fixture, what);
    }
}

/// Nothing of ours is left where it does not belong.
fn assert_tidy(fixture: &Fixture, what: &str) {
    for (directory, prefix) in [(&fixture.host, ".stockade"), (&fixture.area, "staging")] {
        for entry in fs::read_dir(directory).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with(prefix), "{what}: {name} is left");
        }
    }
    let journal = fs::read_dir(fixture.area.join("journal")).into_iter().flatten();
    let left: Vec<_> = journal.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name.to_string_lossy().ends_with(".new")), "{what}: {left:?}");
}

fn apply(workspace: &Workspace) -> Result<(), WorkspaceError> {
    let changes = workspace.changes()?;
    workspace.apply(&changes, &Request::of(Selection::All)).map(drop)
}

/// Interrupts a call at each of its points; afterwards `settled` is asked which tree is expected.
fn at_every_point(
    saved: &Saved,
    event: Event,
    prepare: impl Fn(&Saved),
    act: impl Fn(&Workspace) -> Result<(), WorkspaceError>,
    trees: [&Tree; 2],
) -> u64 {
    prepare(saved);
    failpoint::choose(None);
    act(&saved.fixture.workspace()).unwrap();
    let points = failpoint::count();
    saved.restore("uninterrupted");
    let mut outcomes = [0, 0];
    for point in 0..points {
        let what = format!("{event:?} at {point} of {points}");
        prepare(saved);
        let workspace = saved.fixture.workspace();
        failpoint::choose(Some((point, event)));
        let outcome = catch_unwind(AssertUnwindSafe(|| act(&workspace)));
        failpoint::choose(None);
        drop(workspace);
        let mut after_failure = saved.fixture.host_tree();
        // The next call removes what could not be.
        after_failure.retain(|name, _| !name.starts_with(b".stockade-apply-"));
        saved.fixture.workspace().recover().unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let found = saved.fixture.host_tree();
        let which = trees.iter().position(|tree| **tree == found);
        let which = which.unwrap_or_else(|| {
            eprintln!("{what}: neither before nor after: {outcome:?}");
            assert_same(&found, trees[0]);
            assert_same(&found, trees[1]);
            panic!("{what}")
        });
        outcomes[which] += 1;
        if let Ok(Err(error)) = outcome {
            // A failure, unlike a death, is whole at once.
            assert_eq!(after_failure, found, "{what}: {error}");
            let is_done = matches!(error, WorkspaceError::Unfinished(_));
            assert_eq!(is_done, which == 1, "{what}: {error:?}");
        }
        assert_tidy(&saved.fixture, &what);
        saved.restore(&what);
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
    points
}

fn by_death_and_failure(saved: &Saved) -> u64 {
    let nothing = |_: &Saved| {};
    let applied = |saved: &Saved| apply(&saved.fixture.workspace()).unwrap();
    let undo = |workspace: &Workspace| workspace.undo(&[]).map(drop);
    let mut points = 0;
    for event in [Event::Death, Event::Failure(Errno::NOSPC)] {
        points += at_every_point(saved, event, nothing, apply, [&saved.before, &saved.after]);
        points += at_every_point(saved, event, applied, undo, [&saved.after, &saved.before]);
    }
    points
}

#[test]
fn an_interrupted_apply_or_undo_is_whole() {
    let points = by_death_and_failure(&Saved::new(Fixture::new()));
    assert!(points >= 200, "{points}");
}

#[test]
fn an_interrupted_apply_or_undo_is_whole_across_file_systems() {
    let Some(fixture) = Fixture::apart() else { return };
    by_death_and_failure(&Saved::new(fixture));
}

/// A second death while the first is recovered from.
#[test]
fn a_recovery_can_be_interrupted_too() {
    let saved = Saved::new(Fixture::new());
    failpoint::choose(None);
    apply(&saved.fixture.workspace()).unwrap();
    let points = failpoint::count();
    saved.restore("uninterrupted");
    for first in (0..points).step_by(7) {
        for second in [0, 3, 11, 29] {
            let what = format!("deaths at {first} and {second}");
            for (point, recovers) in [(first, false), (second, true)] {
                let workspace = saved.fixture.workspace();
                failpoint::choose(Some((point, Event::Death)));
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    if recovers { workspace.recover().map(drop) } else { apply(&workspace) }
                }));
                failpoint::choose(None);
            }
            saved.fixture.workspace().recover().unwrap();
            let found = saved.fixture.host_tree();
            assert!(found == saved.before || found == saved.after, "{what}");
            saved.restore(&what);
        }
    }
}

/// A file that the user puts in the way while an apply lies interrupted is never lost.
#[test]
fn what_the_user_did_meanwhile_is_kept() {
    let saved = Saved::new(Fixture::new());
    failpoint::choose(None);
    apply(&saved.fixture.workspace()).unwrap();
    let points = failpoint::count();
    saved.restore("uninterrupted");
    let mine = saved.fixture.host.join("gone");
    let mut blocked = 0;
    for point in 0..points {
        let workspace = saved.fixture.workspace();
        failpoint::choose(Some((point, Event::Death)));
        let _ = catch_unwind(AssertUnwindSafe(|| apply(&workspace)));
        failpoint::choose(None);
        if mine.exists() {
            saved.restore("not so far");
            continue;
        }
        fs::write(&mine, "mine").unwrap();
        let recovered = saved.fixture.workspace().recover();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine", "at {point}");
        if let Err(WorkspaceError::InTheWay(paths)) = &recovered {
            assert_eq!(paths[0].to_string(), "gone");
            blocked += 1;
        }
        fs::remove_file(&mine).unwrap();
        saved.fixture.workspace().recover().unwrap();
        saved.restore("moved aside");
    }
    // Going forward never puts anything at that name: nothing has to be taken back.
    assert_eq!(blocked, 0);
}

/// A real process, a real SIGKILL.
#[test]
fn a_killed_process_leaves_something_whole() {
    const VARIABLE: &str = "STOCKADE_TEST_APPLIES_IN";
    if let Some(place) = std::env::var_os(VARIABLE) {
        let place = std::path::PathBuf::from(place);
        let open = |name: &str| super::support::open(&place.join(name));
        let workspace = Workspace::new(open("host"), open("area"), crate::Marking::User);
        println!("begins");
        apply(&workspace).unwrap();
        return;
    }
    let saved = Saved::new(Fixture::new());
    for round in 0..24_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "tests::crash::a_killed_process_leaves_something_whole",
                "--nocapture",
            ])
            .env(VARIABLE, saved.fixture.place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(2 * round));
        let _ = child.kill();
        child.wait().unwrap();
        saved.fixture.workspace().recover().unwrap();
        let found = saved.fixture.host_tree();
        assert!(found == saved.before || found == saved.after, "round {round}");
        saved.restore(&format!("round {round}"));
    }
}

/// T54: a disk that is really full: in a mount namespace of its own, on a small memory file system.
#[test]
fn a_full_disk_changes_nothing() {
    const VARIABLE: &str = "STOCKADE_TEST_FULL_DISK";
    if std::env::var_os(VARIABLE).is_none() {
        let output = Command::new("unshare")
            .arg("-Urm")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "tests::crash::a_full_disk_changes_nothing", "--nocapture"])
            .env(VARIABLE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    let fixture = Fixture::new();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(&fixture.host)
        .status()
        .unwrap();
    assert!(mounted.success());
    fixture.host(&[("a", "a"), ("b", "b")]).start();
    fixture.upper(&[("a", "cage"), ("big", &"x".repeat(2_000_000)), ("c", "c")]);
    let before = fixture.host_tree();
    let error = fixture.apply(Selection::All).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`big`") && text.contains("make room"), "{text}");
    assert_same(&fixture.host_tree(), &before);
    assert_eq!(summary(&fixture.changes()), ["M a", "A big", "A c"]);
    fixture.workspace().discard(&super::support::paths(&["big"])).unwrap();
    fixture.apply_all();
    assert_eq!(fs::read_to_string(fixture.host.join("a")).unwrap(), "cage");
}
