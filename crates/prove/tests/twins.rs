//! Every attack works where nothing confines it: as the caller, and as a user without privileges.

#![expect(clippy::expect_used, reason = "a test fails by it")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn attacker() -> PathBuf {
    testing::program("STOCKADE_ATTACKER_BIN", env!("CARGO_BIN_EXE_attacker"))
}

/// A directory that another user can work in, removed on drop.
struct Field(PathBuf);

impl Field {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stockade-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a directory");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).expect("its mode");
        Self(path)
    }

    fn names(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).expect("the directory");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("removal");
    }
}

fn check(mut command: Command, field: &Path) {
    let output = command.arg("twins").arg(field).output().expect("the attacker");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}\n{complained}", output.status);
    // Where the network of their own cannot be made, attacks on the gatekeeper say so and count as
    // tried nowhere. Here it can.
    let shown = said.lines().find(|line| line.contains(" direct-connection "));
    assert!(shown.is_some_and(|line| line.contains(" works ")), "{shown:?}");
}

/// K212: an attack that fails here says nothing of a cage.
#[test]
fn twins_work_as_the_caller() {
    let field = Field::new("twins");
    check(Command::new(attacker()), &field.0);
    assert_eq!(field.names(), Vec::<PathBuf>::new(), "arenas are left behind");
}

/// K212: an attack that fails here says nothing of a cage.
#[test]
fn twins_work_without_privileges() {
    if !testing::is_root() {
        return testing::skip("only root can be another user, and the caller has no privileges");
    }
    let field = Field::new("twins-unprivileged");
    let copy = field.0.join("attacker");
    fs::copy(attacker(), &copy).expect("a copy");
    let mut command = Command::new(&copy);
    command.uid(12345).gid(12345);
    check(command, &field.0);
    assert_eq!(field.names(), vec![copy], "arenas are left behind");
}
