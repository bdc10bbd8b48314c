//! Every known escape, against cages of this very program: as the caller, and as a user without
//! privileges. Uncaged each of them works, in a cage none does.
#![expect(clippy::expect_used, reason = "a test fails by it")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn stockade() -> PathBuf {
    testing::program("STOCKADE_BIN", env!("CARGO_BIN_EXE_stockade"))
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
}

impl Drop for Field {
    fn drop(&mut self) {
        // The assertion that failed before matters more than what is left.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

fn check(mut command: Command, field: &Path) {
    let output = command
        .arg("prove")
        .env("TMPDIR", field)
        .env("HOME", field)
        .env("XDG_STATE_HOME", field.join("state"))
        .current_dir(field)
        .output()
        .expect("stockade");
    let table = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    // The report of a failed test may be cut: the rows that are well are left out of it.
    let (rows, explained) = table.split_once("\n\n").unwrap_or((&table, ""));
    let unwell: Vec<&str> = rows.lines().filter(|row| row.ends_with("<<")).collect();
    let status = output.status;
    assert!(status.success(), "{status}\n{unwell:#?}\n{explained}\n{complaints}");
    assert!(table.contains("attacks, "), "{table}");
    // Where the network of their own cannot be made, attacks on the gatekeeper say so and count as
    // tried nowhere. Here it can, and cages in it.
    let shown = table.lines().find(|line| line.contains(" direct-connection "));
    let words: Vec<&str> = shown.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words, ["T36", "direct-connection", "works", "held", "held"]);
}

/// K212
#[test]
fn every_wall_holds_for_the_caller() {
    let field = Field::new("prove");
    check(Command::new(stockade()), &field.0);
    let left: Vec<_> = fs::read_dir(&field.0).expect("the directory").collect();
    assert!(left.is_empty(), "{left:?} is left behind");
}

/// K212
#[test]
fn every_wall_holds_without_privileges() {
    if !testing::is_root() {
        return testing::skip("only root can be another user, and the caller has no privileges");
    }
    let field = Field::new("prove-unprivileged");
    let copy = field.0.join("stockade");
    fs::copy(stockade(), &copy).expect("a copy");
    let mut command = Command::new(&copy);
    command.uid(12345).gid(12345);
    check(command, &field.0);
}
