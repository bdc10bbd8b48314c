//! Control groups of version 1 that root hands over to a user, below those in which the test runs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A group in each hierarchy, until this is dropped.
pub(crate) struct Delegated {
    user: u32,
    groups: Vec<PathBuf>,
}

impl Delegated {
    pub(crate) fn make(user: u32) -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        let name = format!("stockade-test-{}", super::invocation());
        let mut made = Self { user, groups: Vec::new() };
        for controller in ["memory", "pids", "cpu"] {
            let marked = format!(":{controller}:/");
            let own = groups.lines().find_map(|line| line.split_once(&marked)).unwrap().1;
            let group = PathBuf::from("/sys/fs/cgroup").join(controller).join(own).join(&name);
            fs::create_dir(&group).unwrap();
            chown(&group, Some(user), Some(user)).unwrap();
            for file in ["cgroup.procs", "tasks"] {
                chown(group.join(file), Some(user), Some(user)).unwrap();
            }
            made.groups.push(group);
        }
        made
    }

    /// Runs every other test of this program as that user, from within.
    pub(crate) fn run_this_program_again(&self) -> Output {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = directory.path().join("again");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read go; exec \"$@\"", "sh"])
            .arg(&program)
            .args(["--skip", "a_user_with_delegated_groups", "--nocapture"])
            .env(super::DELEGATED, "yes")
            .current_dir("/")
            .uid(self.user)
            .gid(self.user)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        for group in &self.groups {
            fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
        }
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for group in &self.groups {
            super::until("empty", || fs::remove_dir(group).is_ok());
        }
    }
}
