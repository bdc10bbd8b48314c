//! A log that is read: a directory, or one file that was exported from one. What is read is the log
//! as it was at one moment, even while others write to it. Trusts nothing that it finds.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::directory::{Directory, LOCK_FILE, file_name, number_of};
use crate::error::AuditError;
use crate::event::Event;
use crate::head::{Head, HeadFile, Reached};
use crate::key::{IS_GONE, Key};
use crate::lines::Part;
use crate::removal::AnchorFound;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none.
    #[error("nothing has been recorded in `{}`", .0.display())]
    NoLog(PathBuf),
    /// It cannot be opened, or a file in it.
    #[error(transparent)]
    Log(#[from] AuditError),
    /// The file is not what was exported from a log.
    #[error("`{}` is not an exported log: {why}", path.display())]
    NotAnExport {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// A log as it was at one moment.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) path: PathBuf,
    pub(crate) source: Source,
    /// Its files, in order.
    pub(crate) parts: Vec<Part>,
    pub(crate) head: HeadFound,
    pub(crate) key: KeyFound,
    /// What was removed before the first of its files.
    pub(crate) removed: AnchorFound,
    /// Files that are stated as removed and still there: whoever removed them was cut short.
    pub(crate) left_over: Vec<u32>,
}

/// Where a log is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A directory that may be written to: records are there before the head states them.
    Directory,
    /// A file that was exported: it ends with the record that its head states.
    Export {
        /// How many bytes are behind the last file that its header names.
        trailing: u64,
    },
}

/// What was found of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeadFound {
    /// Nothing.
    Absent,
    /// Something that is not a head.
    Unreadable,
    /// A head, genuine or not.
    Stated(Head),
}

/// What was found of the key that lies beside a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyFound {
    /// Nobody expects to see it: in an export, or in the log of somebody else.
    Hidden,
    /// Nothing.
    Absent,
    /// Something that is not a key.
    Unusable,
    /// A key; this is its public half.
    Public(String),
}

impl KeyFound {
    fn of(directory: &Directory) -> Self {
        match Key::load(directory) {
            Ok(key) => Self::Public(key.public()),
            Err(AuditError::Key { problem: IS_GONE, .. }) => Self::Absent,
            Err(AuditError::Kernel { source: Errno::ACCESS | Errno::PERM, .. }) => Self::Hidden,
            Err(_) => Self::Unusable,
        }
    }
}

/// The first line of an exported log. The files follow as they are, one behind the other.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportHeader {
    pub(crate) stockade_audit_export: u32,
    pub(crate) head: Head,
    /// The record of what was removed before the first file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<Event>,
    pub(crate) files: Vec<ExportedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

impl Archive {
    /// Lets go of everything behind the record that a head states.
    pub(crate) fn cut_at(&mut self, reached: &Reached) {
        self.parts.retain(|part| part.number <= reached.file);
        if let Some(last) = self.parts.last_mut().filter(|part| part.number == reached.file) {
            last.length = last.length.min(reached.offset);
        }
    }

    /// Whether every file is there with something in it, and the last is as long as a head states.
    pub(crate) fn reaches(&self, reached: &Reached) -> bool {
        let is_there = |(number, part): (u32, &Part)| part.number == number && part.length > 0;
        let all_there = (self.first_number()..).zip(&self.parts).all(is_there);
        let last = self.parts.last();
        all_there
            && last.is_some_and(|last| (last.number, last.length) == (reached.file, reached.offset))
    }

    /// The number of the first file that must be there.
    pub(crate) fn first_number(&self) -> u32 {
        self.removed.stated().map_or(1, |stated| stated.removal.last_file + 1)
    }

