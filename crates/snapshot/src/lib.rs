//! Trees of files, from one place to another: a directory of the host, a store or a snapshot in one, a tar archive.
//!
//! - [`Item`] is one file of a tree, whatever it comes from; a tree is a sequence of them, directories first.
//! - [`from_engine`] and [`from_archive`] give items to a [`Sink`]: [`IntoStore`], [`IntoHost`], [`IntoArchive`].
//! - [`Library`] is the store in which a user's snapshots are kept, and [`command`] what a user does with it.
//!
//! What comes from outside names nothing above where it is put: no `..`, no absolute name, no device but the mark that
//! a layer has for what is removed. Nothing here decides who may have what.
#![forbid(unsafe_code)]

mod archive;
pub mod command;
mod engine;
mod error;
mod host;
mod item;
mod library;
mod store_sink;

pub use archive::{Bounds, IntoArchive, from_archive};
pub use engine::from_engine;
pub use error::SnapshotError;
pub use host::{IntoHost, read_host};
pub use item::{Contents, Item, ItemKind, Sink};
pub use library::Library;
pub use store_sink::IntoStore;
