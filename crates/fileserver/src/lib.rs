//! Serves a virtual file system to those who are not in this process: to the kernel by FUSE, to others by 9P.
//!
//! - [`Fuse`] answers the kernel's requests on a descriptor of `/dev/fuse`, with any engine behind it.
//! - [`mount()`] makes such a descriptor and a mount of it.
//! - [`serve_in_foreground`] does both for a command.
//! - [`control`] is what is said to a process that serves a mount of a cage.
//! - [`NinepServer`] has a socket, with a [`Session`] for each client.
//! - [`Source`] is what a file system is made of, as a user writes it.
//!
//! Through FUSE the kernel decides who may do what, from the modes and owners that it is told; over 9P the rules of the
//! file system do. Knows no policy, and starts no program but one that a user has named.
#![forbid(unsafe_code)]

pub mod control;

mod foreground;
mod fuse;
mod mount;
mod ninep;
mod source;

pub use foreground::{
    Ended, Foreground, ForegroundError, hold_as_many_as_may_be, hold_signals,
    serve_9p_in_foreground, serve_in_foreground,
};
pub use fuse::{Fuse, Kernel, OneOwner, Settings, Sharing};
pub use mount::{Access, MountError, Mounted, Others, mount};
pub use ninep::{Dialect, Identity, Malformed, NinepServer, Request, ServeError, Session};
pub use source::{Source, SourceError};
