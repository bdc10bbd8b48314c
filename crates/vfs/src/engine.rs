//! What every engine does: operations on inodes and handles, as the kernel asks a file system for them. FUSE, 9P and
//! guests in this process stand on this one trait.
//!
//! An engine does not judge who may do what: that is [`crate::rules`], asked by whoever stands between it and a guest.
//! It keeps its own consistency, whatever it is asked, from any number of threads.

use std::fmt;

use crate::attributes::{Attributes, Changes, Kind, Space};
use crate::caller::Caller;
use crate::error::Result;
use crate::locks::LockTable;
use crate::name::Name;

/// A file as an engine knows it. Below 2⁴⁰; what stands between engine and guest uses the bits above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode(pub u64);

/// An open file or directory. Below 2⁴⁰, as [`Inode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(pub u64);

/// What a name leads to. Whoever gets one holds the inode until it gives it back with [`Engine::forget`].
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The file.
    pub inode: Inode,
    /// Tells it from an earlier one of the same number.
    pub generation: u64,
    /// What is known of it.
    pub attributes: Attributes,
}

/// What an engine can do beyond what every one can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Extended attributes.
    pub xattrs: bool,
    /// Further names for a file.
    pub hard_links: bool,
    /// Locks; see [`Engine::locks`].
    pub locks: bool,
    /// What was synced is there after this process.
    pub persistent: bool,
    /// Nothing can be changed.
    pub read_only: bool,
}

/// Something to be made. The engine gives it to the caller, and to the group of a setgid directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum New<'a> {
    /// An empty file.
    File,
    /// An empty directory.
    Directory,
    /// A symbolic link to this.
    Link(&'a [u8]),
    /// A named pipe.
    Fifo,
    /// The name of a socket.
    Socket,
}

impl New<'_> {
    /// What it will be.
    pub const fn kind(self) -> Kind {
        match self {
            Self::File => Kind::File,
            Self::Directory => Kind::Directory,
            Self::Link(_) => Kind::Link,
            Self::Fifo => Kind::Fifo,
            Self::Socket => Kind::Socket,
        }
    }
}

/// What is to be done when both names of a rename exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// The second one is replaced.
    Yes,
    /// Nothing; it is an error.
    No,
    /// They change places.
    Exchange,
}

/// A rename, of what was judged: if a name leads elsewhere by now it is `ESTALE`, and the judging begins anew.
#[derive(Clone, Copy, Debug)]
pub struct Rename<'a> {
    /// The directory of the first name.
    pub from: Inode,
    /// The first name.
    pub name: Name<'a>,
    /// What it led to.
    pub moved: Inode,
    /// The directory of the second name.
    pub to: Inode,
    /// The second name.
    pub new_name: Name<'a>,
    /// What it led to, if anything.
    pub replaced: Option<Inode>,
    /// What happens to that.
    pub replace: Replace,
}

/// What an open file is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Reading.
    pub read: bool,
    /// Writing.
    pub write: bool,
}

/// Where to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAt {
    /// Here.
    Offset(u64),
    /// Wherever the end is when it is written, in one step.
    End,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How much of it.
    pub count: usize,
    /// Where it ends.
    pub end: u64,
}

/// What is to be done to a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Room for it, and the file is at least that long.
    Extend,
    /// Room for it; the length stays.
    KeepSize,
    /// It becomes a hole; the length stays.
    PunchHole,
}

/// What is looked for in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// The next byte that is not in a hole.
    Data,
    /// The next hole, or the end.
    Hole,
}

/// One name of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The name: also `.` and `..`.
    pub name: &'a [u8],
    /// The number of what it leads to.
    pub number: u64,
    /// What that is.
    pub kind: Kind,
    /// Given to [`Engine::read_directory`], what comes after this name. It stays right whatever is made and removed.
    pub cookie: u64,
}

/// How an extended attribute is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetXattr {
    /// Whether or not it is there.
    Any,
    /// Only if it is not.
    Create,
    /// Only if it is.
    Replace,
}

/// Facts about the names in a directory that no guest can see, reach or forge: an overlay's, kept by the engine of its
/// upper layer. They move with the directory and go with it.
pub trait Marks: Send + Sync {
    /// Whether there is such a mark.
    fn has(&self, directory: Inode, mark: &[u8]) -> Result<bool>;
    /// Makes it.
    fn set(&self, directory: Inode, mark: &[u8]) -> Result<()>;
    /// Removes it, if it is there.
    fn clear(&self, directory: Inode, mark: &[u8]) -> Result<()>;
    /// All of them, in any order.
    fn all(&self, directory: Inode) -> Result<Vec<Vec<u8>>>;
    /// Whether there is any.
    fn any(&self, directory: Inode) -> Result<bool>;
    /// Whether the mark of a name lies in the directory under that very name, so that one of both can be there at a time:
    /// so the kernel's overlayfs has it. To a caller of this engine it is a character device of number 0.
    fn take_names(&self) -> bool {
        false
    }
    /// Notes that a file is a copy of a lower layer's, for whoever compares them later.
    fn note_copy(&self, file: Inode) -> Result<()> {
        let _ = file;
        Ok(())
    }
}

