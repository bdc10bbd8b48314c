//! Which texts of which project files the user has approved: one small file per approval in the
//! user's own state directory. An approval, and its end, is on record before it holds. Never follows a link inside the store, never reads a store that
//! somebody else could have written, and pins the text by its hash and not by its time or size.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use audit::{AuditError, Event, Log};
use plan::HostPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// The approvals of one user.
#[derive(Clone, Debug)]
pub struct Trust {
    state_directory: PathBuf,
}

/// Why approvals cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The kernel refused a step.
    #[error("{call} `{}`", path.display())]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: Errno,
    },
    /// Somebody else owns a part of the store, or may write to it.
    #[error(
        "approvals in `{}` cannot be trusted: {why}; fix it with `{fix}`",
        path.display()
    )]
    Untrustworthy {
        /// Which part.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// The command that puts it right.
        fix: String,
    },
    /// An approval's file does not hold an approval.
    #[error(
        "`{}` is not an approval: {why}; remove it and approve the project's file again",
        path.display()
    )]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be recorded, so it was not done.
    #[error("the approval cannot be recorded")]
    Record(#[from] AuditError),
}

impl Trust {
    /// The approvals kept below `state_directory`, which need not exist yet.
    pub fn open(state_directory: &HostPath) -> Self {
        Self { state_directory: state_directory.as_path().to_owned() }
    }

    /// Whether the user has approved exactly this text at exactly this path.
    pub fn is_allowed(&self, path: &HostPath, text: &[u8]) -> Result<bool, TrustError> {
        let Some(directory) = self.existing_directory()? else {
            return Ok(false);
        };
        let Some(approval) = self.read(&directory, path)? else {
            return Ok(false);
        };
        Ok(approval.path == *path && approval.sha256 == hexadecimal_hash(text))
    }

    /// Approves this text at this path, in place of any other text approved there before.
    pub fn allow(&self, path: &HostPath, text: &[u8]) -> Result<(), TrustError> {
        let directory = self.made_directory()?;
        let approval = Approval {
            version: APPROVAL_VERSION,
            path: path.clone(),
            sha256: hexadecimal_hash(text),
        };
        let mut contents = serde_json::to_vec(&approval).map_err(|error| {
            TrustError::Malformed { path: self.approval_path(path), why: error.to_string() }
        })?;
        contents.push(b'\n');
        let sha256 = approval.sha256.into();
        self.record(&Event::PolicyAllowed { path: path.as_bytes().into(), sha256 })?;
        self.replace(&directory, path, &contents)
    }

