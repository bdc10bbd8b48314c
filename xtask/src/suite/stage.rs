//! What the second pass needs: copies of the test programs, of `stockade` and of the project's
//! files in a directory that a user without privilege can read. The project itself may lie where
//! that user cannot look.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use super::binaries::{Built, TestBinary};
use super::run::Context;
use crate::command::Failure;

/// The staged copies; removed when dropped.
pub(crate) struct Stage {
    directory: tempfile::TempDir,
    /// Temporary files of the tests. A directory of its own with a short name: the address of a
    /// socket has room for 107 bytes of path.
    temporary: tempfile::TempDir,
    project: PathBuf,
}

impl Stage {
    /// Copies the project and the program, and makes a home and a directory for temporary files
    /// that belong to the user without privilege.
    pub(crate) fn make(project: &Path, built: &Built) -> Result<Self, Failure> {
        let open = |prefix| {
            let permissions = Permissions::from_mode(0o755);
            tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir()
        };
        let (directory, temporary) = (open("xtask-")?, open("t")?);
        let stage = Self { directory, temporary, project: project.to_path_buf() };
        for name in [PROGRAMS, HOME] {
            fs::create_dir(stage.at(name))?;
        }
        copy_tree(project, &stage.at(PROJECT))?;
        let programs = [
            (&built.stockade, "stockade"),
            (&built.guest, "stockade-guest"),
            (&built.attacker, "attacker"),
            (&built.embed, "embed"),
        ];
        for (program, name) in programs {
            if let Some(program) = program {
                fs::copy(program, stage.at(PROGRAMS).join(name))?;
            }
        }
        let agents = project.join("target/agents");
        if agents.is_dir() {
            link_tree(&agents, &stage.at(AGENTS))?;
        }
        give_away(stage.temporary.path(), USER)?;
        for name in [PROJECT, HOME] {
            give_away(&stage.at(name), USER)?;
        }
        Ok(stage)
    }

    /// Tests as the user without privilege, among the copies.
    pub(crate) fn context(&self) -> Context {
        let temporary = self.temporary.path().to_path_buf();
        Context {
            label: "without privilege",
            identity: Some((USER, USER)),
            root: self.at(PROJECT),
            environment: Some(vec![
                ("HOME", self.at(HOME)),
                ("TMPDIR", temporary),
                ("STOCKADE_AGENTS", self.at(AGENTS)),
            ]),
            variable: None,
            stockade: Some(self.at(PROGRAMS).join("stockade")),
            attacker: Some(self.at(PROGRAMS).join("attacker")),
        }
    }

    /// The same tests, run from a copy.
    pub(crate) fn staged(&self, binary: &TestBinary) -> Result<TestBinary, Failure> {
        let name = binary.executable.file_name().unwrap_or_default();
        let executable = self.at(PROGRAMS).join(name);
        fs::copy(&binary.executable, &executable)?;
        let inside = binary.directory.strip_prefix(&self.project).unwrap_or(Path::new(""));
        Ok(TestBinary { executable, directory: self.at(PROJECT).join(inside), ..binary.clone() })
    }

    /// Where something of this name is, or can be put.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// Copies files, directories and symbolic links; leaves out what git keeps for itself and what
/// builds produce.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        let target = to.join(&name);
        if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        } else if kind.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
            copy_tree(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Shows the same files in another place, which need not be copied for that where both are on one disk.
fn link_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, target)?;
        } else if kind.is_dir() {
            link_tree(&entry.path(), &target)?;
        } else if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Makes a user and the group with the same number the owner of a path and all below it.
pub(crate) fn give_away(path: &Path, user: u32) -> io::Result<()> {
    lchown(path, Some(user), Some(user))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_away(&entry?.path(), user)?;
        }
    }
    Ok(())
}

/// A user and group that own nothing else; it needs no entry in any table of users.
const USER: u32 = 61_234;
const PROGRAMS: &str = "programs";
const PROJECT: &str = "project";
const HOME: &str = "home";
const AGENTS: &str = "agents";
const LEFT_OUT: &[&str] = &[".git", "target", "corpus", "artifacts"];
