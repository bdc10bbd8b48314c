//! Extended attributes, within the bounds that the kernel has for them.

use rustix::io::Errno;

use super::{At, FileSystem};
use crate::caller::Caller;
use crate::engine::SetXattr;
use crate::error::Result;
use crate::rules::{self, Wish};
use crate::walker::Follow;

impl FileSystem {
    /// `getxattr` and `lgetxattr`.
    pub fn xattr(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        follow: Follow,
        name: &[u8],
    ) -> Result<Vec<u8>> {
        check_name(name)?;
        let found = self.find(caller, at, path, follow)?;
        rules::may_xattr(caller, found.attributes(), name, Wish::READ)?;
        check_suffix(name)?;
        self.engine.xattr(caller, found.inode(), name)
    }

    /// `listxattr` and `llistxattr`: what the caller may know of.
    pub fn xattrs(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        follow: Follow,
    ) -> Result<Vec<Vec<u8>>> {
        let found = self.find(caller, at, path, follow)?;
        let mut names = self.engine.xattrs(caller, found.inode())?;
        names.retain(|name| caller.is_root() || !name.starts_with(b"trusted."));
        Ok(names)
    }

    /// `setxattr` and `lsetxattr`.
    pub fn set_xattr(
        &self,
        caller: &Caller,
        (at, path, follow): (At<'_>, &[u8], Follow),
        (name, value): (&[u8], &[u8]),
        how: SetXattr,
    ) -> Result<()> {
        check_name(name)?;
        if value.len() > LONGEST_VALUE {
            return Err(Errno::TOOBIG.into());
        }
        let found = self.find(caller, at, path, follow)?;
        rules::may_xattr(caller, found.attributes(), name, Wish::WRITE)?;
        check_suffix(name)?;
        self.engine.set_xattr(caller, found.inode(), name, value, how)
    }

    /// `removexattr` and `lremovexattr`.
    pub fn remove_xattr(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        follow: Follow,
        name: &[u8],
    ) -> Result<()> {
        check_name(name)?;
        let found = self.find(caller, at, path, follow)?;
        rules::may_xattr(caller, found.attributes(), name, Wish::WRITE)?;
        check_suffix(name)?;
        self.engine.remove_xattr(caller, found.inode(), name)
    }
}

fn check_name(name: &[u8]) -> Result<()> {
    let is_fine = (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(&0);
    if !is_fine {
        return Err(Errno::RANGE.into());
    }
    Ok(())
}

/// A family without a name, which the kernel looks at last.
fn check_suffix(name: &[u8]) -> Result<()> {
    if matches!(name, b"user." | b"trusted.") { Err(Errno::INVAL.into()) } else { Ok(()) }
}

const LONGEST_NAME: usize = 255;
const LONGEST_VALUE: usize = 64 << 10;
