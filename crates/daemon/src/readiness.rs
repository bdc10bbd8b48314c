//! Descriptors that a task can wait for. The one place where they are handed to the runtime.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Lets tasks of the runtime that this is called in wait for a descriptor.
#[expect(
    deprecated,
    reason = "the replacement is unsafe because a type may close or exchange its descriptor while it \
              is watched, which an owned one cannot"
)]
pub(crate) fn watch(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, interest)
}
