//! Kernel calls that no library wraps, behind functions that are safe to call, and the packets by which our
//! processes hand each other descriptors, and the removal of what a cage has filled.
//!
//! The only crate with unsafe code; each use says which obligation it has and what meets it.
//! Holds no policy and makes no decision.
#![allow(unsafe_code)]

pub mod cable;
pub mod channel;
pub mod clone;
pub mod datagrams;
pub mod descriptors;
pub mod exec;
pub mod holder;
pub mod landlock;
pub mod loopback;
pub mod mount;
mod netlink;
pub mod nftables;
pub mod packet_log;
pub mod peer;
pub mod raw;
pub mod route;
pub mod seccomp;
pub mod signal;
pub mod socket_options;
pub mod spawn;
pub mod stack;
pub mod terminal;
pub mod wipe;

pub use rustix::io::Errno;
