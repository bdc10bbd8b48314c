//! The signals that the daemon is told to end or to read again with, read instead of received.

use std::os::fd::{AsFd as _, OwnedFd};

use sys::signal::{Received, SignalSet};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::readiness::watch;
use crate::serve_error::ServeError;

/// Signals to this process.
pub(crate) struct Signals {
    descriptor: OwnedFd,
}

impl Signals {
    /// Takes them. Before the first thread, so that all threads leave them alone.
    pub(crate) fn take() -> Result<Self, ServeError> {
        let set = SignalSet::of(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
        let failed = |errno: rustix::io::Errno| ServeError::kernel("take signals", &errno.into());
        sys::signal::block(&set).map_err(failed)?;
        Ok(Self { descriptor: sys::signal::descriptor(&set).map_err(failed)? })
    }

    /// The same for a task of the runtime that this is called in.
    pub(crate) fn watched(self) -> Result<WatchedSignals, ServeError> {
        let watched = watch(self.descriptor, Interest::READABLE);
        watched.map(WatchedSignals).map_err(|error| ServeError::kernel("wait for signals", &error))
    }
}

/// Signals to this process, for a task.
pub(crate) struct WatchedSignals(AsyncFd<OwnedFd>);

impl WatchedSignals {
    /// The next one.
    pub(crate) async fn next(&self) -> Result<Received, ServeError> {
        let failed = |error: std::io::Error| ServeError::kernel("wait for signals", &error);
        loop {
            let mut ready = self.0.readable().await.map_err(failed)?;
            match sys::signal::read_with_word(self.0.get_ref().as_fd()) {
                Ok(Some(signal)) => return Ok(signal),
                Ok(None) => ready.clear_ready(),
                Err(errno) => return Err(failed(errno.into())),
            }
        }
    }
}
