//! The objects of a repository by their names: loose ones and those of packs. An object whose bytes are not what
//! its name says does not exist. Every object and all of them together are bounded; never follows a link below
//! the directory of objects, and starts nothing that a device would.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use plan::HostPath;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use sha1::{Digest as _, Sha1};

use super::packs::Pack;
use crate::protected_names::git::resolve;

#[cfg(test)]
mod tests;

/// The name of an object: the hash of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(super) [u8; ID_BYTES]);

/// What kind of object it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

/// An object's kind and its bytes.
pub(super) type Object = (Kind, Rc<[u8]>);

/// The store of one repository.
#[derive(Debug)]
pub(super) struct Objects {
    /// Its own directory of objects, and those that it borrows from.
    directories: Vec<OwnedFd>,
    packs: Vec<Pack>,
    known: HashMap<Id, Option<Object>>,
    known_bytes: usize,
    /// How much may still be read in all.
    bytes_left: usize,
}

impl Id {
    /// From its text.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (pairs, rest) = text.as_chunks::<2>();
        if pairs.len() != ID_BYTES || !rest.is_empty() {
            return None;
        }
        let mut bytes = [0; ID_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// From its bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// Its text.
    pub fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As much of its text as people use.
    pub fn short(&self) -> String {
        self.text().chars().take(SHORT).collect()
    }
}

/// The name that the contents of a file would have.
pub fn hash_blob(contents: &[u8]) -> Id {
    hash(Kind::Blob, contents)
}

impl Objects {
    /// Opens the store of a repository, given by the directory that has its objects.
    pub(super) fn of(repository: &HostPath) -> Option<Self> {
        let own = repository.join("objects").ok()?;
        let mut directories = vec![open_store(&own)?];
        let borrowed = directories.first().and_then(|own| read(own, "info/alternates", MOST_LIST));
        for line in borrowed.unwrap_or_default().split(|byte| *byte == b'\n').take(MOST_BORROWED) {
            directories.extend(resolve(&own, line).and_then(|path| open_store(&path)));
        }
        let mut packs = Vec::new();
        for directory in &directories {
            packs.extend(Pack::all_in(directory));
        }
        let known = HashMap::new();
        Some(Self { directories, packs, known, known_bytes: 0, bytes_left: MOST_BYTES })
    }

    /// An object, if it is there and is what its name says.
    pub(super) fn object(&mut self, id: Id) -> Option<Object> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let found = self.loose(id).or_else(|| self.packed(id));
        let found = found.filter(|(kind, bytes)| hash(*kind, bytes) == id);
        let length = found.as_ref().map_or(0, |(_, bytes)| bytes.len());
        self.bytes_left = self.bytes_left.saturating_sub(length);
        if self.known_bytes > MOST_KNOWN_BYTES {
            self.known.clear();
            self.known_bytes = 0;
        }
        self.known_bytes += length + ID_BYTES;
        self.known.insert(id, found.clone());
        found
    }

    /// The tree of a commit, its parents and its date; a tag stands for what it names.
    pub(super) fn commit(&mut self, id: Id) -> Option<Commit> {
        let mut id = id;
        for _ in 0..MOST_TAGS {
            let (kind, bytes) = self.object(id)?;
            match kind {
                Kind::Commit => return Commit::parse(id, &bytes),
                Kind::Tag => id = Id::parse(first_line(&bytes)?.strip_prefix(b"object ")?)?,
                Kind::Tree | Kind::Blob => return None,
            }
        }
        None
    }

