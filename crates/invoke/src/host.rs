//! The host of calls: one `stockade` process that a program with many calls keeps, and that starts the cages of all of
//! them. It spares each call a process that begins from nothing. Started by the first call, gone with the program.
//!
//! Each call has a line of its own to the host, a socket on which the report comes. Closing it ends the
//! cage; so does the end of the program. Where no host can be had, the caller starts `stockade run`.

mod request;
mod serve;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cage::prepare::Caller;
use plan::HostPath;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType};
use rustix::process::{Pid, Uid};
use sys::channel::{self, Waiting};

use crate::process::{
    Child, End, Insistence, Job, Kind, Outputs, Ran, RunFailure, Running, failed, pipe,
    sealed_input,
};
use request::Request;

pub use serve::serve;

/// The word that makes a `stockade` a host; no command of a person's.
pub const COMMAND: &str = "__host";

/// Runs the command of a job in the cage that was sealed. None where no host can be had: then nothing was started.
pub(crate) fn run(
    program: &Path,
    sealed: &str,
    caller: &Caller,
    job: &Job<'_>,
) -> Result<Option<Ran>, RunFailure> {
    let Some(request) = Request::write(sealed, job.argv, caller) else { return Ok(None) };
    // A host that was lost since the last call has not heard of this one.
    for _ in 0..MOST_TRIES {
        let Some(host) = Host::of_this_process(program, caller) else { return Ok(None) };
        match host.call(&request, job)? {
            Sent::Ran(ran) => return Ok(Some(ran)),
            Sent::Lost => forget(&host),
            Sent::Full => return Ok(None),
        }
    }
    Ok(None)
}

/// What became of a call.
enum Sent {
    Ran(Ran),
    /// The host is gone, and was before the call.
    Lost,
    /// The host does not hear, or there is no room.
    Full,
}

/// A host, and this process's line to it. Dropping it ends the host with all of its cages.
#[derive(Debug)]
struct Host {
    of: Of,
    child: Child,
    socket: OwnedFd,
}

/// Whose calls a host takes: what it keeps to as long as it lives.
#[derive(Debug, PartialEq, Eq)]
struct Of {
    program: PathBuf,
    /// Where its record is.
    state: HostPath,
    /// The real and the effective user.
    users: (Uid, Uid),
}

impl Host {
    /// The host that this process has, or a new one.
    fn of_this_process(program: &Path, caller: &Caller) -> Option<Arc<Self>> {
        let of = Of {
            program: program.to_owned(),
            state: caller.locations.state.clone()?,
            users: (rustix::process::getuid(), rustix::process::geteuid()),
        };
        let mut slot = slot().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = slot.as_ref().filter(|host| host.of == of) {
            return Some(Arc::clone(host));
        }
        // The one before ends with its last call.
        *slot = Self::start(of).ok().flatten().map(Arc::new);
        slot.clone()
    }

