//! When programs begin: each says what time it is on its standard output, which leads here meanwhile.
//! Starts nothing itself.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use rustix::pipe::PipeFlags;

use crate::mechanisms::Mechanism;

/// The program that says what time it is, in nanoseconds.
pub(crate) const DATE: &[&str] = &["/usr/bin/date", "+%s%N"];

/// How long a start took.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Until the program began.
    pub(crate) begun: Duration,
    /// Until everything had ended.
    pub(crate) ended: Duration,
}

/// Standard output while it leads here. Dropping it restores what was there before.
pub(crate) struct Stamps {
    printed: File,
    before: OwnedFd,
}

impl Stamps {
    pub(crate) fn begin() -> io::Result<Self> {
        // A program that has said nothing is an error, and not waited for.
        let (printed, inside) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let before = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdout(inside)?;
        Ok(Self { printed: printed.into(), before })
    }

    /// Has one mechanism run [`DATE`].
    pub(crate) fn time(&mut self, mechanism: &mut Mechanism<'_>) -> io::Result<Times> {
        let asked = SystemTime::now();
        let ended = mechanism.time()?;
        let mut text = [0; 64];
        let length = self.printed.read(&mut text)?;
        let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default());
        let nanoseconds = text.trim().parse().map_err(io::Error::other)?;
        let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        let begun = began.duration_since(asked).map_err(io::Error::other)?;
        Ok(Times { begun, ended })
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        // Who measures further says so if this has failed.
        let _restored = rustix::stdio::dup2_stdout(&self.before);
    }
}
