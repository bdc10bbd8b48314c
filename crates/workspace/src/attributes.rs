//! Extended attributes: the marks by which overlayfs says what an object of the upper layer stands for, and the
//! user's own, which are carried over. Every other kind (capabilities, access lists, labels) stays where it is.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use plan::ByteString;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::failpoint;

/// Which attributes overlayfs was mounted to use. Those of the other kind are the program's own and mean nothing:
/// it could forge them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// `user.overlay.*` (mount option `userxattr`).
    User,
    /// `trusted.overlay.*`, which only root can read.
    Trusted,
}

/// What overlayfs has noted on an object of the upper layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The host's directory of this name is hidden.
    pub(crate) opaque: bool,
    /// The content is elsewhere, by a path that whoever wrote the mark chose.
    pub(crate) redirect: bool,
    /// The content is the host's; only metadata is here.
    pub(crate) metacopy: bool,
    /// Stands for a name that was deleted.
    pub(crate) whiteout: bool,
    /// Copied from the host, and not made by the program.
    pub(crate) origin: bool,
}

/// Attributes of the user's own, by name.
pub(crate) type UserAttributes = BTreeMap<ByteString, ByteString>;

impl Marking {
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::User => b"user.overlay.",
            Self::Trusted => b"trusted.overlay.",
        }
    }

    fn opaque(self) -> &'static str {
        match self {
            Self::User => "user.overlay.opaque",
            Self::Trusted => "trusted.overlay.opaque",
        }
    }

    /// The marks on a name in an open directory.
    pub(crate) fn read(self, directory: BorrowedFd<'_>, name: &[u8]) -> Result<Marks, Errno> {
        let path = path_of(directory, name);
        let mut marks = Marks::default();
        for attribute in listed(&path)? {
            match attribute.strip_prefix(self.prefix()) {
                Some(b"opaque") => marks.opaque = value(&path, &attribute)? == b"y",
                Some(b"redirect") => marks.redirect = true,
                Some(b"metacopy") => marks.metacopy = true,
                Some(b"whiteout") => marks.whiteout = true,
                Some(b"origin") => marks.origin = true,
                _ => {}
            }
        }
        Ok(marks)
    }

    pub(crate) fn set_opaque(self, directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        failpoint::reached()?;
        let path = path_of(directory, name);
        rustix::fs::lsetxattr(path.as_slice(), self.opaque(), b"y", XattrFlags::empty())
    }

    pub(crate) fn clear_opaque(self, directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        failpoint::reached()?;
        let path = path_of(directory, name);
        match rustix::fs::lremovexattr(path.as_slice(), self.opaque()) {
            Err(Errno::NODATA) => Ok(()),
            other => other,
        }
    }
}

/// The user's own attributes of a name in an open directory, without any that overlayfs could understand; none
/// where the file system has no such attributes.
pub(crate) fn user_attributes(
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<Option<UserAttributes>, Errno> {
    let path = path_of(directory, name);
    let mut found = UserAttributes::new();
    let mut bytes = 0_usize;
    let listed = match listed(&path) {
        Err(Errno::OPNOTSUPP) => return Ok(None),
        other => other?,
    };
    for attribute in listed {
        if !attribute.starts_with(b"user.") || attribute.starts_with(Marking::User.prefix()) {
            continue;
        }
        let value = match value(&path, &attribute) {
            // Removed meanwhile.
            Err(Errno::NODATA) => continue,
            other => other?,
        };
        bytes = bytes.saturating_add(attribute.len() + value.len());
        if bytes > MOST_BYTES {
            return Err(Errno::TOOBIG);
        }
        found.insert(attribute.into(), value.into());
    }
    Ok(Some(found))
}

/// Gives an open file or directory these attributes of the user's own and no others. A file system without them
/// loses nothing that it could have had.
pub(crate) fn set_user_attributes(
    object: impl AsFd,
    before: &UserAttributes,
    after: &UserAttributes,
) -> Result<(), Errno> {
    let object = object.as_fd();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        failpoint::reached()?;
        match rustix::fs::fremovexattr(object, name.as_bytes()) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno),
        }
    }
    for (name, value) in after.iter().filter(|(name, value)| before.get(name) != Some(value)) {
        failpoint::reached()?;
        match rustix::fs::fsetxattr(object, name.as_bytes(), value.as_bytes(), XattrFlags::empty())
        {
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// A name in an open directory, for calls that take no descriptor. The last step is not followed by them, and the
/// first leads to that very directory.
pub(crate) fn path_of(directory: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    path
}

fn listed(path: &[u8]) -> Result<Vec<Vec<u8>>, Errno> {
    let mut short = [0; 512];
    let mut long = Vec::new();
    let list = match rustix::fs::llistxattr(path, &mut short) {
        Ok(length) => short.get(..length),
        Err(Errno::RANGE) => {
            long.resize(LONGEST, 0);
            let length = rustix::fs::llistxattr(path, long.as_mut_slice())?;
            long.get(..length)
        }
        Err(errno) => return Err(errno),
    };
    let names = list.unwrap_or_default().split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

fn value(path: &[u8], name: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 256];
    let length = match rustix::fs::lgetxattr(path, name, value.as_mut_slice()) {
        Err(Errno::RANGE) => {
            value.resize(LONGEST, 0);
            rustix::fs::lgetxattr(path, name, value.as_mut_slice())?
        }
        other => other?,
    };
    value.truncate(length);
    Ok(value)
}

/// The longest list of names and the longest value that the kernel knows.
const LONGEST: usize = 65_536;

/// What the attributes of one object may take.
const MOST_BYTES: usize = 256 * 1024;
