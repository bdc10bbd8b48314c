//! Reads one policy file: bounded, as text, and only if nobody but the user, root or the owner of
//! the project could have written it. Never follows a project's link out of its directory.

use std::io::Read as _;
use std::os::fd::OwnedFd;

use plan::HostPath;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use walls::Wall;

use super::PROJECT_FILE_NAME;

/// The largest policy file that is read.
pub const MAX_POLICY_FILE_BYTES: u64 = 256 * 1024;

/// A policy file and the text that was in it when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// Where it was found.
    pub path: HostPath,
    /// What it said. The hash of an approval is over exactly this.
    pub text: String,
}

/// Why a policy file must not be used.
#[derive(Debug, thiserror::Error)]
#[error("policy file `{}` cannot be used", policy::shown::shown(.path))]
pub struct PolicyFileError {
    /// Which file.
    pub path: HostPath,
    /// Why not.
    #[source]
    pub reason: PolicyFileReason,
}

/// What is wrong with a policy file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFileReason {
    /// It is a directory.
    #[error("it is a directory")]
    IsADirectory,
    /// It is a FIFO, socket or device.
    #[error("it is not a regular file")]
    NotARegularFile,
    /// It is a link to something outside its directory.
    #[error("it is a symlink that leads out of its directory; put the text itself there")]
    LinkLeavesDirectory,
    /// It is a link that leads nowhere, or in a circle.
    #[error("it is a symlink that leads nowhere")]
    BrokenLink,
    /// More than [`MAX_POLICY_FILE_BYTES`].
    #[error("it has {bytes} bytes, and at most {MAX_POLICY_FILE_BYTES} are read")]
    TooLarge {
        /// How many it has.
        bytes: u64,
    },
    /// Not UTF-8.
    #[error("line {line} is not UTF-8 text")]
    NotText {
        /// Counted from 1.
        line: usize,
    },
    /// Anybody may change it.
    #[error("every user may write to it; fix it with `chmod o-w`")]
    WritableByEveryone,
    /// Somebody else wrote it.
    #[error(
        "it belongs to user {owner}, who is neither you (user {caller}) nor root; copy it, or start \
         from a directory of your own"
    )]
    ForeignOwner {
        /// Whose it is.
        owner: u32,
        /// Who asks.
        caller: u32,
    },
    /// The kernel refused to open or read it.
    #[error("{call} failed")]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// The kernel's answer.
        source: Errno,
    },
}

impl PolicyFile {
    /// The policy file of the project at `directory`, if it has one.
    ///
    /// A link is followed only inside the directory: otherwise a project could have any file of the
    /// user parsed, and quoted in an error message.
    pub fn in_project(directory: &HostPath) -> Result<Option<Self>, PolicyFileError> {
        let Ok(path) = directory.join(PROJECT_FILE_NAME) else {
            // The file's path would be longer than the kernel takes: it cannot exist.
            return Ok(None);
        };
        let in_directory = match rustix::fs::open(
            directory.as_path(),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            Ok(opened) => opened,
            Err(source) => return Err(kernel(&path, "open", source)),
        };
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let opened =
            rustix::fs::openat2(&in_directory, PROJECT_FILE_NAME, READ, Mode::empty(), beneath);
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT) if !is_link(&in_directory) => return Ok(None),
            // A directory further up that this user may not look into says nothing to this user.
            Err(Errno::ACCESS) if !is_searchable(&in_directory) => return Ok(None),
            Err(errno) => return Err(open_error(&path, errno)),
        };
        let directory_owner = match rustix::fs::fstat(&in_directory) {
            Ok(status) => status.st_uid,
            Err(source) => return Err(kernel(&path, "fstat", source)),
        };
        Self::read(path, file, Some(directory_owner)).map(Some)
    }

    /// The user's own configuration, if there is one. Links are followed: it is the user's choice
    /// where to keep it.
    pub fn of_user(path: &HostPath) -> Result<Option<Self>, PolicyFileError> {
        let resolve = ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, path.as_path(), READ, Mode::empty(), resolve) {
            Ok(file) => Self::read(path.clone(), file, None).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(open_error(path, errno)),
        }
    }

    fn read(
        path: HostPath,
        file: OwnedFd,
        directory_owner: Option<u32>,
    ) -> Result<Self, PolicyFileError> {
        let refused = |reason| PolicyFileError { path: path.clone(), reason };
        let status = rustix::fs::fstat(&file).map_err(|source| kernel(&path, "fstat", source))?;
        check_status(&status, directory_owner).map_err(refused)?;
        // Read at once, unless it grows meanwhile.
        let size = u64::try_from(status.st_size).unwrap_or(0).min(MAX_POLICY_FILE_BYTES);
        let mut bytes = Vec::with_capacity(usize::try_from(size).map_or(0, |size| size + 1));
        std::fs::File::from(file).take(MAX_POLICY_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(
            |error| kernel(&path, "read", Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        )?;
        let length = bytes.len() as u64;
        if length > MAX_POLICY_FILE_BYTES {
            return Err(refused(PolicyFileReason::TooLarge { bytes: length }));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid =
                error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            refused(PolicyFileReason::NotText { line })
        })?;
        Ok(Self { path, text })
    }
}

/// What can be told before a byte is read.
fn check_status(status: &Stat, directory_owner: Option<u32>) -> Result<(), PolicyFileReason> {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(PolicyFileReason::IsADirectory),
        _ => return Err(PolicyFileReason::NotARegularFile),
    }
    if status.st_mode & 0o002 != 0 {
        return Err(PolicyFileReason::WritableByEveryone);
    }
    let caller = rustix::process::geteuid().as_raw();
    // Root may work in the project of the user who owns both the directory and the file in it. In
    // a directory that everybody may write to, such as `/tmp`, the two differ.
    let of_project = caller == 0 && directory_owner == Some(status.st_uid);
    let is_foreign = ![caller, 0].contains(&status.st_uid) && !of_project;
    if is_foreign && walls::stands(Wall::PolicyOwner) {
        return Err(PolicyFileReason::ForeignOwner { owner: status.st_uid, caller });
    }
    let bytes = u64::try_from(status.st_size).unwrap_or(u64::MAX);
    if bytes > MAX_POLICY_FILE_BYTES {
        return Err(PolicyFileReason::TooLarge { bytes });
    }
    Ok(())
}

fn open_error(path: &HostPath, errno: Errno) -> PolicyFileError {
    let reason = match errno {
        Errno::XDEV => PolicyFileReason::LinkLeavesDirectory,
        Errno::NOENT | Errno::LOOP => PolicyFileReason::BrokenLink,
        // A socket.
        Errno::NXIO => PolicyFileReason::NotARegularFile,
        source => PolicyFileReason::Kernel { call: "open", source },
    };
    PolicyFileError { path: path.clone(), reason }
}

fn kernel(path: &HostPath, call: &'static str, source: Errno) -> PolicyFileError {
    PolicyFileError { path: path.clone(), reason: PolicyFileReason::Kernel { call, source } }
}

fn is_link(directory: &OwnedFd) -> bool {
    rustix::fs::readlinkat(directory, PROJECT_FILE_NAME, Vec::new()).is_ok()
}

fn is_searchable(directory: &OwnedFd) -> bool {
    let status = rustix::fs::statat(directory, PROJECT_FILE_NAME, AtFlags::SYMLINK_NOFOLLOW);
    !matches!(status, Err(Errno::ACCESS))
}

/// NONBLOCK: opening a FIFO must not wait for its other end.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
