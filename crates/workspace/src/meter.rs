//! How much programs have written to layers and kept homes, measured while they run. Walks a little at a time, and
//! only where the file system's own count says that it may have become too much. What is found there was made by the
//! program: nothing is followed, and nothing is changed.

use std::collections::HashSet;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

#[cfg(test)]
mod tests;

/// An amount of what is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// On the disk.
    pub bytes: u64,
    /// Files, directories and whatever else has a name.
    pub names: u64,
}

/// What a measurement said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As far as it is known there is no more than there may be.
    Within,
    /// There is so much, which is too much.
    Beyond(Amount),
}

/// Measures some directories together.
#[derive(Debug)]
pub struct Meter {
    roots: Vec<Arc<OwnedFd>>,
    most: Amount,
    /// What the file systems held when this began.
    at_start: Vec<Amount>,
    walk: Option<Walk>,
    last: Option<Pass>,
}

/// A walk that came to its end.
#[derive(Debug)]
struct Pass {
    found: Amount,
    /// What the file systems held when it began.
    held: Vec<Amount>,
    ended: Instant,
}

#[derive(Debug)]
struct Walk {
    held: Vec<Amount>,
    found: Amount,
    /// Whether there are directories that cannot be looked into.
    is_partial: bool,
    /// Files with several names that were counted.
    counted: HashSet<(u64, u64)>,
    reading: Option<Open>,
    pending: Vec<Pending>,
}

/// A directory whose names are being read.
#[derive(Debug)]
struct Open {
    directory: Arc<OwnedFd>,
    depth: usize,
}

/// A directory that is still to be looked into.
#[derive(Debug)]
struct Pending {
    above: Arc<OwnedFd>,
    name: CString,
    depth: usize,
}

impl Meter {
    /// Takes open directories, which may hold so much.
    pub fn new(roots: Vec<OwnedFd>, most: Amount) -> Self {
        let roots: Vec<_> = roots.into_iter().map(Arc::new).collect();
        let at_start = held_by(&roots);
        Self { roots, most, at_start, walk: None, last: None }
    }

    /// Measures everything, unless it takes longer than this; the rest is measured by later steps.
    pub fn measure(&mut self, longest: Duration) -> Reading {
        self.begin();
        self.go_on(longest)
    }

    /// Measures for a while, if there is something to be measured. To be called every now and then.
    pub fn step(&mut self) -> Reading {
        if self.walk.is_none() {
            if !self.may_be_beyond() {
                return Reading::Within;
            }
            self.begin();
        }
        self.go_on(STEP)
    }

    /// Whether the last walk found too little, by what the file systems hold more since.
    fn may_be_beyond(&self) -> bool {
        let Some(last) = &self.last else { return true };
        if last.ended.elapsed() >= AT_LEAST_EVERY {
            return true;
        }
        let grown = grown(&last.held, &held_by(&self.roots));
        last.found.bytes.saturating_add(grown.bytes) > self.most.bytes
            || last.found.names.saturating_add(grown.names) > self.most.names
    }

    fn begin(&mut self) {
        let whole = |root: &Arc<OwnedFd>| {
            let (above, name) = (Arc::clone(root), CString::from(c"."));
            Pending { above, name, depth: 0 }
        };
        self.walk = Some(Walk {
            held: held_by(&self.roots),
            found: Amount::default(),
            is_partial: false,
            counted: HashSet::new(),
            reading: None,
            pending: self.roots.iter().map(whole).collect(),
        });
    }

    fn go_on(&mut self, longest: Duration) -> Reading {
        let Some(walk) = &mut self.walk else { return Reading::Within };
        let began = Instant::now();
        // However short the time, every step comes further.
        let is_done = loop {
            let is_done = !walk.read_some();
            if is_done || walk.is_beyond(self.most) || began.elapsed() >= longest {
                break is_done;
            }
        };
        if walk.is_beyond(self.most) {
            let found = walk.found;
            self.walk = None;
            return Reading::Beyond(found);
        }
        if !is_done {
            return Reading::Within;
        }
        let Some(Walk { held, found, is_partial, .. }) = self.walk.take() else {
            return Reading::Within;
        };
        // What it hides from us was written since this began, or was measured then.
        let since = grown(&self.at_start, &held_by(&self.roots));
        self.last = Some(Pass { found, held, ended: Instant::now() });
        if is_partial && (since.bytes > self.most.bytes || since.names > self.most.names) {
            return Reading::Beyond(since);
        }
        Reading::Within
    }
}

