//! The standard input of a program: a pipe, or its terminal. A program that does not read makes its
//! writers wait, and nobody else.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::OFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Mutex, watch as announced};

use crate::readiness::watch;

/// What is written to a program.
#[derive(Debug)]
pub(crate) struct Input {
    kind: Kind,
    /// Whether there ever was one.
    exists: bool,
    /// One writer at a time; none when it is closed.
    descriptor: Mutex<Option<AsyncFd<OwnedFd>>>,
    /// Tells a writer that waits for the program.
    closed: announced::Sender<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Closing it ends the program's input.
    Pipe,
    /// Its input ends with a key.
    Terminal,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The program was started without.
    #[error("the program has no input")]
    Missing,
    /// It has ended.
    #[error("the program's input is closed")]
    Closed,
    /// The program does not read it any more.
    #[error("the program's input cannot be written: {0}")]
    Broken(io::Error),
}

impl Input {
    /// The input of a program, if it has one.
    pub(crate) fn new(descriptor: Option<OwnedFd>, kind: Kind) -> io::Result<Self> {
        let descriptor = match descriptor {
            Some(descriptor) => {
                let flags = rustix::fs::fcntl_getfl(&descriptor)?;
                rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
                Some(watch(descriptor, Interest::WRITABLE)?)
            }
            None => None,
        };
        let exists = descriptor.is_some();
        let descriptor = Mutex::new(descriptor);
        Ok(Self { kind, exists, descriptor, closed: announced::Sender::new(false) })
    }

    /// Writes all of these bytes, as fast as the program takes them.
    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<(), InputError> {
        let mut held = self.descriptor.lock().await;
        let none = if self.exists { InputError::Closed } else { InputError::Missing };
        let descriptor = held.as_ref().ok_or(none)?;
        let mut closed = self.closed.subscribe();
        let written = tokio::select! {
            _closed = closed.wait_for(|closed| *closed) => return Err(InputError::Closed),
            written = write_all(descriptor, bytes) => written,
        };
        match written {
            Ok(()) => Ok(()),
            Err(error) => {
                *held = None;
                Err(InputError::Broken(error))
            }
        }
    }

    /// Nothing more will be written by whoever calls this.
    pub(crate) async fn end(&self) -> Result<(), InputError> {
        match self.kind {
            Kind::Pipe => {
                self.close().await;
                Ok(())
            }
            Kind::Terminal => self.write(&[END_OF_TRANSMISSION]).await,
        }
    }

    /// Lets go of it.
    pub(crate) async fn close(&self) {
        self.closed.send_replace(true);
        *self.descriptor.lock().await = None;
    }
}

async fn write_all(descriptor: &AsyncFd<OwnedFd>, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut ready = descriptor.writable().await?;
        // Asked before the attempt, which forgets it.
        let is_closed = ready.ready().is_write_closed();
        let written = ready.try_io(|descriptor| {
            rustix::io::write(descriptor.get_ref().as_fd(), rest).map_err(io::Error::from)
        });
        match written {
            Ok(Ok(count)) => rest = rest.get(count..).unwrap_or_default(),
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(error)) => return Err(error),
            // Nobody has the terminal open any more who could make room in it, and it is called ready
            // from now on all the same.
            Err(_would_block) if is_closed => return Err(io::ErrorKind::BrokenPipe.into()),
            Err(_would_block) => {}
        }
    }
    Ok(())
}

/// What a terminal takes for the end of its input, unless the program has told it otherwise.
const END_OF_TRANSMISSION: u8 = 4;
