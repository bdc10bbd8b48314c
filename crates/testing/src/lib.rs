//! What the tests of all crates share: how a test says that it was skipped, which programs the machine has, and how
//! long to wait for something. Never part of what is shipped.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use std::fmt::Display;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub mod model_server;

#[cfg(test)]
mod tests;

/// With the value `all`, a test fails where a program that it needs is not installed.
pub const REQUIRE: &str = "STOCKADE_REQUIRE";

/// How many times longer than on an idle machine tests wait before they give something up.
pub const SLOWNESS: &str = "STOCKADE_TEST_SLOWNESS";

/// Says that the running test is skipped, and why. `cargo xtask test` counts a test with this line as skipped.
pub fn skip(reason: impl Display) {
    eprintln!("\nskipped: {}: {reason}", running_test());
}

/// Whether a program is installed. If not, the running test is skipped, or fails where everything is required.
pub fn has(program: &str) -> bool {
    found_or_skip(find(program).is_some(), &format!("`{program}` is not installed"))
}

/// As [`has`], for several programs.
pub fn has_all(programs: &[&str]) -> bool {
    programs.iter().all(|program| has(program))
}

/// As [`has`], for a module of the system's Python.
pub fn has_python_module(module: &str) -> bool {
    let reason = format!("Python's module `{module}` is not installed");
    has("python3") && found_or_skip(is_python_module(module), &reason)
}

/// Where a program is installed, if it is. Looks where distributions install programs, and not along `PATH`: cages
/// have none of the caller's own directories.
pub fn find(program: &str) -> Option<PathBuf> {
    let paths = DIRECTORIES.iter().map(|directory| Path::new(directory).join(program));
    paths.into_iter().find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
}

/// Whether the system's Python has a module.
pub fn is_python_module(module: &str) -> bool {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", &format!("import {module}")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether a missing program fails a test instead of skipping it.
pub fn requires_everything() -> bool {
    std::env::var_os(REQUIRE).is_some_and(|value| value == "all")
}

/// How long to wait for what takes at most so long on an idle machine. For upper bounds, and for the time that a
/// program gets before something is done to it.
///
/// # Panics
/// If the factor in the environment is no whole number.
pub fn slowly(time: Duration) -> Duration {
    time * std::env::var(SLOWNESS).map_or(1, |factor| factor.parse().expect(SLOWNESS))
}

/// A program of ours that tests start: where the variable says, because whoever runs the test may be unable to look
/// where cargo has built it.
pub fn program(variable: &str, built: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| PathBuf::from(built), PathBuf::from)
}

/// Whether the test runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether something is there. If not, the running test is skipped, or fails where everything is required.
///
/// # Panics
/// Where everything is required.
#[track_caller]
pub fn found_or_skip(is_found: bool, reason: &str) -> bool {
    if !is_found {
        assert!(!requires_everything(), "{reason}, and {REQUIRE}=all");
        skip(reason);
    }
    is_found
}

/// The name of the test that runs in this thread, or, in a process for one test, in this process.
fn running_test() -> String {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main").map(str::to_owned);
    let exact = || {
        let mut words = std::env::args().skip_while(|word| word != "--exact");
        words.nth(1)
    };
    name.or_else(exact).unwrap_or_else(|| "a test".to_owned())
}

const DIRECTORIES: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
