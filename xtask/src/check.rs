//! Every check, the quick ones first. One that finds something does not stop the others: whoever
//! runs them wants all findings at once. The last line printed is the count of the tests.

use std::path::Path;
use std::time::Instant;

use crate::command::{Failure, cargo, is_installed, succeeds, target_directory};
use crate::{python, setup, suite, tidy};

/// Shell scripts of the project.
const SCRIPTS: &[&str] = &[".ci/run", ".cargo/link-static", "xtask/src/vm/finish-image"];

/// One check but the tests: its name, and whether it holds.
type Step = (&'static str, fn(&Path) -> Result<bool, Failure>);

/// Tests of one kind, and how they are counted.
type Tests = (&'static str, fn(&Path, &[&str]) -> Result<suite::Totals, Failure>);

/// The quick ones first.
const STEPS: &[Step] = &[
    ("format", format),
    ("tidy", |root| Ok(tidy::run(root)? == 0)),
    ("scripts", scripts),
    ("clippy", clippy),
    ("aarch64", other_processor),
    ("dependencies", dependencies),
    ("release", release),
];

/// Runs everything and says whether all of it held.
pub(crate) fn run(root: &Path) -> Result<bool, Failure> {
    println!("== set-up");
    if let Err(failure) = setup::run(root) {
        eprintln!("xtask: {failure}");
    }
    let mut broken = Vec::new();
    for (name, step) in STEPS {
        println!("== {name}");
        let started = Instant::now();
        match step(root) {
            Ok(true) => {}
            Ok(false) => broken.push(*name),
            Err(failure) => {
                eprintln!("xtask: {failure}");
                broken.push(*name);
            }
        }
        println!("{:.0} s", started.elapsed().as_secs_f32());
    }
    let mut totals = suite::Totals::default();
    let tests: [Tests; 2] = [("tests", suite::run), ("python", python::run)];
    for (name, run) in tests {
        println!("== {name}");
        let started = Instant::now();
        let found = run(root, &[]).unwrap_or_else(|failure| {
            eprintln!("xtask: {failure}");
            // Tests that could not even be built must not read as none that failed.
            suite::Totals { failed: 1, ..suite::Totals::default() }
        });
        if found.failed > 0 {
            broken.push(name);
        }
        totals += found;
        println!("{:.0} s", started.elapsed().as_secs_f32());
    }
    match broken.as_slice() {
        [] => println!("every check holds"),
        some => println!("broken: {}", some.join(", ")),
    }
    println!("{totals}");
    Ok(broken.is_empty())
}

fn format(root: &Path) -> Result<bool, Failure> {
    succeeds(cargo(root).args(["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> Result<bool, Failure> {
    let workspace = ["clippy", "--quiet", "--locked", "--workspace", "--all-targets"];
    succeeds(cargo(root).args(workspace).args(["--", "--deny", "warnings"]))
}

/// Types of the kernel's interface differ between processors, and nothing else here would show it. The command has every
/// crate that meets the kernel; the engines of guests and what tests alone need would take minutes and show nothing more.
fn other_processor(root: &Path) -> Result<bool, Failure> {
    let target = setup::OTHER_PROCESSOR;
    if !setup::has_other_processor() {
        println!("`rustup target add {target}` has not been run: it is not compiled for that");
        return Ok(true);
    }
    let check = ["check", "--quiet", "--locked", "--package", "stockade-cli"];
    let mut command = cargo(root);
    command.args(check).args(["--target", target]);
    // Nothing is linked, so that C, which is SQLite's, need not be compiled: few have a compiler for it.
    for tool in ["CC", "AR"] {
        command.env(format!("{tool}_{}", target.replace('-', "_")), "true");
    }
    succeeds(&mut command)
}

fn scripts(root: &Path) -> Result<bool, Failure> {
    if !is_installed("shellcheck") {
        return without("shellcheck", "scripts are not checked");
    }
    let scripts = SCRIPTS.iter().filter(|script| root.join(script).exists());
    let mut command = std::process::Command::new("shellcheck");
    succeeds(command.current_dir(root).args(scripts))
}

/// The binary that users get is compiled and linked in another way than the one of the tests, so what
/// starts programs is tried with it as well.
fn release(root: &Path) -> Result<bool, Failure> {
    let build = ["build", "--quiet", "--locked", "--profile", CHECKED, "--package", "stockade-cli"];
    if !succeeds(cargo(root).args(build))? {
        return Ok(false);
    }
    let binary = target_directory(root)?.join(CHECKED).join("stockade");
    let totals = suite::run_with(root, &binary, TRIED_WITH_RELEASE)?;
    Ok(totals.failed == 0 && totals.passed > 0)
}

/// The profile of the release as it is checked.
pub(crate) const CHECKED: &str = "checked";

/// Parts of the names of tests of the command that the release is tried with.
const TRIED_WITH_RELEASE: &[&str] = &["uncaged", "exit_codes", "streams", "life", "outputs"];

/// Licences, duplicate versions and sources. Known vulnerabilities are looked up where the advisory
/// database was fetched before (`cargo deny fetch db`): this step never fetches it.
fn dependencies(root: &Path) -> Result<bool, Failure> {
    if !setup::has_cargo_deny(root) {
        return without("cargo-deny", "dependencies are not checked");
    }
    let deny = ["deny", "check", "--hide-inclusion-graph"];
    let held = succeeds(cargo(root).args(deny).args(["bans", "licenses", "sources"]))?;
    let advisories = match has_advisory_database() {
        true => succeeds(cargo(root).args(["deny", "--offline", "check", "advisories"]))?,
        false => without("the advisory database", "known vulnerabilities are not looked up")?,
    };
    Ok(held && advisories)
}

fn has_advisory_database() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from).or_else(|| {
        let home = std::env::home_dir()?;
        Some(home.join(".cargo"))
    });
    let databases = home.map(|home| home.join("advisory-dbs"));
    databases.and_then(|path| path.read_dir().ok()).is_some_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| entry.path().is_dir()))
    })
}

/// What a missing tool means: nothing on a contributor's machine, a failure where all was promised.
fn without(tool: &str, consequence: &str) -> Result<bool, Failure> {
    let required = testing::requires_everything() && tool != "the advisory database";
    println!("{tool} is not installed: {consequence}");
    Ok(!required)
}
