//! Where the files are that say what a cage may do: a project's `stockade.toml`, the user's own
//! configuration, and the directory for the user's state. Reads them within bounds and only where
//! nobody else could have put them there; never judges what they say.

mod policy_file;

pub use policy_file::{MAX_POLICY_FILE_BYTES, PolicyFile, PolicyFileError, PolicyFileReason};

use std::path::Path;

use plan::HostPath;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// The name of a project's policy file.
pub const PROJECT_FILE_NAME: &str = "stockade.toml";

/// A project: a directory, and the policy file in it if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The project's root, with every symlink resolved.
    pub root: HostPath,
    /// Its policy file.
    pub file: Option<PolicyFile>,
}

/// Why there is no project to work with.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The project's directory, or the one to start looking from, cannot be used.
    #[error("`{path}` is not a project directory: {why}")]
    Root {
        /// As it was given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
        /// The kernel's answer, where it gave one.
        source: Option<Errno>,
    },
    /// There is a policy file, and it must not be used.
    #[error(transparent)]
    File(#[from] PolicyFileError),
}

impl Project {
    /// The project that `working_directory` lies in: the nearest directory upward that has a policy
    /// file, else `working_directory` itself without one.
    ///
    /// A policy file that may not be used is an error and does not lead to a further search: what
    /// lies above it was written for another project.
    pub fn find(working_directory: &Path) -> Result<Self, ProjectError> {
        let start = real_directory(working_directory, Path::new("."))?;
        let above = std::iter::successors(Some(start.clone()), HostPath::parent);
        for directory in above {
            if let Some(file) = PolicyFile::in_project(&directory)? {
                return Ok(Self { root: directory, file: Some(file) });
            }
        }
        Ok(Self { root: start, file: None })
    }

    /// As [`Project::find`]; without a policy file anywhere upward, the top of the Git working tree that
    /// `working_directory` lies in. One that belongs to somebody else counts for nothing, nor does one in
    /// a home or above it.
    pub fn find_with_tree(
        working_directory: &Path,
        homes: &[HostPath],
    ) -> Result<Self, ProjectError> {
        let found = Self::find(working_directory)?;
        if found.file.is_some() {
            return Ok(found);
        }
        let above = std::iter::successors(Some(found.root.clone()), HostPath::parent);
        let mut narrow = above
            .take_while(|directory| !policy::ungrantable::is_home_or_system_tree(directory, homes));
        let root = narrow.find(has_own_repository).unwrap_or(found.root);
        Ok(Self { root, file: None })
    }

    /// The project whose root is `directory`, whatever lies above it. A relative path begins at
    /// `working_directory`.
    pub fn at(working_directory: &Path, directory: &Path) -> Result<Self, ProjectError> {
        let root = real_directory(working_directory, directory)?;
        let file = PolicyFile::in_project(&root)?;
        Ok(Self { root, file })
    }
}

/// Whether a directory is the top of a working tree of the caller's. Git asks the same of whose it is.
fn has_own_repository(directory: &HostPath) -> bool {
    let Ok(repository) = directory.join(".git") else { return false };
    let caller = rustix::process::geteuid();
    let is_own = |status: rustix::fs::Stat| caller.is_root() || status.st_uid == caller.as_raw();
    rustix::fs::lstat(repository.as_path()).is_ok_and(is_own)
}

/// Where a directory really is. K58
fn real_directory(working_directory: &Path, path: &Path) -> Result<HostPath, ProjectError> {
    let refused = |why, source| ProjectError::Root {
        path: policy::shown::shown(plan::ByteString::from(path.as_os_str().to_owned())),
        why,
        source,
    };
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(refused("its path has a NUL byte", None));
    }
    let real = std::fs::canonicalize(working_directory.join(path)).map_err(|error| {
        let errno = Errno::from_io_error(&error);
        // What is said in words needs no second telling by the kernel's own.
        match errno {
            Some(Errno::NOENT) => refused("it does not exist", None),
            Some(Errno::ACCESS) => refused("it cannot be reached", None),
            Some(Errno::LOOP) => refused("its symlinks lead in a circle", None),
            Some(Errno::NOTDIR) => refused("a part of its path is not a directory", None),
            Some(Errno::NAMETOOLONG) => refused("its path is too long", None),
            _ => refused("it cannot be resolved", errno),
        }
    })?;
    let directory = rustix::fs::open(&real, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| refused("it cannot be opened", Some(errno)))?;
    let status = rustix::fs::fstat(&directory)
        .map_err(|errno| refused("it cannot be examined", Some(errno)))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
        return Err(refused("it is not a directory", None));
    }
    HostPath::new(real.into_os_string()).map_err(|_| refused("its path is too long", None))
}
