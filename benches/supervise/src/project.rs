//! The project that every cage is for: a temporary directory with a policy file, this very program to
//! be run inside, and the state of the daemon. Removed when dropped.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Directories of one run.
pub(crate) struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// Makes everything. Anyone may read the project: as root, others run as another user.
    pub(crate) fn make() -> io::Result<Self> {
        let open = Permissions::from_mode(0o755);
        let prefix = "bench-supervise-";
        let directory = tempfile::Builder::new().prefix(prefix).permissions(open).tempdir()?;
        let project = Self { directory };
        fs::create_dir(project.path())?;
        fs::create_dir(project.state())?;
        fs::set_permissions(project.path(), Permissions::from_mode(0o755))?;
        fs::set_permissions(project.state(), Permissions::from_mode(0o700))?;
        fs::copy(std::env::current_exe()?, project.program())?;
        fs::write(project.path().join(POLICY_FILE), POLICY)?;
        Ok(project)
    }

    /// The project itself.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// The program that says when it was reached.
    pub(crate) fn program(&self) -> PathBuf {
        self.path().join("stamp")
    }

    /// The state of the daemon and of other programs.
    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// A path beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Where a program is, if it is installed.
pub(crate) fn installed(path: &'static str) -> Option<&'static Path> {
    Some(Path::new(path)).filter(|path| path.exists())
}

/// The name of a policy file.
pub(crate) const POLICY_FILE: &str = "stockade.toml";
const POLICY: &str = "version = 1\n\n[cage.default]\nfs = [{ ro = \".\" }]\n";
