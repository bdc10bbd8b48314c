//! A task leaves its maker's processor, and stays where there is no other.

use std::process::{Child, Command};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::keep_off_this_one;

fn asleep() -> (Child, Pid) {
    let child = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    (child, pid)
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn it_may_run_anywhere_but_here() {
    let before = sched_getaffinity(None).unwrap();
    let here = sched_getcpu();
    let mut only_here = CpuSet::new();
    only_here.set(here);
    let (child, pid) = asleep();
    // Whoever asks stays on its processor meanwhile, or the answer would be about another.
    sched_setaffinity(None, &only_here).unwrap();
    keep_off_this_one(pid);
    sched_setaffinity(None, &before).unwrap();
    let after = sched_getaffinity(Some(pid)).unwrap();
    end(child);
    let mut expected = before;
    expected.unset(here);
    assert_eq!(after, if expected.count() > 0 { expected } else { before });
}

#[test]
fn one_that_may_run_here_alone_stays() {
    let (child, pid) = asleep();
    let before = sched_getaffinity(None).unwrap();
    let mut only_here = CpuSet::new();
    only_here.set(sched_getcpu());
    sched_setaffinity(None, &only_here).unwrap();
    sched_setaffinity(Some(pid), &only_here).unwrap();
    keep_off_this_one(pid);
    sched_setaffinity(None, &before).unwrap();
    let after = sched_getaffinity(Some(pid)).unwrap();
    end(child);
    assert_eq!(after, only_here);
}
