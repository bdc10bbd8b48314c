//! Who is asked to end, and who only has the same number.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};

use super::*;

/// A file that somebody holds, named after a process and a namespace.
fn held(directory: &std::path::Path, child: &Child, namespace: u64) -> OwnedFd {
    let path = directory.join(format!("{}-0-{namespace}", child.id()));
    let file = OwnedFd::from(std::fs::File::create(path).unwrap());
    lock(&file).unwrap();
    file
}

/// K163: a process id of another namespace is the number of an innocent process here.
#[test]
fn only_processes_of_the_same_namespace_are_asked_to_end() {
    for (shift, is_asked) in [(0, true), (1, false)] {
        let directory = tempfile::tempdir().unwrap();
        let users = OwnedFd::from(std::fs::File::open(directory.path()).unwrap());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let _held = held(directory.path(), &child, own_namespace() + shift);
        let process = Pid::from_child(&child);
        assert_eq!(living(users.as_fd()).unwrap(), [process]);
        ask_to_end(process, users.as_fd());
        if !is_asked {
            assert!(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
        }
        let expected = if is_asked { libc::SIGTERM } else { libc::SIGKILL };
        assert_eq!(child.wait().unwrap().signal(), Some(expected));
    }
}
