//! Who may do what to a file, by its mode and owner, as POSIX and Linux have it. Pure: one question, one answer.
//! Never knows which engine a file is in.

use rustix::io::Errno;

use crate::attributes::{Attributes, Kind, SET_GID, SET_UID, STICKY};
use crate::caller::Caller;
use crate::error::Result;

#[cfg(test)]
mod tests;

/// Something to be done with a file, as bits of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish(u32);

impl Wish {
    /// That it is there.
    pub const NOTHING: Self = Self(0);
    /// Executing it, or going through a directory.
    pub const EXECUTE: Self = Self(1);
    /// Writing it, or changing the names in a directory.
    pub const WRITE: Self = Self(2);
    /// Reading it, or listing a directory.
    pub const READ: Self = Self(4);
    /// Making or removing a name in a directory.
    pub const ENTER_NAME: Self = Self(3);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of another wish is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Whether a file's mode lets somebody do all of it: else `EACCES`. A18
pub(crate) fn may(caller: &Caller, file: &Attributes, wish: Wish) -> Result<()> {
    if caller.is_root() {
        // Nobody executes what nobody is meant to execute.
        let is_program = file.kind == Kind::Directory || file.mode & 0o111 != 0;
        let is_allowed = is_program || !wish.has(Wish::EXECUTE);
        return if is_allowed { Ok(()) } else { Err(Errno::ACCESS.into()) };
    }
    let shift = if caller.uid == file.uid {
        6
    } else if caller.is_in(file.gid) {
        3
    } else {
        0
    };
    if file.mode >> shift & wish.0 == wish.0 { Ok(()) } else { Err(Errno::ACCESS.into()) }
}

/// Whether a name may be removed from a directory, or replaced there.
pub(crate) fn may_remove(caller: &Caller, directory: &Attributes, file: &Attributes) -> Result<()> {
    may(caller, directory, Wish::ENTER_NAME)?;
    let is_sticky = directory.mode & STICKY != 0;
    let is_own = caller.is_root() || caller.uid == file.uid || caller.uid == directory.uid;
    if is_sticky && !is_own { Err(Errno::PERM.into()) } else { Ok(()) }
}

/// Whether somebody who would have made a file may open what has the name already: in a sticky directory that all may
/// write to, not another user's trap. Files and pipes are no such thing without `protected_regular` and
/// `protected_fifos`, which Linux leaves to each system.
pub(crate) fn may_open_to_create(
    caller: &Caller,
    directory: &Attributes,
    found: &Attributes,
) -> Result<()> {
    let is_trap = match found.kind {
        Kind::File | Kind::Fifo | Kind::Directory => false,
        Kind::Link | Kind::Socket | Kind::CharacterDevice | Kind::BlockDevice => true,
    };
    let is_shared = directory.mode & STICKY != 0 && directory.mode & 0o002 != 0;
    let is_of_another = found.uid != directory.uid && found.uid != caller.uid;
    if is_trap && is_shared && is_of_another { Err(Errno::ACCESS.into()) } else { Ok(()) }
}

/// Whether somebody may give a file another name: its owner, or who could have written to it. Nobody keeps another
/// user's program that way after it was mended. As Linux has it with `protected_hardlinks`.
pub(crate) fn may_link(caller: &Caller, file: &Attributes) -> Result<()> {
    let is_program_of_another =
        file.mode & SET_UID != 0 || file.mode & (SET_GID | 0o010) == SET_GID | 0o010;
    let is_plain = file.kind == Kind::File && !is_program_of_another;
    let could_write = is_plain && may(caller, file, Wish::READ.and(Wish::WRITE)).is_ok();
    if could_write { Ok(()) } else { must_own(caller, file) }
}

/// Whether somebody is a file's owner, for what only that may change: else `EPERM`.
pub(crate) fn must_own(caller: &Caller, file: &Attributes) -> Result<()> {
    if caller.is_root() || caller.uid == file.uid { Ok(()) } else { Err(Errno::PERM.into()) }
}

/// The mode that a file gets when somebody asks for this one.
pub(crate) fn chmod(caller: &Caller, file: &Attributes, mode: u32) -> Result<u32> {
    must_own(caller, file)?;
    let keeps_group = caller.is_root() || caller.is_in(file.gid);
    Ok(if keeps_group { mode } else { mode & !SET_GID })
}

/// Whether somebody may give a file to these; the mode that it has afterwards, if that changes.
pub(crate) fn chown(
    caller: &Caller,
    file: &Attributes,
    uid: Option<u32>,
    gid: Option<u32>,
) -> Result<Option<u32>> {
    let owns = caller.uid == file.uid;
    let may_uid = uid.is_none_or(|uid| owns && uid == file.uid);
    let may_gid = gid.is_none_or(|gid| owns && (gid == file.gid || caller.is_in(gid)));
    let is_allowed = caller.is_root() || (may_uid && may_gid);
    if !is_allowed {
        return Err(Errno::PERM.into());
    }
    // Nobody gets a program that acts as somebody else.
    let mode = if file.kind == Kind::Directory { None } else { without_privileges(caller, file) };
    if mode.is_some() {
        must_own(caller, file)?;
    }
    Ok(mode)
}

/// The mode of a file that somebody writes to, if it must change: what it did for its owner may be another thing now.
pub(crate) fn after_write(caller: &Caller, file: &Attributes) -> Option<u32> {
    if caller.is_root() { None } else { without_privileges(caller, file) }
}

/// The mode and group of something new in a directory.
pub fn inherit(caller: &Caller, directory: &Attributes, kind: Kind, mode: u32) -> (u32, u32) {
    if directory.mode & SET_GID == 0 {
        return (mode, caller.gid);
    }
    let gid = directory.gid;
    if kind == Kind::Directory {
        return (mode | SET_GID, gid);
    }
    let is_program = mode & (SET_GID | 0o010) == SET_GID | 0o010;
    let keeps = caller.is_root() || caller.is_in(gid);
    (if is_program && !keeps { mode & !SET_GID } else { mode }, gid)
}

/// Whether an extended attribute may be had of a file.
pub(crate) fn may_xattr(caller: &Caller, file: &Attributes, name: &[u8], wish: Wish) -> Result<()> {
    let is_write = wish.has(Wish::WRITE);
    if name.starts_with(b"user.") {
        if !matches!(file.kind, Kind::File | Kind::Directory) {
            return Err(if is_write { Errno::PERM } else { Errno::NODATA }.into());
        }
        if file.kind == Kind::Directory && file.mode & STICKY != 0 && is_write {
            must_own(caller, file)?;
        }
        return may(caller, file, wish);
    }
    if name.starts_with(b"trusted.") {
        let refusal = if is_write { Errno::PERM } else { Errno::NODATA };
        return if caller.is_root() { Ok(()) } else { Err(refusal.into()) };
    }
    // `security.` and `system.` mean something to a kernel, which is not here; others to nobody.
    if !name.starts_with(b"security.") && !name.starts_with(b"system.") {
        may(caller, file, wish)?;
    }
    Err(Errno::OPNOTSUPP.into())
}

fn without_privileges(caller: &Caller, file: &Attributes) -> Option<u32> {
    let mut mode = file.mode & !SET_UID;
    let is_group_program = file.mode & 0o010 != 0;
    if is_group_program || !(caller.is_root() || caller.is_in(file.gid)) {
        mode &= !SET_GID;
    }
    (mode != file.mode && file.kind != Kind::Directory).then_some(mode)
}
