//! What of an index of Git matters to the host: repositories that it says lie in the work tree, which Git
//! asks for their state when it is asked for that of the one around them, and protected names, which
//! come back with the next checkout. Reads one file within a bound and judges by names alone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::protected::Object;
use rustix::io::Errno;

use super::git_index::{Extent, Kind, Stored, read};
use super::reader::{Reader, read_object};
use super::{Begun, ProtectedNames, git};

#[cfg(test)]
mod tests;

/// What was found in an index, by paths as they stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// Repositories of their own.
    pub gitlinks: BTreeSet<Vec<u8>>,
    /// Names that run code on the host, with the mode and the name of the object that stands for each.
    pub protected: BTreeMap<Vec<u8>, (u32, Vec<u8>)>,
    /// Why there may be more of either.
    pub unknown: Option<Unknown>,
}

/// Why not all of an index is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The rest is in another file.
    Split,
    /// It names directories as a whole.
    Sparse,
    /// It is larger than is read, or has more that matters than is kept.
    TooLarge,
    /// Git has not written it.
    Damaged,
}

impl Tracked {
    /// Reads an open index of the repository whose directory it lies in, if that many bytes are left for it.
    /// None where it is no index.
    pub fn of(
        path: &HostPath,
        object: &OwnedFd,
        bytes_left: &mut usize,
        reader: &mut Reader,
    ) -> Result<Option<Self>, Errno> {
        let Some(repository) = path.parent() else { return Ok(None) };
        let length = usize::try_from(rustix::fs::fstat(object)?.st_size).unwrap_or(usize::MAX);
        let has_magic =
            |bytes: Option<&Vec<u8>>| bytes.is_some_and(|bytes| bytes.starts_with(MAGIC));
        // What is large may be something else, and then its beginning is enough.
        if length > LARGE && !has_magic(read_object(object, MAGIC.len())?.as_ref()) {
            return Ok(None);
        }
        if length >= *bytes_left {
            return Ok(Some(Self::unknown(Unknown::TooLarge)));
        }
        let bytes = read_object(object, *bytes_left)?.filter(|bytes| has_magic(Some(bytes)));
        let Some(bytes) = bytes else { return Ok(None) };
        *bytes_left -= bytes.len();
        let names = git::object_names(&repository, reader);
        let mut tracked = Self::default();
        let mut matcher = Matcher::new();
        let mut is_full = false;
        let extent = read(&bytes, names, |path, kind, Stored { mode, name }| match kind {
            Kind::Gitlink if tracked.gitlinks.len() < MOST_KEPT => {
                tracked.gitlinks.insert(path.to_vec());
            }
            Kind::File if !matcher.is_protected(path) => {}
            Kind::File if tracked.protected.len() < MOST_KEPT => {
                tracked.protected.insert(path.to_vec(), (mode, name.to_vec()));
            }
            Kind::Directory => {}
            Kind::Gitlink | Kind::File => is_full = true,
        });
        tracked.unknown = match extent {
            Err(_) => return Ok(Some(Self::unknown(Unknown::Damaged))),
            Ok(Extent::Split) => Some(Unknown::Split),
            Ok(Extent::Sparse) => Some(Unknown::Sparse),
            Ok(Extent::Whole) => is_full.then_some(Unknown::TooLarge),
        };
        Ok(Some(tracked))
    }

    fn unknown(why: Unknown) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }
}

/// Recognises protected names among paths in an order in which neighbours have much in common.
struct Matcher {
    names: &'static ProtectedNames,
    path: Vec<u8>,
    /// The directories of `path`, as far as they were looked at.
    directories: Vec<Level>,
}

struct Level {
    /// Where its name ends in the path.
    end: usize,
    begun: Begun,
    is_protected: bool,
}

impl Matcher {
    fn new() -> Self {
        Self { names: ProtectedNames::shared(), path: Vec::new(), directories: Vec::new() }
    }

    /// What [`ProtectedNames::covering`] says.
    fn is_protected(&mut self, path: &[u8]) -> bool {
        let common = self.path.iter().zip(path).take_while(|(one, other)| one == other).count();
        self.directories.retain(|level| level.end < common);
        self.path.clear();
        self.path.extend_from_slice(path);
        let mut from = self.directories.last().map_or(0, |level| level.end + 1);
        loop {
            let last = self.directories.last();
            if last.is_some_and(|level| level.is_protected) {
                return true;
            }
            let nothing = Begun::default();
            let begun = last.map_or(&nothing, |level| &level.begun);
            let rest = path.get(from..).unwrap_or_default();
            let Some(length) = rest.iter().position(|byte| *byte == b'/') else {
                return self.names.step(begun, rest, Object::File).entry.is_some();
            };
            let name = rest.get(..length).unwrap_or_default();
            let step = self.names.step(begun, name, Object::Directory);
            let end = from + length;
            let is_protected = step.entry.is_some();
            self.directories.push(Level { end, begun: step.below, is_protected });
            from = end + 1;
        }
    }
}

const MAGIC: &[u8] = b"DIRC";
const LARGE: usize = 64 * 1024;

/// More than anybody has of either.
const MOST_KEPT: usize = 64 * 1024;
