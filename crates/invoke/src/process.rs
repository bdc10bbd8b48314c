//! Runs one command to its end: its input given whole, its outputs read up to a bound, its time
//! watched. Works in a process with any number of threads, and leaves neither a process nor a descriptor
//! behind. Knows nothing of cages.

use std::ffi::{CString, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{MemfdFlags, OFlags, SealFlags, SeekFrom};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions};
use sys::exec::CStringArray;
use sys::spawn::Program;

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
    let given = [&input, &stdout.write, &stderr.write, &report.write];
    let given: Vec<OwnedFd> = given
        .iter()
        .map(|end| out_of_the_way(end))
        .collect::<Result<_, _>>()
        .map_err(failed("dup"))?;
    let mut child = Child::start(job, &given)?;
    drop(given);
    let mut outputs = [
        Output::new(stdout, job.most_output, Some(EndedFor::Stdout)),
        Output::new(stderr, job.most_output, Some(EndedFor::Stderr)),
        Output::new(report, MOST_REPORT, None),
    ];
    let ended_for = child.attend(job, begun, &mut outputs)?;
    let end = child.reap();
    let [stdout, stderr, report] = outputs.map(|output| output.kept);
    Ok(Ran { end, stdout, stderr, report, ended_for, duration: begun.elapsed() })
}

/// A started command. Dropping it ends it.
struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    kind: Kind,
    is_reaped: bool,
}

impl Child {
    fn start(job: &Job<'_>, given: &[OwnedFd]) -> Result<Self, RunFailure> {
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

    /// Reads until the command is gone and nobody holds its outputs, and ends it where it must be.
    fn attend(
        &mut self,
        job: &Job<'_>,
        begun: Instant,
        outputs: &mut [Output; 3],
    ) -> Result<Option<EndedFor>, RunFailure> {
        let mut ending: Option<Ending> = None;
        let mut gone_since: Option<Instant> = None;
        loop {
            let is_open = outputs.iter().any(|output| output.source.is_some());
            let waited_long = gone_since.is_some_and(|gone| gone.elapsed() >= LONGEST_DRAIN);
            if gone_since.is_some() && (!is_open || waited_long) {
                return Ok(ending.map(|ending| ending.why));
            }
            let next = match (&ending, gone_since) {
                (_, Some(gone)) => gone + LONGEST_DRAIN,
                (Some(ending), None) => ending.next,
                (None, None) => begun + job.deadline,
            };
            let is_gone = wait(&self.pidfd, gone_since.is_some(), outputs, next, job.is_cancelled)?;
            if is_gone && gone_since.is_none() {
                gone_since = Some(Instant::now());
                if self.kind == Kind::Group {
                    // What it left in its group: nobody else can have that number before it is reaped.
                    let _gone = sys::signal::send_to_group(self.pid, libc::SIGKILL);
                }
            }
            let over = outputs.iter().find(|output| output.is_over).and_then(|output| output.means);
            let late = (begun.elapsed() >= job.deadline).then_some(EndedFor::Deadline);
            let cancelled = job.is_cancelled.is_some_and(|asked| asked());
            let why = over.or(late).or(cancelled.then_some(EndedFor::Cancelled));
            match (&mut ending, why) {
                (Some(ending), _) if Instant::now() >= ending.next => self.end_harder(ending),
                (None, Some(why)) if gone_since.is_none() || over.is_some() => {
                    let mut begun = Ending { why, step: 0, next: Instant::now() };
                    self.end_harder(&mut begun);
                    ending = Some(begun);
                }
                _ => {}
            }
        }
    }

    /// Asks first; asked a second time a supervisor ends its cage by force. What does not hear that is killed.
    fn end_harder(&self, ending: &mut Ending) {
        let signal = if ending.step < POLITE_STEPS { libc::SIGTERM } else { libc::SIGKILL };
        let _gone = match self.kind {
            Kind::Supervisor => sys::signal::send_by_handle(self.pidfd.as_fd(), signal),
            Kind::Group => sys::signal::send_to_group(self.pid, signal),
        };
        ending.step = ending.step.saturating_add(1);
        ending.next = Instant::now() + cage::GRACE;
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

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _gone = sys::signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
            let _how = self.reap();
        }
    }
}

