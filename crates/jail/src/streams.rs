//! Standard input, output and error of a cage's program: where they lead, and how pid 1 opens them.
//! A terminal of the host never gets in; a program that wants one gets one of its own.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::control::Channel;
use crate::{Report, SetupFailure, Step, terminal};

/// Where one of the program's first three descriptors leads.
#[derive(Debug)]
pub enum Stream {
    /// To something the caller opened. Never a terminal of the host and never a directory: the
    /// caller sees to that.
    Descriptor(OwnedFd),
    /// To a terminal made for this cage, whose other end comes with [`Report::Terminal`].
    Terminal,
    /// Nowhere.
    Null,
}

/// Standard input, output and error of the program.
#[derive(Debug)]
pub struct ProgramStreams {
    /// Standard input.
    pub stdin: Stream,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
}

impl ProgramStreams {
    /// Whether one of them leads to a terminal that is made for the cage.
    pub fn have_terminal(&self) -> bool {
        let is_terminal = |stream: &Stream| matches!(stream, Stream::Terminal);
        [&self.stdin, &self.stdout, &self.stderr].into_iter().any(is_terminal)
    }
}

impl ProgramStreams {
    /// All three nowhere.
    pub fn null() -> Self {
        Self { stdin: Stream::Null, stdout: Stream::Null, stderr: Stream::Null }
    }

    /// The program's descriptors, all of them above the standard ones so that putting them into place
    /// cannot overwrite one that is still needed.
    pub(crate) fn open(
        self,
        control: &Channel,
    ) -> Result<([OwnedFd; 3], Option<OwnedFd>), SetupFailure> {
        let wanted = [self.stdin, self.stdout, self.stderr];
        let terminal = if wanted.iter().any(|stream| matches!(stream, Stream::Terminal)) {
            let pair = terminal::open()?;
            control
                .send(&Report::Terminal, &[pair.supervisor.as_fd()])
                .map_err(|errno| SetupFailure::kernel(Step::Terminal, "the program", errno))?;
            Some(pair.program)
        } else {
            None
        };
        let open = |stream: Stream| -> Result<OwnedFd, Errno> {
            let descriptor = match (stream, &terminal) {
                (Stream::Descriptor(descriptor), _) => descriptor,
                (Stream::Terminal, Some(terminal)) => rustix::io::fcntl_dupfd_cloexec(terminal, 3)?,
                (Stream::Null | Stream::Terminal, _) => {
                    let flags = OFlags::RDWR | OFlags::CLOEXEC;
                    rustix::fs::openat(CWD, c"/dev/null", flags, Mode::empty())?
                }
            };
            rustix::io::fcntl_dupfd_cloexec(descriptor, 3)
        };
        let [stdin, stdout, stderr] = wanted;
        let failed = |errno| SetupFailure::kernel(Step::Terminal, "the program", errno);
        let opened = [
            open(stdin).map_err(failed)?,
            open(stdout).map_err(failed)?,
            open(stderr).map_err(failed)?,
        ];
        Ok((opened, terminal))
    }
}
