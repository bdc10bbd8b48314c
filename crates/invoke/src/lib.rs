//! Executors with manifests: programs that an agent calls with one JSON object and that answer with
//! one. [`wrap_command`] gives a command line that any process API can start; [`invoke`] runs the
//! executor and returns its answer, with the level of isolation that held.
//!
//! What a call may do comes from `manifest`; the cage is built by the `stockade` program, which this
//! crate starts as a child: one for each call, or one for many ([`host`]). So it works in a process with any number
//! of threads. What stays between calls are that child and the grants that a user stored ([`grants`]).
//!
//! The first look at the arguments (the filter) and every refusal hold with a cage and without one.
#![forbid(unsafe_code)]

mod call;
mod decide;
mod error;
mod executor;
mod files;
mod guest;
mod options;
mod process;
mod report;
mod roots;
mod sandbox;
mod status;
mod wrap;

pub mod approval;
pub mod examine;
pub mod grants;
pub mod host;
pub mod sealed;

pub use approval::{Answer, Approver, Callback, Nobody, Question, Terminal};
pub use call::{Invoked, invoke};
pub use error::{Failure, InvokeError, Stream};
pub use examine::{Examined, examine};
pub use executor::{Executor, LoadError};
pub use files::{FileError, Pinned};
pub use options::{Calls, Options, Unsandboxed};
pub use report::Left;
pub use sandbox::{Level, Sandbox};
pub use status::{
    Availability, ProbeError, Status, available, bwrap_available, disabled, disabled_by, status,
};
pub use wrap::{Wrapped, bwrap_flags, wrap_command};

pub use manifest::Autonomy;
pub use manifest::{Backend, Filter, Grants, Manifest};
