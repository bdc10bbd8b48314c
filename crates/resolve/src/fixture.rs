//! A small host in a temporary directory, for the tests of every stage.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use plan::{HostPath, Source, SourceIndex};
use policy::facts::ResolvedRule;
use policy::{FsAccess, FsRule, Policy, Reach, RuleOrigin};

use super::{KeptPlaces, ResolveError, Resolved, Surroundings, resolve};

pub(super) struct Host {
    _directory: tempfile::TempDir,
    pub(super) top: PathBuf,
    pub(super) surroundings: Surroundings,
}

impl Host {
    /// A home with a project in it, and a directory beside both.
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("home/project")).unwrap();
        std::fs::create_dir(top.join("outside")).unwrap();
        let project = host_path(top.join("home/project"));
        let surroundings = Surroundings {
            working_directory: project.clone(),
            project,
            home: Some(host_path(top.join("home"))),
            environment: [].into(),
            umask: 0o022,
            own_state: Vec::new(),
            token: None,
            policy_files: Vec::new(),
            executable: None,
            kept: KeptPlaces::default(),
        };
        Self { _directory: directory, top, surroundings }
    }

    /// The same with a state directory, which is not made.
    pub(super) fn with_own_state(mut self) -> Self {
        self.surroundings.own_state = vec![host_path(self.home(".local/state/stockade"))];
        self
    }

    /// A path in the project.
    pub(super) fn project(&self, relative: impl AsRef<Path>) -> PathBuf {
        joined(&self.top.join("home/project"), relative)
    }

    pub(super) fn home(&self, relative: impl AsRef<Path>) -> PathBuf {
        joined(&self.top.join("home"), relative)
    }

    pub(super) fn outside(&self, relative: impl AsRef<Path>) -> PathBuf {
        joined(&self.top.join("outside"), relative)
    }

    pub(super) fn resolve(&self, rules: Vec<FsRule>) -> Result<Resolved, ResolveError> {
        resolve(&Policy { fs: rules, ..Policy::closed("test") }, &self.surroundings)
    }

    /// A rule of the project's file.
    pub(super) fn rule(&self, access: FsAccess, relative: impl AsRef<Path>) -> FsRule {
        rule(access, host_path(self.project(relative)), Reach::BeneathProject)
    }

    pub(super) fn writable(&self, relative: impl AsRef<Path>) -> FsRule {
        self.rule(FsAccess::ReadWrite, relative)
    }

    pub(super) fn readable(&self, relative: impl AsRef<Path>) -> FsRule {
        self.rule(FsAccess::ReadOnly, relative)
    }

    pub(super) fn hidden(&self, relative: impl AsRef<Path>) -> FsRule {
        self.rule(FsAccess::Hide, relative)
    }
}

/// Without the slash that joining nothing would add.
fn joined(directory: &Path, relative: impl AsRef<Path>) -> PathBuf {
    directory.join(relative).components().collect()
}

/// A rule of the user's own.
pub(super) fn own_rule(access: FsAccess, path: impl AsRef<Path>) -> FsRule {
    rule(access, host_path(path), Reach::Anywhere)
}

fn rule(access: FsAccess, path: HostPath, reach: Reach) -> FsRule {
    let origin = RuleOrigin::Flag(format!("--{} {path}", access.word()));
    FsRule { access, path, reach, origin }
}

pub(super) fn host_path(path: impl AsRef<Path>) -> HostPath {
    HostPath::new(path.as_ref().as_os_str().as_bytes().to_vec()).unwrap()
}

/// Makes a file and the directories above it.
pub(super) fn file(path: impl AsRef<Path>, contents: &str) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

pub(super) fn directory(path: impl AsRef<Path>) {
    std::fs::create_dir_all(path).unwrap();
}

impl Resolved {
    pub(super) fn source(&self, index: SourceIndex) -> &Source {
        &self.facts.sources[usize::try_from(index.0).unwrap()]
    }

    pub(super) fn rule_path(&self, position: usize) -> &Path {
        match &self.facts.rules[position] {
            ResolvedRule::Found { source, .. } => self.source(*source).path.as_path(),
            ResolvedRule::NothingToHide | ResolvedRule::AllowedAhead { .. } => {
                panic!("nothing was found")
            }
        }
    }

    pub(super) fn secret_paths(&self) -> Vec<&Path> {
        self.facts.secrets.iter().map(|found| self.source(found.source).path.as_path()).collect()
    }

    pub(super) fn protected_paths(&self) -> Vec<&Path> {
        self.facts.protected.iter().map(|found| self.source(found.source).path.as_path()).collect()
    }

    pub(super) fn between_paths(&self) -> Vec<&Path> {
        self.facts.between.iter().map(|found| self.source(found.source).path.as_path()).collect()
    }
}

/// Whether this process is there for one test alone, which is about what belongs to the whole process.
/// Where it is not, such a process has run the test by the time that this returns.
pub(super) fn runs_alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--test-threads=1"])
        .env(ALONE, "1")
        .status();
    assert!(status.unwrap().success());
    false
}

const ALONE: &str = "STOCKADE_TEST_ALONE";
