//! What the benchmarks have in common: what many measurements come to, and how much memory processes
//! need. Knows nothing of what is measured.
#![forbid(unsafe_code)]

pub mod memory;
pub mod statistics;
