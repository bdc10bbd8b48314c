//! The marks of an overlay whose upper layer is a directory of the host: in a directory of their own beside what guests
//! reach, one directory for each that has any, with an empty file for each mark.
//!
//! A directory is known by its inode number and by when it was made, so that its marks move with it, and that another one
//! of the same number has none of them.

use std::collections::HashSet;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::listing::Ahead;
use super::{Host, Node, calls};
use crate::attributes::Kind;
use crate::engine::{Inode, Marks};
use crate::error::Result;

/// How marks are kept.
#[derive(Debug)]
pub(super) enum Marking {
    /// Beside the tree.
    Beside(MarkStore),
    /// In the tree, as the kernel's overlayfs has them.
    OfKernel,
}

/// Where marks are kept.
#[derive(Debug)]
pub(super) struct MarkStore(OwnedFd);

/// What is marked of one directory, once somebody has asked.
#[derive(Debug, Default)]
pub(super) struct Marked(Mutex<Option<HashSet<Box<[u8]>>>>);

impl MarkStore {
    pub(super) fn new(directory: OwnedFd, root: &Node) -> Result<Self> {
        place(root)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        Ok(Self(calls::open_beneath(directory.as_fd(), b".", flags)?))
    }

    /// What is kept of a directory.
    fn load(&self, node: &Node) -> Result<HashSet<Box<[u8]>>> {
        let mut marks = HashSet::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let kept = match calls::open_beneath(self.0.as_fd(), place(node)?.as_bytes(), flags) {
            Ok(kept) => kept,
            Err(error) if error.errno == Errno::NOENT => return Ok(marks),
            Err(error) => return Err(error),
        };
        Ahead::default().list(&kept, 0, &mut |listed| {
            if let Some(mark) = listed.name.strip_prefix(MARK) {
                marks.insert(mark.into());
            } else if listed.name == EMPTY {
                marks.insert(Box::default());
            }
            true
        })?;
        // A name may be as long as a file's: those have no letter in front.
        let long = calls::open_beneath(kept.as_fd(), LONG, flags);
        if let Ok(long) = long {
            Ahead::default().list(&long, 0, &mut |listed| {
                if !matches!(listed.name, b"." | b"..") {
                    marks.insert(listed.name.into());
                }
                true
            })?;
        }
        Ok(marks)
    }

    fn keep(&self, node: &Node, mark: &[u8]) -> Result<()> {
        let place = place(node)?;
        let path = file_of(&place, mark);
        let make = || {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&self.0, &path, flags, Mode::RUSR | Mode::WUSR).map(drop)
        };
        match make() {
            Err(Errno::NOENT) => {
                let all = Mode::RWXU;
                for directory in [place.clone().into_bytes(), long_of(&place)] {
                    match rustix::fs::mkdirat(&self.0, &directory, all) {
                        Err(Errno::EXIST) => {}
                        made => made?,
                    }
                }
                Ok(make()?)
            }
            made => Ok(made?),
        }
    }

    fn drop(&self, node: &Node, mark: &[u8]) -> Result<()> {
        match rustix::fs::unlinkat(&self.0, file_of(&place(node)?, mark), AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }
}

impl Host {
    fn marked<T>(
        &self,
        inode: Inode,
        act: impl FnOnce(&MarkStore, &Node, &mut HashSet<Box<[u8]>>) -> Result<T>,
    ) -> Result<T> {
        let store = self.mark_store().ok_or(Errno::OPNOTSUPP)?;
        let node = self.directory(inode)?;
        let mut marks = lock(&node.marks);
        let loaded = match &mut *marks {
            Some(loaded) => loaded,
            None => marks.insert(store.load(&node)?),
        };
        act(store, &node, loaded)
    }

    fn mark_store(&self) -> Option<&MarkStore> {
        match &self.marks {
            Some(Marking::Beside(store)) => Some(store),
            Some(Marking::OfKernel) | None => None,
        }
    }

    /// What was noted of a directory that is gone.
    pub(super) fn lose_marks(&self, node: &Node) {
        let Some(store) = self.mark_store().filter(|_| node.kind == Kind::Directory) else {
            return;
        };
        let mut marks = lock(&node.marks);
        // What cannot be removed belongs to nothing any more.
        let Ok(place) = place(node) else { return };
        let loaded = marks.take().or_else(|| store.load(node).ok()).unwrap_or_default();
        for mark in loaded {
            let _left = store.drop(node, &mark);
        }
        let _left = rustix::fs::unlinkat(&store.0, long_of(&place), AtFlags::REMOVEDIR);
        let _left = rustix::fs::unlinkat(&store.0, &place, AtFlags::REMOVEDIR);
        *marks = Some(HashSet::new());
    }
}

impl Marks for Host {
    fn has(&self, directory: Inode, mark: &[u8]) -> Result<bool> {
        if self.take_names() {
            return self.has_whiteout(directory, mark);
        }
        self.marked(directory, |_, _, marks| Ok(marks.contains(mark)))
    }

    fn set(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        if self.take_names() {
            return self.set_whiteout(directory, mark);
        }
        self.marked(directory, |store, node, marks| {
            if !marks.contains(mark) {
                store.keep(node, mark)?;
                marks.insert(mark.into());
            }
            Ok(())
        })
    }

    fn clear(&self, directory: Inode, mark: &[u8]) -> Result<()> {
        if self.take_names() {
            return self.clear_whiteout(directory, mark);
        }
        self.marked(
            directory,
            |store, node, marks| {
                if marks.remove(mark) { store.drop(node, mark) } else { Ok(()) }
            },
        )
    }

    fn all(&self, directory: Inode) -> Result<Vec<Vec<u8>>> {
        if self.take_names() {
            return self.whiteouts(directory);
        }
        self.marked(directory, |_, _, marks| Ok(marks.iter().map(|mark| mark.to_vec()).collect()))
    }

    fn any(&self, directory: Inode) -> Result<bool> {
        Ok(!self.all(directory)?.is_empty())
    }

    fn take_names(&self) -> bool {
        matches!(self.marks, Some(Marking::OfKernel))
    }

    fn note_copy(&self, file: Inode) -> Result<()> {
        if self.take_names() { self.note_origin(file) } else { Ok(()) }
    }
}

/// The directory in which the marks of another one are.
fn place(node: &Node) -> Result<String> {
    let wanted = StatxFlags::BTIME | StatxFlags::INO;
    let found = rustix::fs::statx(&node.descriptor, "", AtFlags::EMPTY_PATH, wanted)?;
    if found.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return Err(Errno::OPNOTSUPP.into());
    }
    let made = found.stx_btime;
    Ok(format!("{}-{}.{:09}", found.stx_ino, made.tv_sec, made.tv_nsec))
}

/// The file that a mark is: with a letter in front, so that none is `.` or empty, unless that makes it too long.
fn file_of(place: &str, mark: &[u8]) -> Vec<u8> {
    let place = place.as_bytes();
    match mark.len() {
        0 => [place, b"/", EMPTY].concat(),
        1..LONGEST => [place, b"/", MARK, mark].concat(),
        _ => [place, b"/", LONG, b"/", mark].concat(),
    }
}

fn long_of(place: &str) -> Vec<u8> {
    [place.as_bytes(), b"/", LONG].concat()
}

fn lock(marked: &Marked) -> MutexGuard<'_, Option<HashSet<Box<[u8]>>>> {
    marked.0.lock().unwrap_or_else(PoisonError::into_inner)
}

const MARK: &[u8] = b"m";
const EMPTY: &[u8] = b"empty";
const LONG: &[u8] = b"long";
const LONGEST: usize = 255;
