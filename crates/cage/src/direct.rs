//! A program in a process group of its own: the caller's user, files and network. K158, K159
//!
//! What can be tracked of it is its process group. A descendant that makes a group or a session of
//! its own is out of reach: nothing that is short of a cage holds it, and nothing here pretends to.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use jail::{End, ProgramStreams, Stream};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions};
use sys::exec::CStringArray;
use sys::spawn::Program;

use crate::outcome::SpawnError;
use crate::runner::UncagedProgram;

/// A program that runs in a process group of its own.
#[derive(Debug)]
pub(crate) struct Direct {
    pub(crate) pid: Pid,
    pidfd: OwnedFd,
}

impl Direct {
    /// Starts the program.
    pub(crate) fn start(
        program: &UncagedProgram,
        streams: ProgramStreams,
    ) -> Result<Self, SpawnError> {
        let name = program.argv.first().ok_or(SpawnError::Supervise(Errno::INVAL))?;
        let failed = |errno| {
            let program = name.to_string_lossy().into_owned();
            match errno {
                Errno::NOENT | Errno::NOTDIR => SpawnError::NotFoundUncaged { program },
                errno => SpawnError::NotExecutable { program, errno },
            }
        };
        let streams = [streams.stdin, streams.stdout, streams.stderr];
        let [stdin, stdout, stderr] = streams.map(descriptor);
        let (stdin, stdout, stderr) = (stdin?, stdout?, stderr?);
        let words = || -> Result<_, Errno> {
            let arguments = program.argv.iter().map(|word| c_string(word.as_bytes()));
            let environment = program
                .environment
                .iter()
                .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
            Ok((
                c_string(name.as_bytes())?,
                CStringArray::new(arguments.collect::<Result<_, _>>()?),
                CStringArray::new(environment.collect::<Result<_, _>>()?),
                c_string(program.working_directory.as_os_str().as_bytes())?,
            ))
        };
        let (path, arguments, environment, working_directory) = words().map_err(failed)?;
        let pid = sys::spawn::spawn(&Program {
            path: &path,
            arguments: &arguments,
            environment: &environment,
            working_directory: &working_directory,
            descriptors: &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()],
        })
        .map_err(failed)?;
        Self::of_child(pid)
    }

    /// A child of this process that leads a process group.
    pub(crate) fn of_child(pid: Pid) -> Result<Self, SpawnError> {
        // The child cannot have been reaped: only this value's owner does that.
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd }),
            Err(errno) => {
                let _gone = sys::signal::send_to_group(pid, libc::SIGKILL);
                let _reaped = rustix::process::waitpid(Some(pid), WaitOptions::empty());
                Err(SpawnError::Supervise(errno))
            }
        }
    }

    /// Readable when the program is gone.
    pub(crate) fn gone(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Whether the program is gone.
    pub(crate) fn has_ended(&self) -> bool {
        let mut process = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut process, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Sends a signal to the program and to what it started and has not set apart.
    pub(crate) fn signal(&self, signal: i32) -> Result<(), Errno> {
        sys::signal::send_to_group(self.pid, signal)
    }

    /// Whether the program has stopped since this was last asked.
    pub(crate) fn has_stopped(&self) -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let waited = rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
        matches!(waited, Ok(Some(_)))
    }

    /// How the program ended, once [`Self::gone`] is readable. What is left of its group is ended
    /// first: as long as the program is not reaped, nobody else can have its group's number.
    pub(crate) fn reap(&self) -> End {
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

/// Where a stream leads, at a number that putting the three into place cannot overwrite.
fn descriptor(stream: Stream) -> Result<OwnedFd, SpawnError> {
    let nowhere = || {
        rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(SpawnError::Supervise)
    };
    let descriptor = match stream {
        Stream::Null => nowhere()?,
        Stream::Descriptor(descriptor) => descriptor,
        // Nothing makes one for a program without a cage.
        Stream::Terminal => return Err(SpawnError::Supervise(Errno::NOTTY)),
    };
    rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST_BEYOND_STANDARD)
        .map_err(SpawnError::Supervise)
}

fn c_string(bytes: &[u8]) -> Result<CString, Errno> {
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

const FIRST_BEYOND_STANDARD: i32 = 3;
