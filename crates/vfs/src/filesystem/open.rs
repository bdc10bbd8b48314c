//! Open files: opening, reading, writing, seeking, listing, locking.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::{At, FileSystem};
use crate::attributes::{ALL_MODE_BITS, Attributes, Changes, Kind};
use crate::caller::Caller;
use crate::engine::{Allocate, Engine, Handle, Inode, Listed, New, Seek, Use, WriteAt};
use crate::error::Result;
use crate::locks::{Held as HeldLock, LockKind, Patience, Range};
use crate::name::Name;
use crate::rules::{self, Wish};
use crate::walker::{Follow, Held, Last, Walker};

/// How a file is opened, as the flags of `open`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// `O_APPEND`: every write goes to the end.
    pub append: bool,
    /// `O_CREAT`: it is made if it is not there.
    pub create: bool,
    /// `O_EXCL`: with `create`, it must not be there.
    pub exclusive: bool,
    /// `O_TRUNC`: it becomes empty.
    pub truncate: bool,
    /// `O_DIRECTORY`: it must be a directory.
    pub directory: bool,
    /// `O_NOFOLLOW`: it must not be a link.
    pub no_follow: bool,
    /// `O_PATH`: it is not opened, only held.
    pub path: bool,
}

impl OpenFlags {
    /// For reading alone.
    pub const READ: Self = Self { read: true, ..Self::NOTHING };
    /// For writing alone.
    pub const WRITE: Self = Self { write: true, ..Self::NOTHING };
    /// For nothing yet.
    pub const NOTHING: Self = Self {
        read: false,
        write: false,
        append: false,
        create: false,
        exclusive: false,
        truncate: false,
        directory: false,
        no_follow: false,
        path: false,
    };

    const fn wish(self) -> Wish {
        let read = if self.read { Wish::READ } else { Wish::NOTHING };
        if self.write || self.truncate { read.and(Wish::WRITE) } else { read }
    }
}

/// Where to go in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// From the start.
    Start(u64),
    /// From where it is.
    Current(i64),
    /// From the end.
    End(i64),
    /// To the next data or hole.
    Next(Seek, u64),
}

/// An open file or directory. It stays usable when its name goes, and follows when that changes. A18
#[derive(Debug)]
pub struct OpenFile {
    engine: Arc<dyn Engine>,
    inode: Inode,
    is_counted: bool,
    /// None for what is only held.
    handle: Option<Handle>,
    kind: Kind,
    flags: OpenFlags,
    position: Mutex<u64>,
    max_io: usize,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            if let Ok((locks, file)) = self.engine.locks(self.inode) {
                let _held = locks.lock_whole(file, handle.0, LockKind::Unlock, Patience::None);
            }
            self.engine.release(handle);
        }
        if self.is_counted {
            self.engine.forget(self.inode, 1);
        }
    }
}

impl FileSystem {
    /// `open`. The mode is for what is made.
    pub fn open(
        &self,
        caller: &Caller,
        at: At<'_>,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<OpenFile> {
        if flags.create && flags.directory && !flags.path {
            return Err(Errno::INVAL.into());
        }
        let flags = if flags.path { without_effects(flags) } else { flags };
        if let At::Itself(_) = at {
            return self.open_found(caller, self.find(caller, at, path, Follow::No)?, flags);
        }
        let mut walker = self.walker(caller, at, path)?;
        loop {
            let name = match walker.last()? {
                Last::Name(name) => name,
                Last::DotDot | Last::Dot | Last::Root if flags.create && flags.exclusive => {
                    return Err(Errno::EXIST.into());
                }
                Last::DotDot => {
                    walker.up()?;
                    return self.open_found(caller, walker.into_at(), flags);
                }
                Last::Dot | Last::Root => {
                    return self.open_found(caller, walker.into_at(), flags);
                }
            };
            if flags.create && walker.needs_directory() {
                return Err(Errno::ISDIR.into());
            }
            let found = match walker.lookup(name.name()?) {
                Ok(found) => found,
                Err(error) if error.errno == Errno::NOENT && flags.create => {
                    match self.create(caller, &walker, name.name()?, mode) {
                        Ok(made) => return self.open_inode(caller, made, flags),
                        // Somebody else was faster.
                        Err(error) if error.errno == Errno::EXIST && !flags.exclusive => {
                            walker.lookup(name.name()?)?
                        }
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            };
            if flags.create && flags.exclusive {
                return Err(Errno::EXIST.into());
            }
            if found.is(Kind::Link) && (!flags.no_follow || walker.needs_directory()) {
                walker.follow(&found)?;
                continue;
            }
            if walker.needs_directory() && !found.is(Kind::Directory) {
                return Err(Errno::NOTDIR.into());
            }
            if flags.create {
                let directory = walker.at();
                rules::may_open_to_create(caller, directory.attributes(), found.attributes())?;
            }
            return self.open_found(caller, found, flags);
        }
    }

    fn create<'a>(
        &'a self,
        caller: &Caller,
        walker: &Walker<'a>,
        name: crate::Name<'_>,
        mode: u32,
    ) -> Result<Held<'a>> {
        let directory = walker.at();
        rules::may(caller, directory.attributes(), Wish::ENTER_NAME)?;
        let mode = mode & ALL_MODE_BITS & !caller.umask;
        let made = self.engine.make(caller, directory.inode(), name, New::File, mode)?;
        Ok(Held::new(&*self.engine, made))
    }

