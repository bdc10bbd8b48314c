//! Every call of WASI preview 1, asked by modules written for it, over each engine of the file system; the same modules as
//! components; and components that are written for preview 2. A22
//!
//! A test is a sequence of calls with the number that each must return; it becomes a module whose `_start` makes them. What
//! the module writes to its output is what the calls have put into its memory.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::unreachable,
    clippy::panic,
    reason = "tests"
)]

#[path = "suite/wasi/descriptors.rs"]
mod descriptors;
#[path = "suite/wasi/directories.rs"]
mod directories;
#[path = "suite/wasi/handles.rs"]
mod handles;
#[path = "suite/wasi/hostile.rs"]
mod hostile;
#[path = "suite/wasi/http.rs"]
mod http;
#[path = "suite/native.rs"]
mod native;
#[path = "suite/wasi/paths.rs"]
mod paths;
#[path = "suite/wasi/process.rs"]
mod process;
#[path = "suite/program.rs"]
mod program;
#[path = "suite/wasi/programs.rs"]
mod programs;
#[path = "suite/wasi/sockets.rs"]
mod sockets;
#[path = "suite/wasi/waiting.rs"]
mod waiting;