    /// What a tree holds by a path, if anything.
    pub(super) fn entry_at(
        &mut self,
        tree: Id,
        path: &[u8],
    ) -> Result<Option<TreeEntry>, Unreadable> {
        let mut tree = tree;
        let mut names = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let Some((Kind::Tree, bytes)) = self.object(tree) else { return Err(Unreadable) };
            let Some(entry) = entries(&bytes).find(|entry| entry.name == name) else { break };
            let found = TreeEntry { mode: entry.mode, id: entry.id };
            if names.peek().is_none() {
                return Ok(Some(found));
            }
            if !found.is_tree() {
                break;
            }
            tree = found.id;
        }
        Ok(None)
    }

    fn loose(&self, id: Id) -> Option<Object> {
        let text = id.text();
        let (directory, name) = text.split_at_checked(2)?;
        let path = format!("{directory}/{name}");
        let room = MOST_OBJECT_BYTES.min(self.bytes_left);
        let bytes = self.directories.iter().find_map(|store| read(store, &path, room))?;
        let bytes = inflate(&bytes, room)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (header, contents) = (bytes.get(..end)?, bytes.get(end + 1..)?);
        let (kind, length) = std::str::from_utf8(header).ok()?.split_once(' ')?;
        let kind = match kind {
            "commit" => Kind::Commit,
            "tree" => Kind::Tree,
            "blob" => Kind::Blob,
            "tag" => Kind::Tag,
            _ => return None,
        };
        (length.parse() == Ok(contents.len())).then(|| (kind, contents.into()))
    }

    fn packed(&mut self, id: Id) -> Option<Object> {
        let room = MOST_OBJECT_BYTES.min(self.bytes_left);
        for position in 0..self.packs.len() {
            let Some(offset) = self.packs.get(position).and_then(|pack| pack.find(id)) else {
                continue;
            };
            // A base that is not in this pack is looked for in the others.
            let pack = self.packs.get_mut(position).map(std::mem::take)?;
            let (pack, found) = pack.read(offset, room, &mut |base| self.object(base));
            if let Some(place) = self.packs.get_mut(position) {
                *place = pack;
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// An object is missing, too large or not what its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// What of a commit is of interest.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) id: Id,
    pub(super) tree: Id,
    pub(super) parents: Vec<Id>,
    /// In seconds, as the commit itself says.
    pub(super) date: i64,
}

impl Commit {
    fn parse(id: Id, bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let tree = Id::parse(lines.next()?.strip_prefix(b"tree ")?)?;
        let (mut parents, mut date) = (Vec::new(), 0);
        for line in lines.take_while(|line| !line.is_empty()) {
            if let Some(parent) = line.strip_prefix(b"parent ") {
                parents.push(Id::parse(parent)?);
            } else if line.starts_with(b"committer ") {
                let mut words = line.rsplit(|byte| *byte == b' ');
                let seconds = words.nth(1).and_then(|word| std::str::from_utf8(word).ok());
                date = seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
            }
        }
        Some(Self { id, tree, parents, date })
    }
}

/// What a tree says of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: u32,
    pub(super) id: Id,
}

impl TreeEntry {
    pub(super) fn is_tree(self) -> bool {
        self.mode & TYPE == 0o040_000
    }

    pub(super) fn is_link(self) -> bool {
        self.mode & TYPE == 0o120_000
    }

    pub(super) fn is_file(self) -> bool {
        self.mode & TYPE == 0o100_000
    }
}

/// A name in a tree, with what it says of it.
pub(super) struct NamedEntry<'a> {
    pub(super) name: &'a [u8],
    pub(super) mode: u32,
    pub(super) id: Id,
}

/// The names in a tree, in its order, up to the first that cannot be read.
pub(super) fn entries(tree: &[u8]) -> impl Iterator<Item = NamedEntry<'_>> {
    let mut rest = tree;
    std::iter::from_fn(move || {
        let space = rest.iter().position(|byte| *byte == b' ')?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let mode = std::str::from_utf8(rest.get(..space)?).ok()?;
        let name = rest.get(space + 1..end)?;
        let id = Id::of_bytes(rest.get(end + 1..end + 1 + ID_BYTES)?)?;
        rest = rest.get(end + 1 + ID_BYTES..)?;
        Some(NamedEntry { name, mode: u32::from_str_radix(mode, 8).ok()?, id })
    })
}

fn hash(kind: Kind, bytes: &[u8]) -> Id {
    let kind = match kind {
        Kind::Commit => "commit",
        Kind::Tree => "tree",
        Kind::Blob => "blob",
        Kind::Tag => "tag",
    };
    let mut hasher = Sha1::new();
    hasher.update(format!("{kind} {}\0", bytes.len()));
    hasher.update(bytes);
    Id(hasher.finalize().into())
}

/// What was compressed, if it is not more than it may be.
pub(super) fn inflate(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, most).ok()
}

fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    bytes.split(|byte| *byte == b'\n').next()
}

fn open_store(path: &HostPath) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve).ok()
}

/// Opens a regular file below a directory, over no link.
pub(super) fn open_file(directory: &OwnedFd, path: &str) -> Option<(OwnedFd, u64)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let file = rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve).ok()?;
    let status = rustix::fs::fstat(&file).ok()?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    is_file.then_some((file, u64::try_from(status.st_size).ok()?))
}

/// A whole file below a directory, if it is not larger than it may be.
pub(super) fn read(directory: &OwnedFd, path: &str, most: usize) -> Option<Vec<u8>> {
    let (file, length) = open_file(directory, path)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= most)?;
    read_at(&file, 0, length)
}

/// As many bytes as are asked for, or as there are.
pub(super) fn read_at(file: &OwnedFd, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(space) = bytes.get_mut(filled..).filter(|space| !space.is_empty()) {
        match rustix::io::pread(file, space, offset + filled as u64).ok()? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Some(bytes)
}

/// The name of an object in a repository with names by SHA-1, the only ones that are read.
pub(super) const ID_BYTES: usize = 20;
const SHORT: usize = 10;
const TYPE: u32 = 0o170_000;
/// Trees of a hundred thousand names are larger than any that people work with.
const MOST_OBJECT_BYTES: usize = 8 << 20;
/// The trees of some hundred thousand commits.
const MOST_BYTES: usize = 512 << 20;
const MOST_KNOWN_BYTES: usize = 32 << 20;
const MOST_LIST: usize = 64 * 1024;
const MOST_BORROWED: usize = 8;
/// A tag can name a tag.
const MOST_TAGS: usize = 8;