impl Walk {
    fn is_beyond(&self, most: Amount) -> bool {
        self.found.bytes > most.bytes || self.found.names > most.names
    }

    /// Reads the next names. Returns whether there may be more.
    fn read_some(&mut self) -> bool {
        let Some(open) = self.reading.take().or_else(|| self.open_next()) else {
            return !self.pending.is_empty();
        };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut entries = RawDir::new(open.directory.as_fd(), &mut buffer);
        // As many as the kernel gives at once: it goes on after them the next time.
        loop {
            match entries.next() {
                None => return true,
                Some(Err(_)) => {
                    self.is_partial = true;
                    return true;
                }
                Some(Ok(entry)) => {
                    let name = entry.file_name();
                    if !matches!(name.to_bytes(), b"." | b"..") {
                        self.count(&open, name.to_owned());
                    }
                }
            }
            if entries.is_buffer_empty() {
                break;
            }
        }
        self.reading = Some(open);
        true
    }

    fn open_next(&mut self) -> Option<Open> {
        let Pending { above, name, depth } = self.pending.pop()?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat2(&*above, &name, flags, Mode::empty(), resolve) {
            Ok(directory) => Some(Open { directory: Arc::new(directory), depth }),
            // Removed or replaced meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(_) => {
                self.is_partial = true;
                None
            }
        }
    }

    fn count(&mut self, open: &Open, name: CString) {
        let look = rustix::fs::statat(&*open.directory, &name, AtFlags::SYMLINK_NOFOLLOW);
        let Ok(status) = look else { return };
        self.found.names = self.found.names.saturating_add(1);
        let is_directory = FileType::from_raw_mode(status.st_mode) == FileType::Directory;
        let is_new = is_directory
            || status.st_nlink < 2
            || self.counted.insert((status.st_dev, status.st_ino));
        if is_new {
            let bytes = u64::try_from(status.st_blocks).unwrap_or_default().saturating_mul(512);
            self.found.bytes = self.found.bytes.saturating_add(bytes);
        }
        if is_directory && open.depth >= MOST_DEPTH {
            self.is_partial = true;
        } else if is_directory {
            let (above, depth) = (Arc::clone(&open.directory), open.depth + 1);
            self.pending.push(Pending { above, name, depth });
        }
    }
}

/// What the file systems of some directories hold, each by itself.
fn held_by(roots: &[Arc<OwnedFd>]) -> Vec<Amount> {
    let held = |root: &Arc<OwnedFd>| match rustix::fs::fstatvfs(&**root) {
        Ok(status) => Amount {
            bytes: status.f_blocks.saturating_sub(status.f_bfree).saturating_mul(status.f_frsize),
            names: status.f_files.saturating_sub(status.f_ffree),
        },
        Err(_) => Amount::default(),
    };
    roots.iter().map(held).collect()
}

/// How much they have grown together. Several on one file system count it as often, which has them measured sooner.
fn grown(before: &[Amount], now: &[Amount]) -> Amount {
    let each = before.iter().zip(now);
    each.fold(Amount::default(), |most, (before, now)| Amount {
        bytes: most.bytes.saturating_add(now.bytes.saturating_sub(before.bytes)),
        names: most.names.saturating_add(now.names.saturating_sub(before.names)),
    })
}

/// How long one step takes, at most by a directory's next names.
const STEP: Duration = Duration::from_millis(30);

/// How long nothing is measured where the file system has not grown: others may have freed as much as was written.
const AT_LEAST_EVERY: Duration = Duration::from_secs(15);

/// Each level of a tree may take a descriptor.
const MOST_DEPTH: usize = 128;

const BUFFER: usize = 16 * 1024;
