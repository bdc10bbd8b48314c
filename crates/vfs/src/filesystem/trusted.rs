//! The trusted side's way in: whole files, listings and removals in one call each, through the same walk and the same
//! engine as a guest's. A9

use rustix::io::Errno;

use super::{At, FileSystem, OpenFile, OpenFlags, Removal};
use crate::attributes::{Attributes, Kind};
use crate::caller::Caller;
use crate::engine::New;
use crate::error::{Error, Result};
use crate::limits::Setting;
use crate::walker::Follow;

/// One name of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedName {
    /// The name.
    pub name: Vec<u8>,
    /// What it leads to.
    pub kind: Kind,
    /// The number of that.
    pub number: u64,
}

/// One of several things to be done together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// [`FileSystem::read_file`]
    Read(Vec<u8>),
    /// [`FileSystem::write_file`], with its contents.
    Write(Vec<u8>, Vec<u8>),
    /// [`FileSystem::stat`], of a link itself.
    Stat(Vec<u8>),
    /// [`FileSystem::list`]
    List(Vec<u8>),
    /// [`FileSystem::remove_tree`]
    Remove(Vec<u8>),
    /// [`FileSystem::make_directories`]
    MakeDirectories(Vec<u8>),
}

/// What came of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was done.
    Nothing,
    /// The contents of a file.
    Contents(Vec<u8>),
    /// What is known of it.
    Attributes(Attributes),
    /// What is in it.
    Names(Vec<ListedName>),
}

impl OpenFile {
    /// The contents of a file, from where it was read to, if they are at most this long; else `EFBIG`.
    pub fn contents(&self, caller: &Caller, most: u64) -> Result<Vec<u8>> {
        let attributes = self.attributes(caller)?;
        if attributes.kind == Kind::Directory {
            return Err(Errno::ISDIR.into());
        }
        let too_big = Error::of_setting(Errno::FBIG, Setting::IoBytes);
        if attributes.size > most {
            return Err(too_big);
        }
        let mut contents = Vec::new();
        // What it is said to have and its end, at once if that is little.
        let mut piece =
            usize::try_from(attributes.size).map_or(READ_BYTES, |size| (size + 1).min(READ_BYTES));
        loop {
            let from = contents.len();
            contents.resize(from + piece, 0);
            let count = self.read(contents.get_mut(from..).unwrap_or_default())?;
            contents.truncate(from + count);
            if contents.len() as u64 > most {
                // It grew meanwhile.
                return Err(too_big);
            }
            let is_whole = count < piece && contents.len() as u64 == attributes.size;
            if count == 0 || is_whole {
                return Ok(contents);
            }
            piece = READ_BYTES;
        }
    }

    /// The names in a directory, but for `.` and `..`.
    pub fn names(&self) -> Result<Vec<ListedName>> {
        let mut names = Vec::new();
        self.list(|listed| {
            if !matches!(listed.name, b"." | b"..") {
                let (name, kind, number) = (listed.name.to_vec(), listed.kind, listed.number);
                names.push(ListedName { name, kind, number });
            }
            true
        })?;
        Ok(names)
    }
}

impl FileSystem {
    /// The contents of a file, if they are at most this long; else `EFBIG`.
    pub fn read_file(&self, caller: &Caller, path: &[u8], most: u64) -> Result<Vec<u8>> {
        self.open(caller, At::Root, path, OpenFlags::READ, 0)?.contents(caller, most)
    }

    /// Makes a file that holds this, in place of what it held. Its directory must be there.
    pub fn write_file(&self, caller: &Caller, path: &[u8], contents: &[u8]) -> Result<()> {
        let flags = OpenFlags { create: true, truncate: true, ..OpenFlags::WRITE };
        let file = self.open(caller, At::Root, path, flags, 0o666)?;
        let mut left = contents;
        while !left.is_empty() {
            let count = file.write(caller, left)?;
            left = left.get(count..).unwrap_or_default();
        }
        file.close(caller)
    }

    /// The names in a directory, but for `.` and `..`.
    pub fn list(&self, caller: &Caller, path: &[u8]) -> Result<Vec<ListedName>> {
        let flags = OpenFlags { directory: true, ..OpenFlags::READ };
        self.open(caller, At::Root, path, flags, 0)?.names()
    }

    /// Makes a directory, and those above it that are missing.
    pub fn make_directories(&self, caller: &Caller, path: &[u8]) -> Result<()> {
        let ends = path.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at > 0);
        let ends: Vec<usize> = ends.map(|(at, _)| at).chain([path.len()]).collect();
        for end in ends {
            let part = path.get(..end).unwrap_or_default();
            match self.make(caller, At::Root, part, New::Directory, 0o777) {
                Err(error) if error.errno == Errno::EXIST => {}
                made => made?,
            }
        }
        let found = self.stat(caller, At::Root, path, Follow::Yes)?;
        if found.kind == Kind::Directory { Ok(()) } else { Err(Errno::NOTDIR.into()) }
    }

    /// Removes a file, or a directory with everything in it. A link is removed itself; nothing is reached through one.
    pub fn remove_tree(&self, caller: &Caller, path: &[u8]) -> Result<()> {
        let found = self.stat(caller, At::Root, path, Follow::No)?;
        if found.kind != Kind::Directory {
            return self.remove(caller, At::Root, path, Removal::File);
        }
        // Without recursion: a tree may be deeper than a stack.
        let mut directories = vec![path.to_vec()];
        while let Some(directory) = directories.last().cloned() {
            let mut below = None;
            for one in self.list(caller, &directory)? {
                let path = [directory.as_slice(), b"/", &one.name].concat();
                if one.kind == Kind::Directory {
                    below = Some(path);
                    break;
                }
                gone(self.remove(caller, At::Root, &path, Removal::File))?;
            }
            match below {
                Some(below) => directories.push(below),
                None => {
                    gone(self.remove(caller, At::Root, &directory, Removal::Directory))?;
                    directories.pop();
                }
            }
        }
        Ok(())
    }

    /// Does several things, one after the other. One that fails does not stop the rest.
    pub fn batch(&self, caller: &Caller, all: &[Batch], most: u64) -> Vec<Result<Done>> {
        let one = |one: &Batch| match one {
            Batch::Read(path) => self.read_file(caller, path, most).map(Done::Contents),
            Batch::Write(path, contents) => {
                self.write_file(caller, path, contents).map(|()| Done::Nothing)
            }
            Batch::Stat(path) => {
                self.stat(caller, At::Root, path, Follow::No).map(Done::Attributes)
            }
            Batch::List(path) => self.list(caller, path).map(Done::Names),
            Batch::Remove(path) => self.remove_tree(caller, path).map(|()| Done::Nothing),
            Batch::MakeDirectories(path) => {
                self.make_directories(caller, path).map(|()| Done::Nothing)
            }
        };
        all.iter().map(one).collect()
    }
}

/// What somebody else has removed meanwhile is as good as removed.
fn gone(removed: Result<()>) -> Result<()> {
    match removed {
        Err(error) if error.errno == Errno::NOENT => Ok(()),
        removed => removed,
    }
}

const READ_BYTES: usize = 256 << 10;
