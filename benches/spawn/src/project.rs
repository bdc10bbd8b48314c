//! Projects to run in: a temporary directory with a policy file that grants so many directories.
//! Removed when dropped.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A project with a number of granted directories.
pub(crate) struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// Makes the directories and the policy file. Anyone may read them: as root, bubblewrap runs as
    /// another user.
    pub(crate) fn with_grants(grants: usize) -> io::Result<Self> {
        let open = Permissions::from_mode(0o755);
        let directory =
            tempfile::Builder::new().prefix("bench-spawn-").permissions(open).tempdir()?;
        let names: Vec<String> = (0..grants).map(|number| format!("part-{number:04}")).collect();
        for name in &names {
            fs::create_dir(directory.path().join(name))?;
        }
        let rules: Vec<String> =
            names.iter().map(|name| format!("{{ ro = \"{name}\" }}")).collect();
        let policy = format!("version = 1\n\n[cage.default]\nfs = [{}]\n", rules.join(", "));
        fs::write(directory.path().join("stockade.toml"), policy)?;
        Ok(Self { directory })
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Numbers of grants whose start is measured.
pub(crate) const GRANTS: &[usize] = &[1, 10, 100, 1000];