    fn open_found(&self, caller: &Caller, found: Held<'_>, flags: OpenFlags) -> Result<OpenFile> {
        if flags.create && found.is(Kind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        if flags.directory && !found.is(Kind::Directory) {
            return Err(Errno::NOTDIR.into());
        }
        if flags.path {
            return Ok(self.opened(found, None, flags));
        }
        match found.attributes().kind {
            Kind::Link => return Err(Errno::LOOP.into()),
            Kind::Directory if flags.wish().has(Wish::WRITE) => return Err(Errno::ISDIR.into()),
            _ => {}
        }
        rules::may(caller, found.attributes(), flags.wish())?;
        let opened = self.open_inode(caller, found, flags)?;
        if flags.truncate {
            let attributes = opened.attributes(caller)?;
            let mode = rules::after_write(caller, &attributes);
            let changes = Changes { size: Some(0), mode, ..Changes::default() };
            self.engine.change(caller, opened.inode, &changes)?;
        }
        Ok(opened)
    }

    /// Opens what is judged, or was made just now.
    fn open_inode(&self, caller: &Caller, found: Held<'_>, flags: OpenFlags) -> Result<OpenFile> {
        let handle = match found.attributes().kind {
            Kind::Directory => self.engine.open_directory(caller, found.inode())?,
            Kind::File => {
                let how = Use { read: flags.read, write: flags.write };
                self.engine.open(caller, found.inode(), how)?
            }
            // Pipes and devices are the kernel's business, wherever there is one.
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::CharacterDevice | Kind::BlockDevice => {
                return Err(Errno::NXIO.into());
            }
        };
        Ok(self.opened(found, Some(handle), flags))
    }

    fn opened(&self, found: Held<'_>, handle: Option<Handle>, flags: OpenFlags) -> OpenFile {
        let is_counted = found.is_counted();
        let entry = found.keep();
        OpenFile {
            engine: Arc::clone(&self.engine),
            inode: entry.inode,
            is_counted,
            handle,
            kind: entry.attributes.kind,
            flags,
            position: Mutex::new(0),
            max_io: self.max_io,
        }
    }
}

impl OpenFile {
    /// The file, for whoever speaks to the engine.
    pub const fn inode(&self) -> Inode {
        self.inode
    }

    /// Holds the file for good.
    pub(crate) fn keep(mut self) {
        self.is_counted = false;
    }

    /// `fstat`.
    pub fn attributes(&self, caller: &Caller) -> Result<Attributes> {
        self.engine.attributes(caller, self.inode)
    }

    /// `read`.
    pub fn read(&self, into: &mut [u8]) -> Result<usize> {
        let mut position = self.position();
        let count = match self.read_at(*position, into) {
            Err(error) if error.errno == Errno::SPIPE => self.read_stream(into)?,
            read => read?,
        };
        *position += count as u64;
        Ok(count)
    }

