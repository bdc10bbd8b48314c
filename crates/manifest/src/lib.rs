//! The manifest of an executor: a program that an agent calls with typed arguments, and the
//! capabilities that it declares.
//!
//! Text or a plain dictionary becomes a [`Manifest`]; a [`Filter`] looks at the arguments of a call;
//! [`derive()`] turns both and the caller's grants into the [`policy::Policy`] of that one call.
//! What holds is within the manifest, the grants and the level of autonomy; arguments only narrow.
//!
//! This crate never does I/O: what it has to know about the host is given to it as a [`Place`].
#![forbid(unsafe_code)]

pub mod arguments;
pub mod autonomy;
pub mod derive;
pub mod filter;
pub mod grants;
pub mod hints;
pub mod hosts;
pub mod model;
pub mod read;
pub mod schema;

pub use autonomy::Autonomy;
pub use derive::{
    Asked, Call, Confined, Derived, Found, Place, Reason, ReasonCode, Refused, derive,
};
pub use filter::{CheckedArguments, Filter, FilterError, FilterRule};
pub use grants::{Grant, GrantError, Grants};
pub use model::{
    Argument, ArgumentType, Backend, Capability, CodeFile, Hint, Limits, Manifest, PathHint, Start,
    Test, When,
};
pub use read::{ManifestError, ManifestErrors};
pub use schema::schema;
