//! Changing what is known of a file: mode, owner, length, times.

use rustix::io::Errno;

use super::{At, FileSystem, OpenFile};
use crate::attributes::{ALL_MODE_BITS, Attributes, Changes, Kind, NewTime};
use crate::caller::Caller;
use crate::engine::Inode;
use crate::error::Result;
use crate::rules::{self, Wish};
use crate::walker::Follow;

/// Whom a file is given to; who is not named stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
}

/// Times to be set; what is not named stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it was read.
    pub accessed: Option<NewTime>,
    /// When its contents changed.
    pub modified: Option<NewTime>,
}

impl FileSystem {
    /// `chmod`.
    pub fn set_mode(&self, caller: &Caller, at: At<'_>, path: &[u8], mode: u32) -> Result<()> {
        let found = self.find(caller, at, path, Follow::Yes)?;
        self.change_mode(caller, found.inode(), found.attributes(), mode)
    }

    /// `chown` and `lchown`.
    pub fn set_owner(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        follow: Follow,
        owner: Owner,
    ) -> Result<()> {
        let found = self.find(caller, at, path, follow)?;
        self.change_owner(caller, found.inode(), found.attributes(), owner)
    }

    /// `utimensat`.
    pub fn set_times(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        follow: Follow,
        times: Times,
    ) -> Result<()> {
        if times == Times::default() {
            // The kernel does not even look at the path.
            return Ok(());
        }
        let found = self.find(caller, at, path, follow)?;
        self.change_times(caller, found.inode(), found.attributes(), times)
    }

    /// `truncate`.
    pub fn set_size(&self, caller: &Caller, at: At<'_>, path: &[u8], size: u64) -> Result<()> {
        if size > i64::MAX.unsigned_abs() {
            return Err(Errno::INVAL.into());
        }
        let found = self.find(caller, at, path, Follow::Yes)?;
        match found.attributes().kind {
            Kind::File => {}
            Kind::Directory => return Err(Errno::ISDIR.into()),
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::CharacterDevice | Kind::BlockDevice => {
                return Err(Errno::INVAL.into());
            }
        }
        rules::may(caller, found.attributes(), Wish::WRITE)?;
        let mode = rules::after_write(caller, found.attributes());
        let changes = Changes { size: Some(size), mode, ..Changes::default() };
        self.engine.change(caller, found.inode(), &changes).map(drop)
    }

    /// `fchmod`.
    pub fn set_mode_of(&self, caller: &Caller, file: &OpenFile, mode: u32) -> Result<()> {
        self.change_mode(caller, file.inode(), &file.attributes(caller)?, mode)
    }

    /// `fchown`.
    pub fn set_owner_of(&self, caller: &Caller, file: &OpenFile, owner: Owner) -> Result<()> {
        self.change_owner(caller, file.inode(), &file.attributes(caller)?, owner)
    }

    /// `futimens`.
    pub fn set_times_of(&self, caller: &Caller, file: &OpenFile, times: Times) -> Result<()> {
        self.change_times(caller, file.inode(), &file.attributes(caller)?, times)
    }

    fn change_mode(
        &self,
        caller: &Caller,
        inode: Inode,
        file: &Attributes,
        mode: u32,
    ) -> Result<()> {
        let mode = rules::chmod(caller, file, mode & ALL_MODE_BITS)?;
        self.change(caller, inode, Changes { mode: Some(mode), ..Changes::default() })
    }

    fn change_owner(
        &self,
        caller: &Caller,
        inode: Inode,
        file: &Attributes,
        owner: Owner,
    ) -> Result<()> {
        let mode = rules::chown(caller, file, owner.uid, owner.gid)?;
        self.change(
            caller,
            inode,
            Changes { mode, uid: owner.uid, gid: owner.gid, ..Changes::default() },
        )
    }

    fn change_times(
        &self,
        caller: &Caller,
        inode: Inode,
        file: &Attributes,
        times: Times,
    ) -> Result<()> {
        let Times { accessed, modified } = times;
        for time in [accessed, modified].into_iter().flatten() {
            if let NewTime::At(time) = time
                && time.nanoseconds >= NANOSECONDS
            {
                return Err(Errno::INVAL.into());
            }
        }
        match (accessed, modified) {
            (None, None) => return Ok(()),
            // Who may write a file could have touched it anyhow.
            (Some(NewTime::Now), Some(NewTime::Now)) => {
                if rules::must_own(caller, file).is_err() {
                    rules::may(caller, file, Wish::WRITE)?;
                }
            }
            _ => rules::must_own(caller, file)?,
        }
        self.change(caller, inode, Changes { accessed, modified, ..Changes::default() })
    }

    fn change(&self, caller: &Caller, inode: Inode, changes: Changes) -> Result<()> {
        self.engine.change(caller, inode, &changes).map(drop)
    }
}

const NANOSECONDS: u32 = 1_000_000_000;
