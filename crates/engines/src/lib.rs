//! Programs that run inside this process instead of as one of their own: WASM modules and JavaScript. Whatever such a guest
//! sees of files is a [`vfs::FileSystem`], and whatever else it has is in its [`World`]: arguments, variables, streams,
//! limits. A1
//!
//! A guest never holds a descriptor, a path or a handle of the host: it names things by numbers and texts, and this crate
//! looks up what they stand for. Nothing here reads a policy or builds a cage: the program `stockade-guest`, which uses
//! this, runs inside one.
#![forbid(unsafe_code)]

pub mod javascript;
mod kind;
mod limits;
mod processor;
mod requests;
mod streams;
pub mod wasm;
mod world;

pub use kind::GuestKind;
pub use limits::{GuestLimits, Limit};
pub use streams::{Input, Kept, Output, Streams};
pub use world::{Around, CallsTools, End, Preopen, World};
