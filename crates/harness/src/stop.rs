//! What stops an agent: Ctrl-C and the like. The first one stops what it does, within a second, and keeps what there is;
//! another one while that is under way ends the process, and with it every cage.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use advice::Failure;
use cage::Kind;
use model::Cancel;
use rustix::event::{PollFd, PollFlags, poll};
use sys::signal::SignalSet;

/// Signals to this process.
pub(crate) struct Stop {
    descriptor: OwnedFd,
    /// Ended for good, not only what it does now.
    pub(crate) is_final: Arc<AtomicBool>,
}

impl Stop {
    /// Takes them. Before the first thread, so that all threads leave them alone.
    pub(crate) fn take() -> Result<Self, Failure> {
        let set = SignalSet::of(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
        let failed = |errno: rustix::io::Errno| {
            Failure::new(Kind::CannotBuild, format!("cannot take signals: {errno}"))
        };
        sys::signal::block(&set).map_err(failed)?;
        Ok(Self {
            descriptor: sys::signal::descriptor(&set).map_err(failed)?,
            is_final: Arc::default(),
        })
    }

    /// Cancels on the first one, and ends the process on another one that finds it cancelled.
    pub(crate) fn watch(self, cancel: Cancel) -> Result<(), Failure> {
        let task = move || loop {
            let mut polled = [PollFd::from_borrowed_fd(self.descriptor.as_fd(), PollFlags::IN)];
            if poll(&mut polled, None).is_err() {
                continue;
            }
            let Ok(Some(signal)) = sys::signal::read(self.descriptor.as_fd()) else { continue };
            if signal != libc::SIGINT {
                self.is_final.store(true, Ordering::Relaxed);
            }
            if cancel.is_cancelled() {
                // Every cage dies with its supervisor.
                std::process::exit(128 + signal);
            }
            cancel.cancel();
        };
        let builder = std::thread::Builder::new().name("signals".to_owned());
        builder.spawn(task).map(drop).map_err(|error| {
            Failure::new(Kind::CannotBuild, format!("cannot start a thread: {error}"))
        })
    }
}