/// A file system. A1
#[allow(
    clippy::missing_errors_doc,
    reason = "every operation refuses as the system call of its name does"
)]
pub trait Engine: Send + Sync + fmt::Debug {
    /// What it can do.
    fn abilities(&self) -> Abilities;

    /// Its first directory, which nobody has to forget.
    fn root(&self) -> Inode;

    /// What a name leads to. Never follows a link.
    fn lookup(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry>;

    /// The directory that a directory is in; of the root itself.
    fn lookup_parent(&self, caller: &Caller, directory: Inode) -> Result<Entry>;

    /// Gives back what that many entries held.
    fn forget(&self, inode: Inode, count: u64);

    /// What is known of a file, by any name or none.
    fn attributes(&self, caller: &Caller, inode: Inode) -> Result<Attributes>;

    /// Changes all of it or nothing.
    fn change(&self, caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes>;

    /// Where a symbolic link leads.
    fn read_link(&self, caller: &Caller, inode: Inode) -> Result<Vec<u8>>;

    /// Makes something. The mode is what it gets: the umask is applied already.
    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry>;

    /// Makes a regular file and opens it.
    fn create(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        mode: u32,
        how: Use,
    ) -> Result<(Entry, Handle)> {
        let entry = self.make(caller, parent, name, New::File, mode)?;
        let handle = self.open(caller, entry.inode, how);
        Ok((entry, handle.inspect_err(|_| self.forget(entry.inode, 1))?))
    }

    /// Gives a file one more name.
    fn link(&self, caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry>;

    /// Removes a name, of a directory only if that is empty. If it does not lead to `judged` it is `ESTALE`.
    fn remove(&self, caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()>;

    /// Renames.
    fn rename(&self, caller: &Caller, rename: &Rename<'_>) -> Result<()>;

    /// Opens a regular file.
    fn open(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle>;

    /// Opens a directory.
    fn open_directory(&self, caller: &Caller, inode: Inode) -> Result<Handle>;

    /// Closes either.
    fn release(&self, handle: Handle);

    /// Reads; less than asked for only at the end.
    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize>;

    /// Whether it is a stream: it has no length and no places, is read and written from where it is, and whoever reads may
    /// wait for what comes. Who serves it lets nobody else wait meanwhile.
    fn is_stream(&self, handle: Handle) -> bool {
        let _ = handle;
        false
    }

    /// Reads a stream; waiting ends with `EINTR` once it `is_unwanted`.
    fn read_stream(
        &self,
        handle: Handle,
        into: &mut [u8],
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<usize> {
        let _ = is_unwanted;
        self.read(handle, 0, into)
    }

    /// Writes.
    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written>;

    /// Reserves or frees a range.
    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()>;

    /// Finds data or a hole.
    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64>;

    /// What has been written is safe with the engine when this returns; an error of a write that was put off is told.
    fn flush(&self, handle: Handle) -> Result<()>;

    /// Whether [`Engine::flush`] does anything. If not, nobody has to ask for it at every `close`.
    fn flushes(&self) -> bool {
        true
    }

    /// As far as the engine is persistent, what has been written is there after a crash.
    fn sync(&self, handle: Handle) -> Result<()>;

    /// Lists what comes after a cookie, 0 for all, until the sink has enough. Names that are there all the while are
    /// listed exactly once.
    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()>;

    /// The value of an extended attribute.
    fn xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>>;

    /// All their names.
    fn xattrs(&self, caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>>;

    /// Sets one.
    fn set_xattr(
        &self,
        caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()>;

    /// Removes one.
    fn remove_xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<()>;

    /// How large it is, and how full.
    fn space(&self, inode: Inode) -> Result<Space>;

    /// The locks of a file, and its number there.
    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)>;

    /// The marks of an overlay above, if this engine keeps any.
    fn marks(&self) -> Option<&dyn Marks> {
        None
    }

    /// Whether something is mounted on a directory, so that its name can be neither moved nor removed.
    fn is_busy(&self, inode: Inode) -> bool {
        let _ = inode;
        false
    }

    /// Whether two inodes can be given names in each other's directories.
    fn are_together(&self, one: Inode, other: Inode) -> bool {
        let _ = (one, other);
        true
    }
}

/// The most that [`Inode`] and [`Handle`] use of their bits in an engine.
pub const ENGINE_BITS: u32 = 40;
