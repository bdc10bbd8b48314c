//! The programs that know how to leave out a wall: built once, in a directory of their own, so that no
//! other build is ever one of these. Runs them with a wall left out or with all of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::walls::{BUILD, Caller, Test, VARIABLE, Wall};

use crate::command::{Failure, cargo, target_directory};
use crate::suite::{Built, Context, Stage, TestBinary, Verdict, build_packages_by, judged, list};

/// What was built, and where it runs as whom.
pub(super) struct Programs {
    root: PathBuf,
    built: Built,
    /// Where a user without privilege runs it, if that is not the caller.
    stage: Option<(Stage, Vec<TestBinary>)>,
}

impl Programs {
    /// Builds all test programs that the list names.
    pub(super) fn build(root: &Path) -> Result<Self, Failure> {
        let mut packages = vec!["stockade-cli".to_owned()];
        packages.extend(tests().map(package));
        packages.sort();
        packages.dedup();
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        let built = build_packages_by(telling_cargo(root)?, &packages)?;
        let programs = Self { root: root.to_path_buf(), stage: staged(root, &built)?, built };
        programs.check_names()?;
        Ok(programs)
    }

    /// `stockade`.
    pub(super) fn stockade(&self) -> Result<&Path, Failure> {
        let missing = || Failure::Usage("cargo has not built `stockade`".to_owned());
        self.built.stockade.as_deref().ok_or_else(missing)
    }

    /// Runs a test and says how it ended; none if it is for a caller that cannot be had here.
    pub(super) fn judge(
        &self,
        test: &Test,
        left_out: Option<Wall>,
        longest: Duration,
    ) -> Result<Option<Verdict>, Failure> {
        let Some((binaries, mut context)) = self.place_for(test.caller) else { return Ok(None) };
        context.variable = left_out.map(|wall| (VARIABLE, wall.name()));
        let binary = find(binaries, test)?;
        Ok(Some(judged(binary, &context, test.name, longest)))
    }

    fn place_for(&self, caller: Caller) -> Option<(&[TestBinary], Context)> {
        let own = || {
            let context = Context::of_caller(&self.root, &self.built);
            (self.built.tests.as_slice(), context)
        };
        let is_root = rustix::process::geteuid().is_root();
        match (caller, &self.stage) {
            (Caller::User, Some((stage, tests))) => Some((tests.as_slice(), stage.context())),
            (Caller::Any, _) => Some(own()),
            (Caller::Root, _) => is_root.then(own),
            (Caller::User, None) => (!is_root).then(own),
        }
    }

    /// A name that no test has would pass for one that notices nothing.
    fn check_names(&self) -> Result<(), Failure> {
        let context = Context::of_caller(&self.root, &self.built);
        let mut known: Vec<(&TestBinary, Vec<String>)> = Vec::new();
        for test in tests() {
            let binary = find(&self.built.tests, test)?;
            if !known.iter().any(|(one, _)| *one == binary) {
                known.push((binary, list(binary, &context)?));
            }
            let names = known.iter().find(|(one, _)| *one == binary).map(|(_, names)| names);
            if !names.is_some_and(|names| names.iter().any(|name| name == test.name)) {
                return Err(no_such(test));
            }
        }
        Ok(())
    }
}

/// A cargo that builds with walls that can be left out.
fn telling_cargo(root: &Path) -> Result<std::process::Command, Failure> {
    let mut flags = std::env::var_os("RUSTFLAGS").unwrap_or_default();
    flags.push(format!(" --cfg {BUILD}"));
    let mut cargo = cargo(root);
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", target_directory(root)?.join("walls"));
    Ok(cargo)
}

/// Copies for a user without privilege, where the caller is root.
fn staged(root: &Path, built: &Built) -> Result<Option<(Stage, Vec<TestBinary>)>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let stage = Stage::make(root, built)?;
    let of_user = |binary: &&TestBinary| {
        tests().any(|test| test.caller == Caller::User && is_in(binary, test))
    };
    let binaries = built.tests.iter().filter(of_user).map(|binary| stage.staged(binary));
    let binaries = binaries.collect::<Result<_, _>>()?;
    Ok(Some((stage, binaries)))
}

fn tests() -> impl Iterator<Item = &'static Test> {
    Wall::ALL.iter().flat_map(|wall| wall.tests())
}

fn find<'a>(binaries: &'a [TestBinary], test: &Test) -> Result<&'a TestBinary, Failure> {
    binaries.iter().find(|binary| is_in(binary, test)).ok_or_else(|| no_such(test))
}

fn is_in(binary: &TestBinary, test: &Test) -> bool {
    binary.package == package(test) && binary.target == test.target
}

fn package(test: &Test) -> String {
    format!("stockade-{}", test.package)
}

fn no_such(test: &Test) -> Failure {
    let Test { package, target, name, .. } = test;
    Failure::Usage(format!("the list of walls names `{name}`, which `{package}::{target}` has not"))
}