    /// From where it is, of what cannot be read anywhere else.
    fn read_stream(&self, into: &mut [u8]) -> Result<usize> {
        let handle = self.stream()?;
        let most = into.len().min(self.max_io);
        self.engine.read_stream(handle, into.get_mut(..most).unwrap_or_default(), &|| false)
    }

    fn stream(&self) -> Result<Handle> {
        self.handle.filter(|handle| self.engine.is_stream(*handle)).ok_or(Errno::SPIPE.into())
    }

    /// `pread`.
    pub fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let handle = self.handle.filter(|_| self.flags.read).ok_or(Errno::BADF)?;
        if self.kind == Kind::Directory {
            return Err(Errno::ISDIR.into());
        }
        check_offset(offset)?;
        let most = into.len().min(self.max_io);
        self.engine.read(handle, offset, into.get_mut(..most).unwrap_or_default())
    }

    /// `write`. Returns how much was written: never more than the bound of one operation.
    pub fn write(&self, caller: &Caller, bytes: &[u8]) -> Result<usize> {
        if bytes.is_empty() {
            return self.writable().map(|_| 0);
        }
        let mut position = self.position();
        let at = if self.flags.append { WriteAt::End } else { WriteAt::Offset(*position) };
        let (count, end) = match self.put(caller, at, bytes) {
            Err(error) if error.errno == Errno::SPIPE => {
                let _is = self.stream()?;
                self.put(caller, WriteAt::End, bytes)?
            }
            put => put?,
        };
        *position = end;
        Ok(count)
    }

    /// `pwrite`; with `O_APPEND` it goes to the end, as on Linux.
    pub fn write_at(&self, caller: &Caller, offset: u64, bytes: &[u8]) -> Result<usize> {
        check_offset(offset)?;
        if bytes.is_empty() {
            return self.writable().map(|_| 0);
        }
        let at = if self.flags.append { WriteAt::End } else { WriteAt::Offset(offset) };
        Ok(self.put(caller, at, bytes)?.0)
    }

    fn put(&self, caller: &Caller, at: WriteAt, bytes: &[u8]) -> Result<(usize, u64)> {
        let handle = self.writable()?;
        self.drop_privileges(caller)?;
        let most = bytes.len().min(self.max_io);
        let written = self.engine.write(handle, at, bytes.get(..most).unwrap_or_default())?;
        Ok((written.count, written.end))
    }

    /// `ftruncate`.
    pub fn set_size(&self, caller: &Caller, size: u64) -> Result<()> {
        if size > i64::MAX.unsigned_abs() || self.kind != Kind::File {
            return Err(Errno::INVAL.into());
        }
        if !self.flags.write {
            return Err(Errno::INVAL.into());
        }
        let mode = rules::after_write(caller, &self.attributes(caller)?);
        let changes = Changes { size: Some(size), mode, ..Changes::default() };
        self.engine.change(caller, self.inode, &changes).map(drop)
    }

    /// `fallocate`.
    pub fn allocate(&self, caller: &Caller, how: Allocate, offset: u64, length: u64) -> Result<()> {
        if length == 0 || offset > i64::MAX.unsigned_abs() || length > i64::MAX.unsigned_abs() {
            return Err(Errno::INVAL.into());
        }
        let handle = self.writable()?;
        if offset + length > i64::MAX.unsigned_abs() {
            return Err(Errno::FBIG.into());
        }
        self.drop_privileges(caller)?;
        self.engine.allocate(handle, how, offset, length)
    }

    /// `lseek`. Of a directory it is the cookie after which a listing goes on.
    pub fn seek(&self, caller: &Caller, to: SeekTo) -> Result<u64> {
        let handle = self.handle.ok_or(Errno::BADF)?;
        let mut position = self.position();
        let moved = |from: u64, by: i64| from.checked_add_signed(by).ok_or(Errno::INVAL);
        let target = match to {
            SeekTo::Start(offset) => offset,
            SeekTo::Current(by) => moved(*position, by)?,
            SeekTo::End(by) => moved(self.attributes(caller)?.size, by)?,
            SeekTo::Next(what, from) => self.engine.seek(handle, what, from)?,
        };
        check_offset(target)?;
        *position = target;
        Ok(target)
    }

