//! Making, linking, renaming and removing. The order of the questions is that of Linux: a program is told of what it
//! would be told of there.

use rustix::io::Errno;

use super::{At, FileSystem, until_judged};
use crate::attributes::{ALL_MODE_BITS, Kind};
use crate::caller::Caller;
use crate::engine::{Inode, New, Rename, Replace};
use crate::error::Result;
use crate::name::LONGEST_PATH;
use crate::rules::{self, Wish};
use crate::walker::{Follow, Held, Last, NameBuffer, Walker};

/// What a link is made to.
#[derive(Clone, Copy, Debug)]
pub enum Existing<'a> {
    /// What a path leads to.
    Path(&'a [u8], Follow),
    /// An open file.
    Open(&'a super::OpenFile),
}

/// What is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Anything but a directory: `unlink`.
    File,
    /// An empty directory: `rmdir`.
    Directory,
}

impl FileSystem {
    /// `mkdir`, `mknod` and `symlink`.
    pub fn make(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        new: New<'_>,
        mode: u32,
    ) -> Result<()> {
        if let New::Link(target) = new {
            match target.len() {
                0 => return Err(Errno::NOENT.into()),
                length if length > LONGEST_PATH => return Err(Errno::NAMETOOLONG.into()),
                _ if target.contains(&0) => return Err(Errno::INVAL.into()),
                _ => {}
            }
        }
        let mut walker = self.walker(caller, at, path)?;
        let name = new_name(&mut walker, new == New::Directory)?;
        let directory = walker.at();
        rules::may(caller, directory.attributes(), Wish::ENTER_NAME)?;
        let mode = match new {
            New::Link(_) => 0o777,
            // Directories are not made setuid or setgid, but sticky they are.
            New::Directory => mode & 0o1777 & !caller.umask,
            New::File | New::Fifo | New::Socket => mode & ALL_MODE_BITS & !caller.umask,
        };
        let made = self.engine.make(caller, directory.inode(), name.name()?, new, mode)?;
        drop(Held::new(&*self.engine, made));
        Ok(())
    }

    /// `link`: one more name for a file.
    pub fn link(
        &self,
        caller: &Caller,
        existing: Existing<'_>,
        at: At<'_>,
        path: &[u8],
    ) -> Result<()> {
        let found = match existing {
            Existing::Path(path, follow) => self.find(caller, at, path, follow)?,
            Existing::Open(file) => Held::borrowed(&*self.engine, caller, file.inode())?,
        };
        let mut walker = self.walker(caller, at, path)?;
        let name = new_name(&mut walker, false)?;
        let directory = walker.at();
        if !self.engine.are_together(found.inode(), directory.inode()) {
            return Err(Errno::XDEV.into());
        }
        rules::may_link(caller, found.attributes())?;
        rules::may(caller, directory.attributes(), Wish::ENTER_NAME)?;
        if found.is(Kind::Directory) {
            return Err(Errno::PERM.into());
        }
        let linked = self.engine.link(caller, found.inode(), directory.inode(), name.name()?)?;
        drop(Held::new(&*self.engine, linked));
        Ok(())
    }

    /// `unlink` and `rmdir`.
    pub fn remove(&self, caller: &Caller, at: At<'_>, path: &[u8], what: Removal) -> Result<()> {
        until_judged(|| {
            let mut walker = self.walker(caller, at, path)?;
            let name = match (walker.last()?, what) {
                (Last::Name(name), _) => name,
                (_, Removal::File) => return Err(Errno::ISDIR.into()),
                (Last::Dot, Removal::Directory) => return Err(Errno::INVAL.into()),
                (Last::DotDot, Removal::Directory) => return Err(Errno::NOTEMPTY.into()),
                (Last::Root, Removal::Directory) => return Err(Errno::BUSY.into()),
            };
            let (directory, name) = (walker.at(), name.name()?);
            let found = walker.lookup(name)?;
            let is_directory = found.is(Kind::Directory);
            if walker.needs_directory() && what == Removal::File {
                return Err(if is_directory { Errno::ISDIR } else { Errno::NOTDIR }.into());
            }
            rules::may_remove(caller, directory.attributes(), found.attributes())?;
            match (what, is_directory) {
                (Removal::File, true) => return Err(Errno::ISDIR.into()),
                (Removal::Directory, false) => return Err(Errno::NOTDIR.into()),
                _ if self.engine.is_busy(found.inode()) => return Err(Errno::BUSY.into()),
                _ => {}
            }
            self.engine.remove(caller, directory.inode(), name, found.inode())
        })
    }

