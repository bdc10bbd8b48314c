//! All tests, each in a process of its own, with passes, failures and skips counted.
//!
//! As root the crates that touch the kernel are tested twice: as root, and once more as a user
//! without any privilege, from copies of the test programs in a directory that this user can read.
//! That is also why the tests are not left to another runner: both passes must run the same
//! programs and count alike. Never runs a test through a shell.

mod binaries;
mod documentation;
mod run;
mod stage;
mod totals;

#[cfg(test)]
mod tests;

use std::path::Path;

pub(crate) use binaries::{Built, TestBinary, build_packages, build_packages_by, build_released};
pub(crate) use run::{Context, Verdict, all_of, in_parallel, judged, list};
pub(crate) use stage::{Stage, copy_tree, give_away};
pub(crate) use totals::Totals;

use crate::command::Failure;

/// Crates whose tests touch the kernel, and so depend on who runs them.
const TOUCHES_THE_KERNEL: &[&str] = &[
    "stockade-sys",
    "stockade-jail",
    "stockade-audit",
    "stockade-limits",
    "stockade-resolve",
    "stockade-state",
    "stockade-session",
    "stockade-workspace",
    "stockade-prepare",
    "stockade-aftermath",
    "stockade-probe",
    "stockade-terminal",
    "stockade-cage",
    "stockade-invoke",
    "stockade-attacks",
    "stockade-prove",
    "stockade-cli",
];

/// Builds and runs every test that has one of the words in its crate's or its own name; all of them
/// without words.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<Totals, Failure> {
    let built = binaries::build(root)?;
    let mut totals = Totals::default();
    let here = run::Context::of_caller(root, &built);
    totals += run::all_of(&built.tests, &here, words)?;
    if rustix::process::geteuid().is_root() {
        let stage = stage::Stage::make(root, &built)?;
        let context = stage.context();
        let again = built.tests.iter().filter(|binary| depends_on_caller(binary));
        let again = again.map(|binary| stage.staged(binary)).collect::<Result<Vec<_>, _>>()?;
        totals += run::all_of(&again, &context, words)?;
    }
    if words.is_empty() {
        totals += documentation::run(root)?;
    }
    Ok(totals)
}

/// Runs tests of the command with another program than the one that was built for tests.
pub(crate) fn run_with(root: &Path, stockade: &Path, words: &[&str]) -> Result<Totals, Failure> {
    let built = Built { stockade: Some(stockade.to_path_buf()), ..binaries::build(root)? };
    let here = run::Context::of_caller(root, &built);
    let of_command = built.tests.iter().filter(|binary| binary.package == "stockade-cli");
    run::all_of(&of_command.cloned().collect::<Vec<_>>(), &here, words)
}

fn depends_on_caller(binary: &TestBinary) -> bool {
    TOUCHES_THE_KERNEL.contains(&binary.package.as_str())
}
