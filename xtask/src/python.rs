//! The Python package: built as its users build it, installed into a venv in the target directory, and
//! tested; as root a second time as a user without privilege, from copies. Never touches another
//! Python installation.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::check::CHECKED;
use crate::command::{Failure, printed_by, start_failure, target_directory};
use crate::deadline;
use crate::suite::{self, Built, Context, Stage, Totals};

#[cfg(test)]
mod tests;

/// Builds, installs and tests the package; with words, the tests that have one of them in their names.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<Totals, Failure> {
    let Some(python) = INTERPRETERS.iter().find(|python| is_usable(python)) else {
        return Ok(without("python3 of version 3.9 or later with its modules venv and ensurepip"));
    };
    let venv = target_directory(root)?.join("python/venv");
    if !has_packages(root, python, &venv)? {
        return Ok(without("what `bindings/python/tests/requirements.txt` names"));
    }
    install(root, &venv)?;
    let here = Context::of_caller(root, &Built::default());
    let mut totals = test(&venv, &here, words)?;
    if rustix::process::geteuid().is_root() {
        let stage = Stage::make(root, &Built::default())?;
        let copy = stage.at("venv");
        succeed(Command::new("cp").arg("--archive").args([&venv, &copy]))?;
        let context = stage.context();
        if let Some((user, _)) = context.identity {
            suite::give_away(&copy, user)?;
        }
        totals += test(&copy, &context, words)?;
    }
    Ok(totals)
}

/// Whether an interpreter is new enough and can make a venv.
fn is_usable(python: &str) -> bool {
    let program = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))";
    let mut command = Command::new(python);
    command.args(["-c", program]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What it means that the package cannot be tested.
fn without(what: &str) -> Totals {
    println!("the Python package is not tested, because this is missing: {what}");
    match testing::requires_everything() {
        true => Totals { failed: 1, ..Totals::default() },
        false => Totals { skipped: 1, ..Totals::default() },
    }
}

/// Makes the venv and installs what the tests need, unless that was done for this interpreter and this
/// list before. Says whether all of it is there.
fn has_packages(root: &Path, python: &str, venv: &Path) -> Result<bool, Failure> {
    let requirements = root.join(REQUIREMENTS);
    let version = printed_by(Command::new(python).arg("-VV"))?;
    let digest = Sha256::new().chain_update(version).chain_update(fs::read(&requirements)?);
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let stamp = venv.join("stamp");
    if fs::read_to_string(&stamp).is_ok_and(|stamped| stamped == digest) {
        return Ok(true);
    }
    println!("installing what the tests of the Python package need");
    if venv.exists() {
        fs::remove_dir_all(venv)?;
    }
    succeed(Command::new(python).args(["-m", "venv"]).arg(venv))?;
    let mut install = pip(venv);
    install.arg("--requirement").arg(&requirements);
    let is_installed = deadline::finish(&mut install, testing::slowly(LONGEST_INSTALLATION))?
        .is_some_and(|status| status.success());
    if is_installed {
        fs::write(&stamp, digest)?;
    }
    Ok(is_installed)
}

/// Installs the package, with the program that is released in it.
fn install(root: &Path, venv: &Path) -> Result<(), Failure> {
    let programs = suite::build_released(root, CHECKED, &["stockade-cli"])?;
    let stockade = programs.iter().find(|path| path.ends_with("stockade"));
    let stockade =
        stockade.ok_or_else(|| Failure::Usage("cargo has built no `stockade`".into()))?;
    let mut install = pip(venv);
    install.args(["--no-deps", "--no-build-isolation", "--force-reinstall"]);
    install.arg(root.join(PACKAGE)).env("STOCKADE_BINARY", stockade);
    // The dependencies were built with this profile a moment ago; the one of users would build them again.
    install.env("MATURIN_PEP517_ARGS", format!("--locked --profile {CHECKED}"));
    // The build backend finds `maturin` by its name.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(venv.join("bin")).chain(std::env::split_paths(&path));
    let paths = std::env::join_paths(paths).map_err(|error| Failure::Usage(error.to_string()))?;
    succeed(install.env("PATH", paths))
}

fn pip(venv: &Path) -> Command {
    let mut command = Command::new(venv.join("bin/python"));
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// Runs the tests and counts them.
fn test(venv: &Path, context: &Context, words: &[&str]) -> Result<Totals, Failure> {
    let report = tempfile::Builder::new().prefix("pytest-").tempdir()?;
    if let Some((user, _)) = context.identity {
        suite::give_away(report.path(), user)?;
    }
    let results = report.path().join("results.xml");
    let mut command = Command::new(venv.join("bin/python"));
    context.apply_to(&mut command);
    command.current_dir(context.root.join(PACKAGE)).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml"]).arg(&results);
    if !words.is_empty() {
        command.args(["-k", &words.join(" or ")]);
    }
    let started = Instant::now();
    let status = deadline::finish(&mut command, testing::slowly(LONGEST_TESTS))?;
    let mut totals = read_results(&fs::read_to_string(&results).unwrap_or_default());
    // With words there may be no test that has one, which is the code 5.
    let is_fine = status.is_some_and(|status| {
        status.success() || (!words.is_empty() && status.code() == Some(NO_TESTS))
    });
    if !is_fine {
        totals.failed = totals.failed.max(1);
    }
    let seconds = started.elapsed().as_secs_f32();
    println!("python ({}): {totals} in {seconds:.1} s", context.label);
    Ok(totals)
}

/// Sums the attributes of `<testsuite errors="0" failures="0" skipped="1" tests="9" …>`.
fn read_results(text: &str) -> Totals {
    let mut totals = Totals::default();
    for suite in text.split("<testsuite ").skip(1) {
        let attributes = suite.split('>').next().unwrap_or_default();
        let count = |name: &str| {
            let (_, value) = attributes.split_once(&format!("{name}=\""))?;
            value.split('"').next()?.parse::<usize>().ok()
        };
        let of = |name: &str| count(name).unwrap_or_default();
        let (failed, skipped) = (of("failures") + of("errors"), of("skipped"));
        let passed = of("tests").saturating_sub(failed + skipped);
        totals += Totals { passed, failed, skipped };
    }
    totals
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let program = format!("{command:?}");
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|source| start_failure(command, source))?;
    if status.success() { Ok(()) } else { Err(Failure::Status { program, status }) }
}

/// The system's own first: every user can read it.
const INTERPRETERS: [&str; 2] = ["/usr/bin/python3", "python3"];
const PACKAGE: &str = "bindings/python";
const REQUIREMENTS: &str = "bindings/python/tests/requirements.txt";
/// The exit code of a pytest that found no test.
const NO_TESTS: i32 = 5;
const LONGEST_INSTALLATION: Duration = Duration::from_secs(900);
const LONGEST_TESTS: Duration = Duration::from_secs(900);