    /// `getdents`: what comes after the position, until the sink has enough. The position follows.
    pub fn list(&self, mut sink: impl FnMut(&Listed<'_>) -> bool) -> Result<()> {
        let handle = self.handle.filter(|_| self.flags.read).ok_or(Errno::BADF)?;
        if self.kind != Kind::Directory {
            return Err(Errno::NOTDIR.into());
        }
        let mut position = self.position();
        let mut last = *position;
        let mut is_plain = true;
        let mut taken = |listed: &Listed<'_>| {
            // An engine's names may come from anybody: a path among them would lead whoever joins it to the directory's own.
            is_plain = matches!(listed.name, b"." | b"..") || Name::new(listed.name).is_ok();
            let goes_on = is_plain && sink(listed);
            if goes_on {
                last = listed.cookie;
            }
            goes_on
        };
        self.engine.read_directory(handle, *position, &mut taken)?;
        *position = last;
        if is_plain { Ok(()) } else { Err(Errno::IO.into()) }
    }

    /// `fsync`.
    pub fn sync(&self) -> Result<()> {
        self.engine.sync(self.handle.ok_or(Errno::BADF)?)
    }

    /// `flock`.
    pub fn lock_whole(&self, kind: LockKind, patience: Patience) -> Result<()> {
        let handle = self.handle.ok_or(Errno::BADF)?;
        let (locks, file) = self.engine.locks(self.inode)?;
        locks.lock_whole(file, handle.0, kind, patience)
    }

    /// `fcntl` with `F_SETLK` and `F_SETLKW`, for the caller's process.
    pub fn lock_range(
        &self,
        caller: &Caller,
        range: Range,
        kind: LockKind,
        patience: Patience,
    ) -> Result<()> {
        self.handle.ok_or(Errno::BADF)?;
        let is_open_for = match kind {
            LockKind::Shared => self.flags.read,
            LockKind::Exclusive => self.flags.write,
            LockKind::Unlock => true,
        };
        if !is_open_for {
            return Err(Errno::BADF.into());
        }
        let (locks, file) = self.engine.locks(self.inode)?;
        let wanted = HeldLock { owner: u64::from(caller.pid), pid: caller.pid, range, kind };
        locks.lock(file, &wanted, patience)
    }

    /// `fcntl` with `F_GETLK`: who is in the way.
    pub fn test_range(
        &self,
        caller: &Caller,
        range: Range,
        kind: LockKind,
    ) -> Result<Option<HeldLock>> {
        let (locks, file) = self.engine.locks(self.inode)?;
        let wanted = HeldLock { owner: u64::from(caller.pid), pid: caller.pid, range, kind };
        Ok(locks.test(file, &wanted))
    }

    /// `close`, by which a process loses its locks on the file's ranges, and is told of a write that failed.
    pub fn close(self, caller: &Caller) -> Result<()> {
        if let Ok((locks, file)) = self.engine.locks(self.inode) {
            locks.close(file, u64::from(caller.pid));
        }
        self.handle.map_or(Ok(()), |handle| self.engine.flush(handle))
    }

    fn writable(&self) -> Result<Handle> {
        self.handle.filter(|_| self.flags.write).ok_or(Errno::BADF.into())
    }

    fn drop_privileges(&self, caller: &Caller) -> Result<()> {
        if caller.is_root() {
            return Ok(());
        }
        let mode = rules::after_write(caller, &self.attributes(caller)?);
        if mode.is_some() {
            self.engine.change(caller, self.inode, &Changes { mode, ..Changes::default() })?;
        }
        Ok(())
    }

    fn position(&self) -> MutexGuard<'_, u64> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `O_PATH` leaves of the other flags.
const fn without_effects(flags: OpenFlags) -> OpenFlags {
    let OpenFlags { directory, no_follow, .. } = flags;
    OpenFlags { directory, no_follow, path: true, ..OpenFlags::NOTHING }
}

fn check_offset(offset: u64) -> Result<()> {
    if offset > i64::MAX.unsigned_abs() { Err(Errno::INVAL.into()) } else { Ok(()) }
}
