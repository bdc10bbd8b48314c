//! Runs one command to its end: its input given whole, its outputs read up to a bound, its time
//! watched. Works in a process with any number of threads, and leaves neither a process nor a descriptor
//! behind. Knows nothing of cages.

mod attend;

use std::ffi::{CString, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, SeekFrom};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions};
use sys::exec::CStringArray;
use sys::spawn::Program;

pub(crate) use attend::{Insistence, Outputs, Running, pipe};

#[cfg(test)]
mod tests;

/// A command to run.
pub(crate) struct Job<'a> {
    /// The command; a name without a slash is looked up in `PATH`.
    pub(crate) argv: &'a [OsString],
    /// Where it starts.
    pub(crate) working_directory: &'a Path,
    /// What it reads on standard input.
    pub(crate) input: &'a [u8],
    /// The most that is kept of each output; a command that writes more is ended.
    pub(crate) most_output: usize,
    /// How long it may take.
    pub(crate) deadline: Duration,
    /// How it is told to end.
    pub(crate) kind: Kind,
    /// Asked now and then whether nobody wants the result any more.
    pub(crate) is_cancelled: Option<&'a dyn Fn() -> bool>,
}

/// What kind of command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `stockade run` with its report at descriptor 3: it ends its cage when it is asked to, and when it
    /// dies.
    Supervisor,
    /// Any other, of which the whole process group is ended.
    Group,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// What a supervisor has written to its descriptor 3.
    pub(crate) report: Vec<u8>,
    /// Why it was ended, if it was.
    pub(crate) ended_for: Option<EndedFor>,
    pub(crate) duration: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exited(i32),
    Signalled(i32),
    /// Somebody else in this process has reaped it.
    Unknown,
}

/// Why a command was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedFor {
    Deadline,
    Stdout,
    Stderr,
    Cancelled,
}

/// A step of a run that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {}", std::io::Error::from(*.errno))]
pub(crate) struct RunFailure {
    pub(crate) call: &'static str,
    pub(crate) errno: Errno,
}

/// Runs the command and returns when it is gone and its outputs are closed.
pub(crate) fn run(job: &Job<'_>) -> Result<Ran, RunFailure> {
    let begun = Instant::now();
    let input = sealed_input(job.input).map_err(failed("memfd_create"))?;
    let [stdout, stderr, report] = [pipe()?, pipe()?, pipe()?];
    let child = Child::start(job, [input, stdout.1, stderr.1, report.1])?;
    let mut outputs = Outputs::new(stdout.0, stderr.0, report.0, job.most_output);
    let ended_for = outputs.attend(&child, job, begun)?;
    let end = child.into_end();
    let [stdout, stderr, report] = outputs.into_kept();
    Ok(Ran { end, stdout, stderr, report, ended_for, duration: begun.elapsed() })
}

/// A started command. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    kind: Kind,
    is_reaped: bool,
}

impl Child {
    /// Starts a command with these descriptors, from 0 on; of one of a group the streams alone.
    pub(crate) fn start<const COUNT: usize>(
        job: &Job<'_>,
        given: [OwnedFd; COUNT],
    ) -> Result<Self, RunFailure> {
        let given: Vec<OwnedFd> =
            given.iter().map(out_of_the_way).collect::<Result<_, _>>().map_err(failed("dup"))?;
        let words = |words: &[OsString]| -> Result<Vec<CString>, Errno> {
            words.iter().map(|word| c_string(word.as_bytes())).collect()
        };
        let variables: Vec<OsString> = std::env::vars_os()
            .map(|(name, value)| [name, OsString::from("="), value].into_iter().collect())
            .collect();
        let program = job.argv.first().ok_or(Errno::INVAL);
        let path = program.and_then(|word| c_string(word.as_bytes())).map_err(failed("exec"))?;
        let arguments = words(job.argv).map(CStringArray::new).map_err(failed("exec"))?;
        let environment = words(&variables).map(CStringArray::new).map_err(failed("exec"))?;
        let directory = c_string(job.working_directory.as_os_str().as_bytes());
        let directory = directory.map_err(failed("chdir"))?;
        let count = match job.kind {
            Kind::Supervisor => given.len(),
            Kind::Group => STREAMS,
        };
        let descriptors: Vec<BorrowedFd<'_>> = given.iter().take(count).map(AsFd::as_fd).collect();
        let program = Program {
            path: &path,
            arguments: &arguments,
            environment: &environment,
            working_directory: &directory,
            descriptors: &descriptors,
        };
        let pid = sys::spawn::spawn(&program).map_err(failed("spawn"))?;
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd, kind: job.kind, is_reaped: false }),
            Err(errno) => {
                let _gone = sys::signal::send_to_group(pid, libc::SIGKILL);
                let _reaped = rustix::process::waitpid(Some(pid), WaitOptions::empty());
                Err(failed("pidfd_open")(errno))
            }
        }
    }

    /// Kills it at once. It is gone soon.
    pub(crate) fn kill(&self) {
        let _gone = sys::signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
    }

    fn into_end(mut self) -> End {
        self.reap()
    }

    fn reap(&mut self) -> End {
        self.is_reaped = true;
        loop {
            let by_handle = WaitId::PidFd(self.pidfd.as_fd());
            return match rustix::process::waitid(by_handle, WaitIdOptions::EXITED) {
                Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => End::Exited(code),
                    (None, Some(signal)) => End::Signalled(signal),
                    (None, None) => End::Unknown,
                },
                Err(Errno::INTR) => continue,
                Ok(None) | Err(_) => End::Unknown,
            };
        }
    }
}

impl Running for Child {
    fn gone(&self) -> Option<BorrowedFd<'_>> {
        Some(self.pidfd.as_fd())
    }

    fn is_gone(&self) {
        if self.kind == Kind::Group {
            // What it left in its group: nobody else can have that number before it is reaped.
            let _gone = sys::signal::send_to_group(self.pid, libc::SIGKILL);
        }
    }

    /// A supervisor that is asked a second time ends its cage by force.
    fn end(&self, how: Insistence) {
        let signal = match how {
            Insistence::Ask => libc::SIGTERM,
            Insistence::Kill => libc::SIGKILL,
        };
        let _gone = match self.kind {
            Kind::Supervisor => sys::signal::send_by_handle(self.pidfd.as_fd(), signal),
            Kind::Group => sys::signal::send_to_group(self.pid, signal),
        };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.kill();
            let _how = self.reap();
        }
    }
}

/// A file in memory that nobody can change any more.
pub(crate) fn sealed_input(contents: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(c"stockade-input", flags)?;
    let mut rest = contents;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).ok_or(Errno::IO)?;
    }
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// A descriptor at a number that putting descriptors into place cannot overwrite.
fn out_of_the_way(descriptor: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST_FREE)
}

fn c_string(bytes: &[u8]) -> Result<CString, Errno> {
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

pub(crate) fn failed(call: &'static str) -> impl Fn(Errno) -> RunFailure {
    move |errno| RunFailure { call, errno }
}

/// The descriptor of a supervisor's report.
pub(crate) const REPORT_DESCRIPTOR: i32 = 3;

const STREAMS: usize = 3;
const FIRST_FREE: i32 = REPORT_DESCRIPTOR + 1;