    /// `rename`, with the two flags that Linux has.
    pub fn rename(
        &self,
        caller: &Caller,
        (from_at, from): (At<'_>, &[u8]),
        (to_at, to): (At<'_>, &[u8]),
        replace: Replace,
    ) -> Result<()> {
        until_judged(|| self.try_rename(caller, (from_at, from), (to_at, to), replace))
    }

    fn try_rename(
        &self,
        caller: &Caller,
        (from_at, from): (At<'_>, &[u8]),
        (to_at, to): (At<'_>, &[u8]),
        replace: Replace,
    ) -> Result<()> {
        let (mut old, mut new) =
            (self.walker(caller, from_at, from)?, self.walker(caller, to_at, to)?);
        let (old_name, new_name) = (old.last()?, new.last()?);
        if !self.engine.are_together(old.at().inode(), new.at().inode()) {
            return Err(Errno::XDEV.into());
        }
        let Last::Name(old_name) = old_name else { return Err(Errno::BUSY.into()) };
        let Last::Name(new_name) = new_name else {
            let is_kept = replace == Replace::No;
            return Err(if is_kept { Errno::EXIST } else { Errno::BUSY }.into());
        };
        let (from, to) = (old.at(), new.at());
        let moved = old.lookup(old_name.name()?)?;
        let replaced = match new.lookup(new_name.name()?) {
            Ok(found) => Some(found),
            Err(error) if error.errno == Errno::NOENT => None,
            Err(error) => return Err(error),
        };
        let is_directory = moved.is(Kind::Directory);
        match (&replaced, replace) {
            (Some(_), Replace::No) => return Err(Errno::EXIST.into()),
            (None, Replace::Exchange) => return Err(Errno::NOENT.into()),
            (Some(other), Replace::Exchange)
                if new.needs_directory() && !other.is(Kind::Directory) =>
            {
                return Err(Errno::NOTDIR.into());
            }
            _ => {}
        }
        let needs_directory =
            old.needs_directory() || (new.needs_directory() && replace != Replace::Exchange);
        if needs_directory && !is_directory {
            return Err(Errno::NOTDIR.into());
        }
        if is_directory && self.is_within(caller, to.inode(), moved.inode())? {
            return Err(Errno::INVAL.into());
        }
        if let Some(other) = replaced.as_ref().filter(|other| other.is(Kind::Directory))
            && self.is_within(caller, from.inode(), other.inode())?
        {
            let is_exchange = replace == Replace::Exchange;
            return Err(if is_exchange { Errno::INVAL } else { Errno::NOTEMPTY }.into());
        }
        if replaced.as_ref().is_some_and(|other| other.inode() == moved.inode()) {
            return Ok(());
        }
        self.judge_rename(caller, [from, to], &moved, replaced.as_ref(), replace)?;
        self.engine.rename(
            caller,
            &Rename {
                from: from.inode(),
                name: old_name.name()?,
                moved: moved.inode(),
                to: to.inode(),
                new_name: new_name.name()?,
                replaced: replaced.as_ref().map(Held::inode),
                replace,
            },
        )
    }

    fn judge_rename(
        &self,
        caller: &Caller,
        [from, to]: [&Held<'_>; 2],
        moved: &Held<'_>,
        replaced: Option<&Held<'_>>,
        replace: Replace,
    ) -> Result<()> {
        rules::may_remove(caller, from.attributes(), moved.attributes())?;
        match replaced {
            None => rules::may(caller, to.attributes(), Wish::ENTER_NAME)?,
            Some(other) => {
                rules::may_remove(caller, to.attributes(), other.attributes())?;
                match (moved.is(Kind::Directory), other.is(Kind::Directory)) {
                    _ if replace == Replace::Exchange => {}
                    (true, false) => return Err(Errno::NOTDIR.into()),
                    (false, true) => return Err(Errno::ISDIR.into()),
                    _ => {}
                }
            }
        }
        // What changes is its `..`.
        if from.inode() != to.inode() {
            let exchanged = replaced.filter(|_| replace == Replace::Exchange);
            for one in [Some(moved), exchanged].into_iter().flatten() {
                if one.is(Kind::Directory) {
                    rules::may(caller, one.attributes(), Wish::WRITE)?;
                }
            }
        }
        let is_busy = |one: &Held<'_>| self.engine.is_busy(one.inode());
        if is_busy(moved) || replaced.is_some_and(is_busy) {
            return Err(Errno::BUSY.into());
        }
        Ok(())
    }

    /// Whether a directory is another one or below it.
    pub(crate) fn is_within(
        &self,
        caller: &Caller,
        directory: Inode,
        above: Inode,
    ) -> Result<bool> {
        let mut at = directory;
        let mut held;
        for _ in 0..DEEPEST {
            if at == above {
                return Ok(true);
            }
            if at == self.root {
                return Ok(false);
            }
            held = Held::new(&*self.engine, self.engine.lookup_parent(caller, at)?);
            at = held.inode();
        }
        Err(Errno::LOOP.into())
    }
}

/// The name of something that is to be made, which must not be there.
fn new_name(walker: &mut Walker<'_>, is_directory: bool) -> Result<NameBuffer> {
    let Last::Name(name) = walker.last()? else { return Err(Errno::EXIST.into()) };
    match walker.lookup(name.name()?) {
        Ok(_) => Err(Errno::EXIST.into()),
        Err(error) if error.errno != Errno::NOENT => Err(error),
        // A slash after the name of what is no directory.
        Err(error) if walker.needs_directory() && !is_directory => Err(error),
        Err(_) => Ok(name),
    }
}

/// Deeper than any tree that fits the limits of an engine.
const DEEPEST: u64 = 1 << 32;