    /// Takes back what was approved at this path. Says whether anything had been.
    pub fn deny(&self, path: &HostPath) -> Result<bool, TrustError> {
        let Some(directory) = self.existing_directory()? else {
            return Ok(false);
        };
        if self.read(&directory, path).is_ok_and(|approval| approval.is_none()) {
            return Ok(false);
        }
        self.record(&Event::PolicyDenied { path: path.as_bytes().into() })?;
        match rustix::fs::unlinkat(&directory, approval_name(path), AtFlags::empty()) {
            Ok(()) => {
                rustix::fs::fsync(&directory).map_err(self.failed("fsync", TRUST_DIRECTORY))?;
                Ok(true)
            }
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.failed("unlink", &approval_file(path))(errno)),
        }
    }

    /// Returns when the event is durable.
    fn record(&self, event: &Event) -> Result<(), TrustError> {
        let log = Log::open(&self.state_directory.join(AUDIT_DIRECTORY))?;
        log.record(event)?;
        Ok(log.checkpoint()?)
    }

    fn existing_directory(&self) -> Result<Option<OwnedFd>, TrustError> {
        let state = match rustix::fs::open(&self.state_directory, DIRECTORY, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(self.failed("open", "")(errno)),
        };
        self.check_ownership(&state, &self.state_directory)?;
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let trust = match rustix::fs::openat(&state, TRUST_DIRECTORY, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(self.failed("open", TRUST_DIRECTORY)(errno)),
        };
        self.check_ownership(&trust, &self.state_directory.join(TRUST_DIRECTORY))?;
        Ok(Some(trust))
    }

    fn made_directory(&self) -> Result<OwnedFd, TrustError> {
        make_private_directories(&self.state_directory)?;
        let trust = self.state_directory.join(TRUST_DIRECTORY);
        make_private_directories(&trust)?;
        self.existing_directory()?.ok_or_else(|| self.failed("open", TRUST_DIRECTORY)(Errno::NOENT))
    }

    fn read(&self, directory: &OwnedFd, path: &HostPath) -> Result<Option<Approval>, TrustError> {
        // A FIFO in the store must not hang the reader: hence NONBLOCK.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(directory, approval_name(path), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(self.failed("open", &approval_file(path))(errno)),
        };
        self.check_ownership(&file, &self.approval_path(path))?;
        let status =
            rustix::fs::fstat(&file).map_err(self.failed("fstat", &approval_file(path)))?;
        let malformed = |why: String| TrustError::Malformed { path: self.approval_path(path), why };
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(malformed("it is not a regular file".to_owned()));
        }
        let mut contents = Vec::new();
        std::fs::File::from(file)
            .take(MAX_APPROVAL_BYTES + 1)
            .read_to_end(&mut contents)
            .map_err(|error| malformed(error.to_string()))?;
        if contents.len() as u64 > MAX_APPROVAL_BYTES {
            return Err(malformed(format!("it is larger than {MAX_APPROVAL_BYTES} bytes")));
        }
        let approval: Approval =
            serde_json::from_slice(&contents).map_err(|error| malformed(error.to_string()))?;
        if approval.version != APPROVAL_VERSION {
            return Err(malformed(format!("its version is {}", approval.version)));
        }
        Ok(Some(approval))
    }

    /// Writes beside the approval and renames over it: a reader sees the old one or the new one.
    fn replace(
        &self,
        directory: &OwnedFd,
        path: &HostPath,
        contents: &[u8],
    ) -> Result<(), TrustError> {
        let temporary = format!(".{}.{}", approval_name(path), rustix::process::getpid());
        // What a killed predecessor with the same process id left behind.
        match rustix::fs::unlinkat(directory, &temporary, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(self.failed("unlink", &temporary)(errno)),
        }
        let written = self.write_new(directory, &temporary, contents).and_then(|()| {
            rustix::fs::renameat(directory, &temporary, directory, approval_name(path))
                .map_err(self.failed("rename", &approval_file(path)))
        });
        if written.is_err() {
            // The first failure is the one to report.
            let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
        }
        written?;
        rustix::fs::fsync(directory).map_err(self.failed("fsync", TRUST_DIRECTORY))
    }

    fn write_new(&self, directory: &OwnedFd, name: &str, bytes: &[u8]) -> Result<(), TrustError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(self.failed("create", name))?;
        let mut file = std::fs::File::from(file);
        let failed = |call: &'static str| {
            move |error: std::io::Error| {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                self.failed(call, name)(errno)
            }
        };
        file.write_all(bytes).map_err(failed("write"))?;
        file.sync_all().map_err(failed("fsync"))
    }

    fn check_ownership(&self, object: &OwnedFd, path: &Path) -> Result<(), TrustError> {
        let status = rustix::fs::fstat(object).map_err(|source| TrustError::Kernel {
            call: "fstat",
            path: path.to_owned(),
            source,
        })?;
        let own = rustix::process::geteuid().as_raw();
        if status.st_uid != own {
            return Err(TrustError::Untrustworthy {
                path: path.to_owned(),
                why: format!("it belongs to user {} and you are user {own}", status.st_uid),
                fix: format!("chown {own} {}", path.display()),
            });
        }
        if status.st_mode & WRITABLE_BY_OTHERS != 0 {
            return Err(TrustError::Untrustworthy {
                path: path.to_owned(),
                why: "others may write to it".to_owned(),
                fix: format!("chmod go-w {}", path.display()),
            });
        }
        Ok(())
    }

    fn approval_path(&self, path: &HostPath) -> PathBuf {
        self.state_directory.join(approval_file(path))
    }

    /// Makes an error about something below the state directory.
    fn failed(&self, call: &'static str, below: &str) -> impl FnOnce(Errno) -> TrustError + use<> {
        let path = self.state_directory.join(below);
        move |source| TrustError::Kernel { call, path, source }
    }
}

/// What one approval's file holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approval {
    version: u32,
    path: HostPath,
    sha256: String,
}

/// Makes a directory and the missing ones above it, each for its owner alone.
fn make_private_directories(path: &Path) -> Result<(), TrustError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        TrustError::Kernel {
            call: "mkdir",
            path: path.to_owned(),
            source: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        }
    })
}

/// A project file's path may be longer than a file's name may be, and hold a slash: its hash is
/// neither.
fn approval_name(path: &HostPath) -> String {
    hexadecimal_hash(path.as_bytes())
}

fn approval_file(path: &HostPath) -> String {
    format!("{TRUST_DIRECTORY}/{}", approval_name(path))
}

fn hexadecimal_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const APPROVAL_VERSION: u32 = 1;
const TRUST_DIRECTORY: &str = "trust";
const AUDIT_DIRECTORY: &str = "audit";
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A path of 4095 bytes, each escaped as `\\xNN` in JSON, and the rest of the record.
const MAX_APPROVAL_BYTES: u64 = 32 * 1024;
