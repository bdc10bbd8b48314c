//! Many cages behind one HTTP API: `stockade serve`, and the client side of it.
//!
//! The daemon adds no mechanism: it asks [`cage`] for cages, keeps their handles, and lets peers that
//! the kernel vouches for talk to them. It never changes a cage that runs, and a cage never outlives
//! it. [`serve`] is its whole life; [`client`] talks to one; [`DOCUMENT`] describes the API.
#![forbid(unsafe_code)]

mod admission;
mod answer;
mod body;
mod cages;
pub mod client;
mod daemon;
mod idle;
mod input;
pub mod instance;
mod log;
mod not_started;
mod notify;
mod operations;
mod peer;
mod phase;
mod problem;
mod query;
mod readiness;
mod request;
mod retention;
mod route;
mod serve;
mod serve_error;
mod server;
mod sessions;
mod settings;
mod shown;
pub mod signal_name;
mod signals;
mod stall;
mod subject;
pub mod token;
mod unauthenticated;
pub mod unit;
mod untracked;
pub mod websocket;

pub use problem::{Code, Problem};
pub use serve::{Stopped, serve};
pub use serve_error::ServeError;
pub use settings::{Listen, Mode, Settings};

/// The API as an OpenAPI 3.1 document. A test holds it to the routes, another every answer to it.
pub const DOCUMENT: &str = include_str!("../openapi.json");