    /// Starts one and waits until it listens; none of one that does not.
    fn start(of: Of) -> Result<Option<Self>, RunFailure> {
        let (socket, theirs) = channel::pair().map_err(failed("socketpair"))?;
        let null = || {
            rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
                .map_err(failed("open"))
        };
        let job = Job {
            argv: &[of.program.clone().into_os_string(), COMMAND.into()],
            working_directory: Path::new("/"),
            input: &[],
            most_output: 0,
            deadline: LONGEST_START,
            kind: Kind::Supervisor,
            is_cancelled: None,
        };
        // None of this process's streams: whoever reads them would wait for the host as well.
        let child = Child::start(&job, [theirs, null()?, null()?])?;
        let host = Self { of, child, socket };
        let mut ready = [PollFd::new(&host.socket, PollFlags::IN)];
        let longest =
            Timespec::try_from(LONGEST_START).map_err(|_| failed("poll")(Errno::INVAL))?;
        loop {
            match rustix::event::poll(&mut ready, Some(&longest)) {
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed("poll")(errno)),
                Ok(_) => break,
            }
        }
        let greeting = channel::receive(host.socket.as_fd(), GREETING.len(), Waiting::Refused);
        let listens = matches!(greeting, Ok(Some((bytes, _))) if bytes == GREETING);
        Ok(listens.then_some(host))
    }

    /// Hands the call over and waits for its end.
    fn call(self: &Arc<Self>, request: &[u8], job: &Job<'_>) -> Result<Sent, RunFailure> {
        let begun = Instant::now();
        let sealed = |bytes| sealed_input(bytes).map_err(failed("memfd_create"));
        let (input, request) = (sealed(job.input)?, sealed(request)?);
        let (stdout, stderr) = (pipe()?, pipe()?);
        let flags = SocketFlags::CLOEXEC;
        let line = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let (line, theirs) = line.map_err(failed("socketpair"))?;
        let given = [&input, &stdout.1, &stderr.1, &request, &theirs].map(|end| end.as_fd());
        match channel::send(self.socket.as_fd(), CALL, &given, Waiting::Refused) {
            Ok(()) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => return Ok(Sent::Lost),
            Err(_) => return Ok(Sent::Full),
        }
        drop((input, request, stdout.1, stderr.1, theirs));
        rustix::fs::fcntl_setfl(&line, OFlags::NONBLOCK).map_err(failed("fcntl"))?;
        let report = line
            .try_clone()
            .map_err(|error| failed("dup")(Errno::from_io_error(&error).unwrap_or(Errno::MFILE)))?;
        let call = Call { host: self, line };
        let mut outputs = Outputs::new(stdout.0, stderr.0, report, job.most_output);
        let ended_for = outputs.attend(&call, job, begun)?;
        let [stdout, stderr, report] = outputs.into_kept();
        if report.is_empty() {
            forget(self);
        }
        let end = if report.is_empty() { End::Unknown } else { End::Exited(0) };
        Ok(Sent::Ran(Ran { end, stdout, stderr, report, ended_for, duration: begun.elapsed() }))
    }
}

/// A call in flight. Dropping it ends its cage, whoever has copies of the line.
struct Call<'a> {
    host: &'a Arc<Host>,
    line: OwnedFd,
}

impl Running for Call<'_> {
    fn gone(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The host gives a program that is asked some time, and kills it then. One that does neither is stuck.
    fn end(&self, how: Insistence) {
        match how {
            Insistence::Ask => {
                let _gone = rustix::net::shutdown(&self.line, Shutdown::Write);
            }
            Insistence::Kill => {
                forget(self.host);
                self.host.child.kill();
            }
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let _gone = rustix::net::shutdown(&self.line, Shutdown::Both);
    }
}

/// The next call has another host.
fn forget(host: &Arc<Host>) {
    let mut slot = slot().lock().unwrap_or_else(PoisonError::into_inner);
    let lost = slot.take_if(|kept| Arc::ptr_eq(kept, host));
    drop(slot);
    // It is waited for without the lock.
    drop(lost);
}

/// What one process has. A process that was forked has memory of its parent's: its host, and a lock that some other
/// thread may have held. It goes on to a slot of its own.
struct Slot {
    pid: Pid,
    host: Mutex<Option<Arc<Host>>>,
    /// That of a child, in the child's memory alone.
    next: OnceLock<Box<Slot>>,
}

impl Slot {
    fn of(pid: Pid) -> Self {
        Self { pid, host: Mutex::default(), next: OnceLock::new() }
    }
}

fn slot() -> &'static Mutex<Option<Arc<Host>>> {
    static FIRST: OnceLock<Slot> = OnceLock::new();
    let own = rustix::process::getpid();
    let mut last = FIRST.get_or_init(|| Slot::of(own));
    loop {
        match last.next.get() {
            Some(next) => last = next,
            None if last.pid == own => return &last.host,
            None => last = last.next.get_or_init(|| Box::new(Slot::of(own))),
        }
    }
}

/// The host's first word. One of another version says another.
const GREETING: &[u8] = concat!("stockade host 1 ", env!("CARGO_PKG_VERSION")).as_bytes();

/// What a call is announced by. All that it says comes in descriptors.
const CALL: &[u8] = b"call";

const MOST_TRIES: u32 = 2;

const LONGEST_START: Duration = Duration::from_secs(30);