    /// Opens a directory, or an exported file.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        if path.is_file() { Self::of_export(path) } else { Self::of_directory(path) }
    }

    /// Opens a directory.
    pub(crate) fn of_directory(path: &Path) -> Result<Self, ReadError> {
        let directory = match Directory::open_to_read(path) {
            Err(AuditError::Kernel { call: "open", source: Errno::NOENT, .. }) => {
                return Err(ReadError::NoLog(path.to_owned()));
            }
            opened => opened?,
        };
        // A copy of a log has no lock, and whoever may only read it may not open it.
        let lock = directory.file_if_any(LOCK_FILE, OFlags::RDONLY).ok().flatten();
        let locked = match &lock {
            Some(lock) => Some(directory.lock(lock, FlockOperation::NonBlockingLockShared)?),
            None => None,
        };
        let head = match HeadFile::open(&directory, OFlags::RDONLY)? {
            None => HeadFound::Absent,
            Some(file) => match file.read(&directory)?.head {
                None => HeadFound::Unreadable,
                Some(head) => HeadFound::Stated(head),
            },
        };
        let removed = AnchorFound::of(&directory)?;
        let gone = removed.stated().filter(|stated| stated.is_genuine());
        let gone = gone.map_or(0, |stated| stated.removal.last_file);
        let (left_over, numbers): (Vec<u32>, Vec<u32>) =
            directory.numbers()?.into_iter().partition(|number| *number <= gone);
        let parts: Result<Vec<Part>, AuditError> =
            numbers.iter().map(|number| part_of(&directory, *number)).collect();
        let parts = parts?;
        drop(locked);
        if parts.is_empty() && head == HeadFound::Absent && removed == AnchorFound::Absent {
            return Err(ReadError::NoLog(path.to_owned()));
        }
        let (source, key) = (Source::Directory, KeyFound::of(&directory));
        Ok(Self { path: path.to_owned(), source, parts, head, key, removed, left_over })
    }

    /// Opens an exported file.
    fn of_export(path: &Path) -> Result<Self, ReadError> {
        let kernel = |call: &'static str| {
            move |error: std::io::Error| AuditError::Kernel {
                call,
                path: path.to_owned(),
                source: Errno::from_io_error(&error).unwrap_or(Errno::IO),
            }
        };
        let not_one = |why: String| ReadError::NotAnExport { path: path.to_owned(), why };
        let file = File::open(path).map_err(kernel("open"))?;
        let size = file.metadata().map_err(kernel("fstat"))?.len();
        let mut line = Vec::new();
        BufReader::new(&file)
            .take(LONGEST_HEADER)
            .read_until(b'\n', &mut line)
            .map_err(kernel("read"))?;
        let header: ExportHeader =
            serde_json::from_slice(&line).map_err(|_| not_one("it has no header".to_owned()))?;
        if header.stockade_audit_export != EXPORT_VERSION {
            return Err(not_one(format!("its version is {}", header.stockade_audit_export)));
        }
        let mut begin = line.len() as u64;
        let mut parts = Vec::new();
        for ExportedFile { name, bytes: length } in header.files {
            let number = number_of(&name);
            let number = number.ok_or_else(|| not_one("it names a file of no log".to_owned()))?;
            let file = OwnedFd::from(file.try_clone().map_err(kernel("dup"))?);
            // An export that was cut off is a log whose end is missing.
            let length = length.min(size.saturating_sub(begin));
            parts.push(Part { number, file, begin, length });
            begin += length;
        }
        let head = HeadFound::Stated(header.head);
        let source = Source::Export { trailing: size.saturating_sub(begin) };
        let removed = header.removed.as_ref().map_or(AnchorFound::Absent, AnchorFound::from_event);
        let (key, left_over) = (KeyFound::Hidden, Vec::new());
        Ok(Self { path: path.to_owned(), source, parts, head, key, removed, left_over })
    }
}

/// A file of a log, as long as it is now.
pub(crate) fn part_of(directory: &Directory, number: u32) -> Result<Part, AuditError> {
    let name = file_name(number);
    let file = directory.file(&name, OFlags::RDONLY)?;
    let length = length_of(directory, &file)?;
    Ok(Part { number, file, begin: 0, length })
}

/// How long a file of a log is now.
pub(crate) fn length_of(directory: &Directory, file: &OwnedFd) -> Result<u64, AuditError> {
    let status = rustix::fs::fstat(file).map_err(directory.failed("fstat", ""))?;
    Ok(u64::try_from(status.st_size).unwrap_or(0))
}

pub(crate) const EXPORT_VERSION: u32 = 1;

/// Room for the names of some hundred thousand files.
const LONGEST_HEADER: u64 = 16 * 1024 * 1024;