/// How far a command is from being ended by force.
struct Ending {
    why: EndedFor,
    step: u32,
    next: Instant,
}

struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

/// One output, as far as it was read.
struct Output {
    /// None once nobody holds the other end.
    source: Option<OwnedFd>,
    kept: Vec<u8>,
    most: usize,
    is_over: bool,
    /// What it means if it is too long.
    means: Option<EndedFor>,
}

impl Output {
    /// Closes this process's own copy of the other end.
    fn new(pipe: Pipe, most: usize, means: Option<EndedFor>) -> Self {
        Self { source: Some(pipe.read), kept: Vec::new(), most, is_over: false, means }
    }

    /// Reads what is there. What is over the bound is dropped: a command that waits for a reader could
    /// not be asked to end.
    fn read(&mut self) -> Result<(), RunFailure> {
        let Some(source) = &self.source else { return Ok(()) };
        let mut buffer = [0; 64 << 10];
        match rustix::io::read(source, &mut buffer) {
            Ok(0) => self.source = None,
            Ok(count) => {
                let room = self.most.saturating_sub(self.kept.len());
                let read = buffer.get(..count).unwrap_or_default();
                self.kept.extend_from_slice(read.get(..count.min(room)).unwrap_or_default());
                self.is_over |= count > room;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed("read")(errno)),
        }
        Ok(())
    }
}

/// Waits until there is something to read, the command is gone or a moment has come. Returns whether
/// it is gone.
fn wait(
    pidfd: &OwnedFd,
    was_gone: bool,
    outputs: &mut [Output; 3],
    until: Instant,
    is_cancelled: Option<&dyn Fn() -> bool>,
) -> Result<bool, RunFailure> {
    let mut left = until.saturating_duration_since(Instant::now());
    if is_cancelled.is_some() {
        left = left.min(BETWEEN_QUESTIONS);
    }
    let left =
        Timespec::try_from(left.min(LONGEST_POLL)).map_err(|_| failed("poll")(Errno::INVAL))?;
    let mut polled = Vec::with_capacity(outputs.len() + 1);
    let open = |output: &&Output| output.source.is_some();
    for source in outputs.iter().filter(open).filter_map(|output| output.source.as_ref()) {
        polled.push(PollFd::new(source, PollFlags::IN));
    }
    if !was_gone {
        polled.push(PollFd::new(pidfd, PollFlags::IN));
    }
    match rustix::event::poll(&mut polled, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(failed("poll")(errno)),
    }
    let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
    let mut ready = ready.into_iter();
    for output in outputs.iter_mut().filter(|output| output.source.is_some()) {
        if ready.next().unwrap_or_default() {
            output.read()?;
        }
    }
    Ok(was_gone || ready.next().unwrap_or_default())
}

/// A file in memory that nobody can change any more.
fn sealed_input(contents: &[u8]) -> Result<OwnedFd, Errno> {
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

/// A pipe whose reading end never waits.
fn pipe() -> Result<Pipe, RunFailure> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("pipe"))?;
    rustix::fs::fcntl_setfl(&read, OFlags::NONBLOCK).map_err(failed("fcntl"))?;
    Ok(Pipe { read, write })
}

/// The same at a number that putting descriptors into place cannot overwrite.
fn out_of_the_way(descriptor: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, FIRST_FREE)
}

fn c_string(bytes: &[u8]) -> Result<CString, Errno> {
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

fn failed(call: &'static str) -> impl Fn(Errno) -> RunFailure {
    move |errno| RunFailure { call, errno }
}

/// The descriptor of a supervisor's report.
pub(crate) const REPORT_DESCRIPTOR: i32 = 3;

const STREAMS: usize = 3;
const FIRST_FREE: i32 = REPORT_DESCRIPTOR + 1;

/// A report has bounded lists in it.
const MOST_REPORT: usize = 4 << 20;

/// How often a command is asked to end before it is killed.
const POLITE_STEPS: u32 = 2;

/// How long outputs are read that somebody holds after the command is gone.
const LONGEST_DRAIN: Duration = Duration::from_secs(5);

const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// More than this is not one wait.
const LONGEST_POLL: Duration = Duration::from_secs(3600);
