//! A group of version 2 without controllers: what is not about a limit is the same with and without
//! them, and a hybrid host has such a hierarchy too.

use std::process::{Child, Command};

use super::*;

/// A base in this process's own group; none where this caller may not write there.
fn base() -> Option<Base> {
    let read = |path: &str| std::fs::read(path).unwrap();
    let hierarchies = Hierarchies::parse(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
    let Ok(place) = hierarchies.version_two() else {
        testing::skip(ONLY_FOR);
        return None;
    };
    let directory = Directory::open(&place, Version::Two).unwrap();
    if directory.may_make().is_err() || directory.may_write(PROCESSES).is_err() {
        testing::skip(ONLY_FOR);
        return None;
    }
    let directory = Arc::new(directory);
    Some(Base { directory, held: Vec::new(), obstacles: Vec::new() })
}

fn sleeper() -> (Child, Pid) {
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    (child, pid)
}

fn soon() -> Instant {
    Instant::now() + testing::slowly(Duration::from_secs(5))
}

/// K146, K147, K153
#[test]
fn a_group_is_entered_killed_and_removed() {
    let Some(base) = base() else { return };
    let name = format!("stockade-{}-0-v2enter", std::process::id());
    let mut group = base.prepare(&Numbers::default(), &name).unwrap();
    let (mut child, pid) = sleeper();
    group.adopt(pid).unwrap();
    assert_eq!(group.own.processes().unwrap(), [pid]);
    // Once more is as good as once.
    group.adopt(pid).unwrap();
    assert!(matches!(
        group.remove(Instant::now() + Duration::from_millis(50)),
        Err(LimitsError::StillInUse { left: 1, .. })
    ));
    assert!(group.usage().cpu.is_some());
    group.kill(soon()).unwrap();
    child.wait().unwrap();
    group.remove(soon()).unwrap();
    assert!(!base.directory.children().unwrap().contains(&name));
}

/// Kernels without the file that kills a group.
#[test]
fn one_by_one_ends_as_well() {
    let Some(base) = base() else { return };
    let name = format!("stockade-{}-0-v2each", std::process::id());
    let group = base.prepare(&Numbers::default(), &name).unwrap();
    let (mut child, pid) = sleeper();
    group.adopt(pid).unwrap();
    let reaper = std::thread::spawn(move || child.wait().unwrap());
    group.own.kill_each(soon()).unwrap();
    assert!(!reaper.join().unwrap().success());
    drop(group);
    assert!(!base.directory.children().unwrap().contains(&name));
}

/// K153: systemd removes a group with its last process, and who kills then has nothing left to do.
#[test]
fn a_group_that_is_gone_has_nobody_to_kill() {
    let Some(base) = base() else { return };
    let name = format!("stockade-{}-0-v2gone", std::process::id());
    let group = base.prepare(&Numbers::default(), &name).unwrap();
    base.directory.remove(&name).unwrap();
    group.kill(soon()).unwrap();
    group.own.kill_each(soon()).unwrap();
}

/// Two groups of one name cannot be.
#[test]
fn a_group_is_nobody_elses() {
    let Some(base) = base() else { return };
    let name = format!("stockade-{}-0-v2twice", std::process::id());
    let group = base.prepare(&Numbers::default(), &name).unwrap();
    let error = base.prepare(&Numbers::default(), &name).unwrap_err();
    assert!(matches!(error, LimitsError::Kernel { errno: Errno::EXIST, .. }), "{error}");
    // The failure has not taken the first one away.
    assert!(base.directory.children().unwrap().contains(&name));
    drop(group);
}

#[test]
fn a_supervisor_makes_groups_beside_its_own() {
    let place =
        |relative: &str| Place { mount_point: "/sys/fs/cgroup".into(), relative: relative.into() };
    assert_eq!(base_place(place("a/supervisor")), place("a"));
    assert_eq!(base_place(place("a/b")), place("a/b"));
    assert_eq!(base_place(place("")), place(""));
}

const ONLY_FOR: &str = "only for callers with a control group of version 2";
