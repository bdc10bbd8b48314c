//! A program without a cage: the caller's own user, files and network. K158, K159
//!
//! What can be tracked of it is its process group. A descendant that makes a group or a session of
//! its own is out of reach: nothing that is short of a cage holds it, and nothing here pretends to.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use jail::{End, ProgramStreams, Stream};
use policy::shown::shown;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use super::error::RunError;
use super::request::UncagedProgram;

/// A program that runs in a process group of its own.
#[derive(Debug)]
pub(super) struct Direct {
    pub(super) pid: Pid,
    pidfd: OwnedFd,
}

impl Direct {
    /// Starts the program.
    pub(super) fn start(
        program: &UncagedProgram,
        streams: ProgramStreams,
    ) -> Result<Self, RunError> {
        let [name, arguments @ ..] = program.argv.as_slice() else {
            return Err(RunError::Unsupported("there is no program to run"));
        };
        let failed = |error: std::io::Error| RunError::Uncaged {
            program: shown(name.display()),
            errno: Errno::from_io_error(&error).unwrap_or(Errno::INVAL),
        };
        let ProgramStreams { stdin, stdout, stderr } = streams;
        let child = Command::new(name)
            .args(arguments)
            .env_clear()
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&program.working_directory)
            .process_group(0)
            .stdin(stdio(stdin)?)
            .stdout(stdio(stdout)?)
            .stderr(stdio(stderr)?)
            .spawn()
            .map_err(failed)?;
        let pid = Pid::from_child(&child);
        // The child cannot have been reaped: only this value's owner does that.
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd }),
            Err(errno) => {
                let mut child = child;
                let _gone = child.kill();
                let _reaped = child.wait();
                Err(RunError::Kernel { call: "open a handle on the program", errno })
            }
        }
    }

    /// Readable when the program is gone.
    pub(super) fn gone(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Sends a signal to the program and to what it started and has not set apart.
    pub(super) fn signal(&self, signal: i32) -> Result<(), Errno> {
        sys::signal::send_to_group(self.pid, signal)
    }

    /// How the program ended, once [`Self::gone`] is readable. What is left of its group is ended
    /// first: as long as the program is not reaped, nobody else can have its group's number.
    pub(super) fn reap(&self) -> End {
        let _gone = self.signal(libc::SIGKILL);
        loop {
            let waited =
                rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED);
            return match waited {
                Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => End::Exited(code),
                    (None, Some(signal)) => End::Signalled(signal),
                    (None, None) => End::Signalled(libc::SIGKILL),
                },
                Err(Errno::INTR) => continue,
                // Somebody else in this process has reaped it, and with it how it ended.
                Ok(None) | Err(_) => End::Signalled(libc::SIGKILL),
            };
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // By its handle: the number may be another's by now. A program that was reaped is gone.
        let _gone = sys::signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
        let _reaped =
            rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED);
    }
}

fn stdio(stream: Stream) -> Result<Stdio, RunError> {
    match stream {
        Stream::Null => Ok(Stdio::null()),
        Stream::Descriptor(descriptor) => Ok(descriptor.into()),
        Stream::Terminal => {
            Err(RunError::Unsupported("a program without a cage cannot be given a terminal"))
        }
    }
}
