//! What a cage may do.
//!
//! Text, flags and requests become a [`Policy`]; [`Policy::narrow`] derives one from another and
//! can only take authority away; [`compile`] turns a `Policy` and the facts that `resolve`
//! found on the host into a [`plan::Plan`].
//!
//! This crate never does I/O: it opens no file, reads no environment and asks no kernel.
#![forbid(unsafe_code)]

pub mod access;
pub mod algebra;
pub mod built_in;
pub mod ceiling;
pub mod compile;
pub mod facts;
pub mod host_names;
pub mod model;
pub mod network_settings;
pub mod place;
pub mod protected;
pub mod schema;
pub mod secrets;
pub mod text;
pub mod ungrantable;

pub use plan::destination as net;
pub use plan::shown;
pub use text::capabilities;

pub use algebra::{Refusal, Refusals, is_within};
pub use ceiling::Ceiling;
pub use compile::{CompileError, Invocation, compile};
pub use facts::HostFacts;
pub use model::{
    Cage, Commands, EnvironmentRule, FsAccess, FsRule, Home, Limits, Mount, Network, Policy, Reach,
    RuleOrigin, Seccomp, State,
};
pub use network_settings::{NetworkSettings, Proxy, ProxyAddress, ProxyHost};
pub use place::Place;
pub use plan::kind::{self, Fault, Kind, with_causes};
