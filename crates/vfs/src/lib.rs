//! The virtual file system: engines that hold files, behind one trait; one walker from paths to files; the rules of
//! POSIX, asked in one place.
//!
//! - [`Engine`] is what every file system of ours does, on inodes and handles: [`Memory`], [`Host`] for a directory of the
//!   host, [`Overlay`] for layers, [`Mounts`] for a tree of engines, [`ReadOnly`] for what nobody changes any more.
//! - [`Scoped`] holds a guest to rules about paths, before any engine is asked.
//! - [`FileSystem`] is what a program sees: the system calls about files, for any caller, and the trusted side's way in.
//!
//! Names are bytes, errors are numbers of the kernel, times have a sign. Nothing here knows of policies, mounts nothing
//! and starts nothing. What serves a guest through FUSE or 9P stands on the same trait.
#![forbid(unsafe_code)]

mod attributes;
mod caller;
mod engine;
mod error;
mod filesystem;
mod host;
mod limits;
mod locks;
mod memory;
mod mounts;
mod name;
mod overlay;
mod read_only;
mod rules;
mod scope;
mod table;
mod walker;

pub use attributes::{
    ALL_MODE_BITS, Attributes, Changes, Kind, NewTime, SET_GID, SET_UID, STICKY, Space, Timestamp,
};
pub use caller::Caller;
pub use engine::{
    Abilities, Allocate, ENGINE_BITS, Engine, Entry, Handle, Inode, Listed, Marks, New, Rename,
    Replace, Seek, SetXattr, Use, WriteAt, Written,
};
pub use error::{Error, Result};
pub use filesystem::{
    At, Batch, Done, Existing, FileSystem, ListedName, OpenFile, OpenFlags, Owner, Removal, SeekTo,
    Times,
};
pub use host::{Host, HostMode, descriptors_are_in};
pub use limits::{Counter, Limits, Setting};
pub use locks::{Held as HeldLock, LockKind, LockTable, Patience, Range};
pub use memory::Memory;
pub use memory::contents::Contents;
pub use mounts::{Mounts, Placement};
pub use name::{LONGEST_NAME, LONGEST_PATH, Name};
pub use overlay::Overlay;
pub use read_only::ReadOnly;
pub use rules::{Wish, inherit};
pub use scope::{Grant, Scoped};
pub use table::{Table, read, write};
pub use walker::Follow;
