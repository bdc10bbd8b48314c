//! How long a cage takes to start.
#![forbid(unsafe_code)]

fn main() {}
