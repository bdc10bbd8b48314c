//! Control groups of version 1 that root hands over to a user, below those in which the test runs: by
//! the very command that such a user is told to run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A user without groups, until this is dropped.
pub(crate) struct User {
    id: u32,
    directory: tempfile::TempDir,
}

impl User {
    /// Somebody whom nobody else is while this test runs.
    pub(crate) fn nobody_else() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let user = Self { id: 1_000_000 + std::process::id(), directory };
        fs::set_permissions(user.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(std::env::current_exe().unwrap(), user.program()).unwrap();
        // Root is who runs this already.
        user.write("sudo", "#!/bin/sh\nexec \"$@\"\n");
        user
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("again")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs one test of this program as the user, where this test is.
    pub(crate) fn run(&self, test: &str) -> Output {
        let mut command = Command::new(self.program());
        command.args(["--exact", test, "--ignored", "--nocapture"]).current_dir("/");
        command.uid(self.id).gid(self.id).output().unwrap()
    }

    /// Gives a command to a shell, and runs every test of this program from there as the user, but
    /// for the one that is running.
    pub(crate) fn run_all_after(&self, fix: &str, but: &str) -> Output {
        let id = self.id;
        let again = format!(
            "{fix} && exec setpriv --reuid={id} --regid={id} --clear-groups {} --skip {but} --nocapture",
            self.program().display()
        );
        let path = format!("{}:/usr/bin:/bin", self.directory.path().display());
        let script = self.write("fix", &again);
        let mut command = Command::new("/bin/sh");
        command.arg(script).env("PATH", path).env(super::DELEGATED, "yes").current_dir("/");
        command.output().unwrap()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        for controller in ["memory", "pids", "cpu"] {
            let marked = format!(":{controller}:/");
            let own = groups.lines().find_map(|line| line.split_once(&marked)).unwrap().1;
            let group = Path::new("/sys/fs/cgroup").join(controller).join(own);
            let group = group.join(format!("user-{}", self.id));
            super::until("empty", || !group.exists() || fs::remove_dir(&group).is_ok());
        }
    }
}
