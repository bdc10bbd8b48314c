//! The host's way into files that cages have: those of sessions as a cage would see them, and of the sources that mounts
//! have. Lists, reads, copies, writes and removes, for the command and the daemon. A9
//!
//! - [`Address`] is what a person names: `SESSION:PATH`, or a source such as `s3://BUCKET/PREFIX`.
//! - [`Tree`] is an open one: a file system of `vfs`, with the words for what it refuses.
//! - [`copy()`] brings trees from one to the other; [`command`] is what a person types.
//!
//! No link leads out of a tree, however it is made: every name is found by the walk of `vfs`, in engines that reach nothing
//! beside their own. A view that a cage has mounted is read and not written, and is held while it is written.
#![forbid(unsafe_code)]

mod address;
pub mod command;
mod copy;
mod entry;
mod error;
mod operations;
mod session_tree;
mod sources;
mod tree;

pub use address::Address;
pub use copy::{Copied, Existing, Links, Local, Wishes, copy};
pub use entry::Entry;
pub use error::FilesError;
pub use tree::{Purpose, Tree};
