//! A file system as a program sees it: the system calls about files, by path or by open file, for any caller. It walks,
//! judges by [`crate::rules`] in the order in which Linux does, and lets the engine act.

use std::sync::Arc;

use rustix::io::Errno;

use crate::attributes::{Attributes, Kind, Space};
use crate::caller::Caller;
use crate::engine::{Engine, Inode};
use crate::error::Result;
use crate::limits::Limits;
use crate::rules::{self, Wish};
use crate::walker::{Follow, Ground, Held, Outside, Walker};

mod change;
mod names;
mod open;
mod trusted;
mod xattrs;

pub use change::{Owner, Times};
pub use names::{Existing, Removal};
pub use open::{OpenFile, OpenFlags, SeekTo};
pub use trusted::{Batch, Done, ListedName};

/// One file system, with one root. Two of them share nothing but an engine that both were given. A10
#[derive(Clone, Debug)]
pub struct FileSystem {
    engine: Arc<dyn Engine>,
    root: Inode,
    max_io: usize,
    max_depth: u64,
}

/// Where a path begins that has no slash in front.
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    /// The root.
    Root,
    /// An open directory.
    Directory(&'a OpenFile),
    /// An open directory that the path must not leave, as with `RESOLVE_BENEATH`: neither by a slash in front nor by
    /// `..` or a link. From the root itself, links that begin with a slash lead nowhere else and are followed.
    Beneath(&'a OpenFile),
    /// An open file or directory is what is meant, as with `AT_EMPTY_PATH`: the path is not looked at.
    Itself(&'a OpenFile),
}

impl FileSystem {
    /// Over an engine, from its root on.
    pub fn new(engine: Arc<dyn Engine>, limits: &Limits) -> Self {
        let root = engine.root();
        let max_io = usize::try_from(limits.max_io_bytes).unwrap_or(usize::MAX).max(1);
        Self { engine, root, max_io, max_depth: limits.max_depth }
    }

    /// What it is made of.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// `stat` and `lstat`.
    pub fn stat(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        follow: Follow,
    ) -> Result<Attributes> {
        Ok(*self.find(caller, at, path, follow)?.attributes())
    }

    /// `access`: whether a program may do all of it.
    pub fn access(&self, caller: &Caller, at: At<'_>, path: &[u8], wish: Wish) -> Result<()> {
        rules::may(caller, self.find(caller, at, path, Follow::Yes)?.attributes(), wish)
    }

    /// `readlink`.
    pub fn read_link(&self, caller: &Caller, at: At<'_>, path: &[u8]) -> Result<Vec<u8>> {
        let found = self.find(caller, at, path, Follow::No)?;
        if !found.is(Kind::Link) {
            return Err(Errno::INVAL.into());
        }
        self.engine.read_link(caller, found.inode())
    }

    /// `statfs`.
    pub fn space(&self, caller: &Caller, at: At<'_>, path: &[u8]) -> Result<Space> {
        self.engine.space(self.find(caller, at, path, Follow::Yes)?.inode())
    }

    fn walker<'a>(&'a self, caller: &'a Caller, at: At<'_>, path: &'a [u8]) -> Result<Walker<'a>> {
        let (root, start, outside) = match at {
            At::Root => (self.root, self.root, Outside::Clamped),
            At::Directory(directory) | At::Itself(directory) => {
                (self.root, directory.inode(), Outside::Clamped)
            }
            At::Beneath(directory) if directory.inode() == self.root => {
                (self.root, self.root, Outside::RefusedButLinks)
            }
            At::Beneath(directory) => (directory.inode(), directory.inode(), Outside::Refused),
        };
        let engine = &*self.engine;
        let ground = Ground { engine, caller, root, start, outside, most_names: self.max_depth };
        Walker::new(ground, path)
    }

    fn find<'a>(
        &'a self,
        caller: &'a Caller,
        at: At<'_>,
        path: &'a [u8],
        follow: Follow,
    ) -> Result<Held<'a>> {
        if let At::Itself(file) = at {
            return Held::borrowed(&*self.engine, caller, file.inode());
        }
        self.walker(caller, at, path)?.end(follow)
    }
}

/// Judges and acts again as long as what was judged is replaced meanwhile.
fn until_judged<T>(mut act: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..MOST_TRIES {
        match act() {
            Err(error) if error.errno == Errno::STALE => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN.into())
}

const MOST_TRIES: u32 = 1000;
