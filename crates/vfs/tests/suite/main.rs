//! Every engine under one suite: POSIX by family, limits, the trusted side's way in, and what each engine is for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod attack;
mod engines;
mod limits;
mod listing;
mod overlay;
mod posix;
mod tree;
mod trusted;
