//! Where code is kept. A file of code and the note of its digest are each written whole or not at all, the note last: code
//! without a note is not there. What is used least lately goes first when there is too much.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use state::Directory;

use crate::digits;

/// How much is kept at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The bytes of all code together.
    pub bytes: u64,
    /// How many modules.
    pub modules: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 1 << 30, modules: 256 }
    }
}

/// The two directories.
#[derive(Debug)]
pub struct Shelf {
    /// Of digests: in the state directory.
    notes: PathBuf,
    /// Of code: what a cage is shown a file of.
    code: PathBuf,
    bounds: Bounds,
}

impl Shelf {
    /// Makes the directories where they are missing.
    ///
    /// # Errors
    ///
    /// If they cannot be made.
    pub fn open(state: &Directory, cache: &Path) -> io::Result<Self> {
        let notes = state.path().as_path().join("modules");
        make(&notes, 0o700)?;
        // Root's programs act as nobody, who has to read them.
        make(&cache.join(WORKPLACE), 0o755)?;
        Ok(Self { notes, code: cache.to_owned(), bounds: Bounds::default() })
    }

    /// The same with other bounds.
    #[must_use]
    pub const fn within(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// An empty directory, for whoever compiles.
    pub(crate) fn workplace(&self) -> PathBuf {
        self.code.join(WORKPLACE)
    }

    /// Where the code is, and its digest.
    pub fn find(&self, key: &str) -> Option<(PathBuf, String)> {
        let note = self.notes.join(key);
        let digest = std::fs::read_to_string(&note).ok().filter(|digest| digest.len() == DIGITS)?;
        let path = self.code.join(key);
        if !std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        // When it was used last. It is found without that too.
        let _untouched = File::open(&note).and_then(|note| note.set_modified(SystemTime::now()));
        Some((path, digest))
    }

    /// Keeps code that has just been compiled, and forgets what there is no room for any more.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or is larger than everything may be.
    pub fn keep(&self, key: &str, code: &[u8]) -> io::Result<(PathBuf, String)> {
        self.make_room(u64::try_from(code.len()).unwrap_or(u64::MAX))?;
        let digest = digits(&Sha256::digest(code));
        write(&self.code, key, code, 0o644)?;
        write(&self.notes, key, digest.as_bytes(), 0o600)?;
        Ok((self.code.join(key), digest))
    }

    /// Removes the notes that were not used for the longest time, and the code that has none.
    fn make_room(&self, more: u64) -> io::Result<()> {
        if more > self.bounds.bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut noted = Vec::new();
        for entry in std::fs::read_dir(&self.notes)? {
            let entry = entry?;
            let used = entry.metadata()?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let size = std::fs::symlink_metadata(self.code.join(entry.file_name()));
            noted.push((used, entry.file_name(), size.map_or(0, |code| code.len())));
        }
        noted.sort_by(|one, other| other.cmp(one));
        let (mut bytes, mut modules) = (more, 1);
        for (_, name, size) in noted {
            (bytes, modules) = (bytes.saturating_add(size), modules + 1);
            if bytes > self.bounds.bytes || modules > self.bounds.modules {
                remove(&self.notes.join(&name))?;
                remove(&self.code.join(&name))?;
            }
        }
        for entry in std::fs::read_dir(&self.code)? {
            let entry = entry?;
            let is_left = entry.metadata()?.is_file()
                && !self.notes.join(entry.file_name()).exists()
                && entry.metadata()?.modified()?.elapsed().is_ok_and(|age| age > STILL_WRITTEN);
            if is_left {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Somebody else may have removed it meanwhile.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// Under its name it is there whole, or not at all.
fn write(directory: &Path, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let unfinished = directory.join(format!("{name}.{}", std::process::id()));
    let written = || {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(mode).open(&unfinished)?;
        file.write_all(bytes)?;
        std::fs::rename(&unfinished, directory.join(name))
    };
    written().inspect_err(|_| {
        // It is in nobody's way: without a note it is removed one day.
        let _left = std::fs::remove_file(&unfinished);
    })
}

const WORKPLACE: &str = "workplace";
const DIGITS: usize = 64;
/// Code without a note that is younger may be about to get one.
const STILL_WRITTEN: std::time::Duration = std::time::Duration::from_secs(3600);
