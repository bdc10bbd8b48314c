//! Builds every test program of the workspace and reads from cargo's messages where they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command::{Failure, cargo, printed_by};

/// What one build produced.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Built {
    /// All test programs, sorted by package and name.
    pub(crate) tests: Vec<TestBinary>,
    /// The program itself, which integration tests start.
    pub(crate) stockade: Option<PathBuf>,
    /// The program that carries out attacks, which their own tests start.
    pub(crate) attacker: Option<PathBuf>,
    /// The program that runs guests, which `stockade` looks for beside itself.
    pub(crate) guest: Option<PathBuf>,
    /// The program that embeds the library, which is compared with `stockade`.
    pub(crate) embed: Option<PathBuf>,
}

/// One program full of tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestBinary {
    /// The package's name.
    pub(crate) package: String,
    /// The target's name within the package.
    pub(crate) target: String,
    /// The program.
    pub(crate) executable: PathBuf,
    /// The directory that holds the package's manifest, in which its tests run.
    pub(crate) directory: PathBuf,
}

/// Builds everything that tests need. Compiler errors go to standard error.
pub(super) fn build(root: &Path) -> Result<Built, Failure> {
    build_selected(cargo(root), &["--workspace"])
}

/// Builds what the tests of the named packages need.
pub(crate) fn build_packages(root: &Path, packages: &[&str]) -> Result<Built, Failure> {
    build_packages_by(cargo(root), packages)
}

/// The same by a cargo that was told more.
pub(crate) fn build_packages_by(cargo: Command, packages: &[&str]) -> Result<Built, Failure> {
    let selection: Vec<&str> = packages.iter().flat_map(|name| ["--package", name]).collect();
    build_selected(cargo, &selection)
}

/// Builds the programs of packages as they are released, and returns where they are.
pub(crate) fn build_released(
    root: &Path,
    profile: &str,
    packages: &[&str],
) -> Result<Vec<PathBuf>, Failure> {
    let mut command = cargo(root);
    command.args(["build", "--profile", profile, "--locked", "--quiet", "--bins", FORMAT]);
    command.args(packages.iter().flat_map(|name| ["--package", name]));
    read_executables(&printed_by(&mut command)?)
}

/// Picks the programs out of cargo's messages.
fn read_executables(text: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut executables = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line)?;
        executables.extend(message.get("executable").and_then(Value::as_str).map(PathBuf::from));
    }
    Ok(executables)
}

fn build_selected(mut cargo: Command, selection: &[&str]) -> Result<Built, Failure> {
    let arguments = ["test", "--no-run", "--locked", "--quiet"];
    read_messages(&printed_by(cargo.args(arguments).args(selection).arg(FORMAT))?)
}

/// Picks the test programs and `stockade` out of cargo's messages.
pub(super) fn read_messages(text: &str) -> Result<Built, Failure> {
    let mut built = Built::default();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line)?;
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let (Some(executable), Some(target), Some(manifest)) =
            (text("/executable"), text("/target/name"), text("/manifest_path"))
        else {
            continue;
        };
        if message.pointer("/profile/test") == Some(&Value::Bool(true)) {
            let directory = Path::new(manifest).parent().unwrap_or(Path::new("/"));
            built.tests.push(TestBinary {
                package: package_name(text("/package_id").unwrap_or_default(), directory),
                target: target.to_owned(),
                executable: PathBuf::from(executable),
                directory: directory.to_path_buf(),
            });
        } else if target == "stockade" {
            built.stockade = Some(PathBuf::from(executable));
        } else if target == "attacker" {
            built.attacker = Some(PathBuf::from(executable));
        } else if target == "stockade-guest" {
            built.guest = Some(PathBuf::from(executable));
        } else if target == "embed" {
            built.embed = Some(PathBuf::from(executable));
        }
    }
    built.tests.sort();
    Ok(built)
}

/// The name in a package id, which ends in `#NAME@VERSION`, or in `/NAME#VERSION` where the
/// directory has the package's name.
fn package_name(id: &str, directory: &Path) -> String {
    let fragment = id.rsplit_once('#').map_or(id, |(_, fragment)| fragment);
    match fragment.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

const FORMAT: &str = "--message-format=json-render-diagnostics";
