//! Files that lie far away: an engine over an object store that speaks S3, over Azure's store of blobs, or over Google Drive.
//!
//! - [`Remote`] is the engine. It reads ahead into a bounded cache, and writes a file as a whole when it is flushed, synced
//!   or closed: none of these succeeds before the other side has it.
//! - [`Backend`] is what the other side can do; [`S3`], [`Azure`] and [`Drive`] are three of them.
//! - Every request has a time limit and a bounded number of attempts. What fails is an errno for the guest and a
//!   [`Fault`] for whoever looks.
//!
//! - [`Notes`] are the mode, the times and all else that an entry has beside its contents, where the other side keeps them.
//!
//! What cannot be had is refused, not pretended: where no notes are kept there are no links, no modes and owners of single
//! files, no times to be set. A credential is named by reference, and goes nowhere but into the header of a request.
#![forbid(unsafe_code)]

mod azure;
mod backend;
mod cache;
mod credentials;
mod dial;
mod drive;
mod engine;
mod failure;
mod hash;
mod http;
mod notes;
mod objects;
mod s3;
mod settings;
mod time;
mod xml;

pub use azure::{Azure, AzurePlace};
pub use backend::{Backend, Meta, MetaKind, Mode, Write};
pub use credentials::{CredentialError, Secret};
pub use dial::Dial;
pub use drive::{Drive, DrivePlace, DriveToken};
pub use engine::Remote;
pub use failure::{Failure, Fault, Why};
pub use http::{EndpointError, Http, host_and_port};
pub use notes::{NotedKind, Notes};
pub use objects::Linked;
pub use s3::{S3, S3Place};
pub use settings::{Owners, Settings};
