//! What the benchmarks have in common: what many measurements come to, how much memory processes need,
//! and when a program began. Knows nothing of what is measured.
#![forbid(unsafe_code)]

pub mod memory;
pub mod stamp;
pub mod statistics;
