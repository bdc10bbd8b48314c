//! Sessions that are entered, left, ended and swept.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use plan::HostPath;

use super::{Life, SessionError, SessionId, Sessions};

struct Place {
    root: tempfile::TempDir,
    sessions: Sessions,
}

fn place() -> Place {
    let root = tempfile::tempdir().unwrap();
    let sessions = Sessions::open(&host(root.path())).unwrap();
    Place { root, sessions }
}

fn host(path: &std::path::Path) -> HostPath {
    HostPath::new(path.as_os_str().to_owned()).unwrap()
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

impl Place {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root.path().join("sessions"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != ".lock")
            .collect();
        names.sort();
        names
    }
}

/// K20, K38
#[test]
fn a_kept_session_is_the_same_for_all_who_enter() {
    let place = place();
    let first = place.sessions.enter(&id("work")).unwrap();
    assert!(first.is_new());
    fs::write(first.scratch().as_path().join("file"), "kept").unwrap();
    let second = place.sessions.enter(&id("work")).unwrap();
    assert!(!second.is_new());
    assert_eq!(first.scratch(), second.scratch());
    let other = place.sessions.enter(&id("other")).unwrap();
    assert_ne!(first.scratch(), other.scratch());
    let mode = fs::metadata(first.scratch().as_path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    first.leave().unwrap();
    let listed = place.sessions.list().unwrap();
    let shown: Vec<(&str, usize)> =
        listed.iter().map(|one| (one.id.as_str(), one.processes.len())).collect();
    assert_eq!(shown, [("other", 1), ("work", 1)]);
    second.leave().unwrap();
    drop(other);
    let third = place.sessions.enter(&id("work")).unwrap();
    assert_eq!(fs::read_to_string(third.scratch().as_path().join("file")).unwrap(), "kept");
    drop(third);
    assert_eq!(place.sessions.end(&id("work")).unwrap(), 0);
    assert_eq!(place.names(), ["other"]);
    assert!(matches!(place.sessions.end(&id("work")), Err(SessionError::NotFound(_))));
}

/// K37, K177
#[test]
fn a_session_of_one_run_ends_with_it() {
    let place = place();
    let session = place.sessions.begin_for_one_run().unwrap();
    assert_eq!(session.life(), Life::OneRun);
    fs::create_dir_all(session.scratch().as_path().join("a/b")).unwrap();
    let refused = place.sessions.enter(session.id());
    assert!(matches!(refused, Err(SessionError::OfOneRun(_))), "{refused:?}");
    assert!(place.sessions.sweep().unwrap().is_empty(), "it is in use");
    session.leave().unwrap();
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// K156, K239, T54: what a killed process leaves is found by itself.
#[test]
fn what_nobody_uses_is_swept() {
    let place = place();
    let kept = place.sessions.enter(&id("kept")).unwrap();
    let left = place.sessions.begin_for_one_run().unwrap();
    let left_id = left.id().clone();
    // As the kernel does when a process ends: the lock is given back, the file stays.
    let super::Session { user, .. } = left;
    let file = fs::read_dir(place.root.path().join(format!("sessions/{left_id}/users")));
    let name = file.unwrap().next().unwrap().unwrap().path();
    drop(user);
    fs::write(&name, "").unwrap();
    fs::create_dir_all(place.root.path().join("sessions/.new-x-1/scratch")).unwrap();
    fs::create_dir_all(place.root.path().join("sessions/.ended-y-1-0/scratch/a")).unwrap();
    assert_eq!(place.sessions.sweep().unwrap(), [left_id]);
    assert_eq!(place.names(), ["kept"]);
    assert!(place.sessions.sweep().unwrap().is_empty());
    kept.leave().unwrap();
    assert!(place.sessions.sweep().unwrap().is_empty(), "a kept session stays");
    assert_eq!(place.names(), ["kept"]);
}

/// K156, T54: a session that is kept does not collect what killed processes leave in it.
#[test]
fn a_kept_session_forgets_users_that_are_gone() {
    let place = place();
    let living = place.sessions.enter(&id("work")).unwrap();
    let users = place.root.path().join("sessions/work/users");
    let its_own: Vec<_> =
        fs::read_dir(&users).unwrap().map(|entry| entry.unwrap().path()).collect();
    for name in ["12345-0", "12345-1", "99-0"] {
        fs::write(users.join(name), "").unwrap();
    }
    assert!(place.sessions.sweep().unwrap().is_empty());
    let left: Vec<_> = fs::read_dir(&users).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, its_own);
    living.leave().unwrap();
    assert_eq!(fs::read_dir(&users).unwrap().count(), 0);
}

/// K237: whoever looks at a session neither keeps others from entering it nor counts as a user.
#[test]
fn looking_at_a_session_disturbs_nobody() {
    let place = place();
    drop(place.sessions.enter(&id("work")).unwrap());
    fs::write(place.root.path().join("sessions/work/users/12345-0"), "").unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let own = std::process::id();
                    for session in place.sessions.list().unwrap() {
                        let others = |pid: &rustix::process::Pid| {
                            u32::try_from(pid.as_raw_nonzero().get()) != Ok(own)
                        };
                        let others: Vec<_> = session.processes.into_iter().filter(others).collect();
                        assert_eq!(others, []);
                    }
                }
            });
        }
        let entered: Result<Vec<bool>, SessionError> =
            (0..5_000).map(|_| place.sessions.enter(&id("work"))?.leave()).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        entered.unwrap();
    });
}

/// K163: nobody enters a session that is being ended.
#[test]
fn an_ending_session_is_not_entered_and_is_swept() {
    let place = place();
    drop(place.sessions.enter(&id("work")).unwrap());
    fs::write(place.root.path().join("sessions/work/ending"), "").unwrap();
    let refused = place.sessions.enter(&id("work"));
    assert!(matches!(refused, Err(SessionError::Ending(_))), "{refused:?}");
    assert_eq!(place.sessions.sweep().unwrap(), [id("work")]);
    assert!(place.sessions.enter(&id("work")).unwrap().is_new());
}

/// T50: a directory that somebody else could have prepared is not used.
#[test]
fn odd_directories_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), root.path().join("sessions")).unwrap();
    assert!(Sessions::open(&host(root.path())).is_err());
    fs::remove_file(root.path().join("sessions")).unwrap();
    let sessions = Sessions::open(&host(root.path())).unwrap();
    symlink(elsewhere.path(), root.path().join("sessions/work")).unwrap();
    assert!(sessions.enter(&id("work")).is_err());
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(root.path().join("sessions"), open).unwrap();
    let refused = Sessions::open(&host(root.path()));
    assert!(matches!(refused, Err(SessionError::Untrustworthy { .. })), "{refused:?}");
}

/// K237
#[test]
fn many_can_begin_the_same_session_at_once() {
    let place = place();
    let barrier = std::sync::Barrier::new(16);
    let new: usize = std::thread::scope(|scope| {
        let each: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    usize::from(place.sessions.enter(&id("work")).unwrap().is_new())
                })
            })
            .collect();
        each.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(new, 1);
    assert_eq!(place.names(), ["work"]);
}
