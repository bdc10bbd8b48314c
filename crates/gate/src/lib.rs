//! The network gatekeeper: gives a cage exactly the hosts that its Plan names.
//!
//! The pure half decides and parses and never does I/O. The other half is a process of its own that
//! serves the sockets which were made inside a cage's namespace; it never learns of a policy, only of
//! a Plan, and reads nothing from a cage before it has jailed itself.
#![forbid(unsafe_code)]

pub mod account;
pub mod addresses;
pub mod budget;
mod cage;
pub mod control;
pub mod decision;
mod dial;
pub mod dns;
pub mod event;
mod flow;
pub mod inspect;
pub mod limits;
pub mod process;
mod record;
mod relay;
pub mod rules;
pub mod settings;
pub mod synthetic;
mod watched;
