//! Which processes count as own.

use super::*;

#[test]
fn children_are_own_and_parents_are_not() {
    let own = rustix::process::getpid();
    assert!(descends_from_this_process(own));
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let is_own = descends_from_this_process(pid);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_own);
    assert!(!descends_from_this_process(rustix::process::getppid().unwrap()));
    assert!(!descends_from_this_process(Pid::INIT));
}
