//! File systems of ours as the kernel has them, through FUSE: every family of system calls, random operations and real
//! programs, each beside tmpfs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod kernel;
mod programs;
mod served;
mod sharing;

/// Does the work of the others in a process that has its root in what is mounted.
#[test]
fn worker() {
    conformance::through::work_if_asked();
}
