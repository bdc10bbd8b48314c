//! The host process itself: takes calls from the process that started it, and from nobody else, and has the library's
//! [`Runner`] build a cage for each. Ends with that process, and all cages with it.
//!
//! Whoever holds the other end of its socket can start anything as the user, as its starter could. So it hears that
//! process alone, whoever has a copy of the end: the kernel names the sender of each packet.

use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Builder, Scope};

use advice::Failure;
use cage::prepare::{Name, prepare};
use cage::runner::{Handle, Input, Output, Request as Start, Runner, RunnerOptions, Streams};
use cage::state::Locations;
use cage::{EndReason, Ended, Kind, Labels, Recorder};
use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit};
use sys::channel::{self, Packet, Sender, Waiting};

use super::request::Request;
use super::{CALL, GREETING};
use crate::report::Report;
use crate::sealed::Sealed;

/// The life of a host, whose socket is its standard input. To be called while this process has a single thread.
pub fn serve() -> ExitCode {
    // Whoever reads from a pipe of the caller's would wait for this process as well.
    let _kept = sys::descriptors::leave_all_from(FIRST_BEYOND_STREAMS);
    let socket = std::io::stdin().as_fd().try_clone_to_owned().ok();
    // A caller that hears no greeting starts its programs in another way, which tells what is wrong here.
    match socket.and_then(Host::new) {
        Some(host) => {
            host.live();
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

struct Host {
    runner: Runner,
    /// One thread at a time waits for the next call.
    socket: Mutex<OwnedFd>,
    /// The same socket, for whoever ends this.
    ending: OwnedFd,
    /// The process that may call.
    caller: Sender,
    /// Readable when that is gone, or one of our own processes without which nothing starts.
    ends: Vec<OwnedFd>,
    /// Threads that have no call.
    idle: AtomicUsize,
}

impl Host {
    fn new(socket: OwnedFd) -> Option<Self> {
        let of_pair = rustix::net::sockopt::socket_peercred(&socket).ok()?;
        let caller = Sender { pid: of_pair.pid, uid: rustix::process::getuid() };
        let caller_gone = rustix::process::pidfd_open(caller.pid, PidfdFlags::empty()).ok()?;
        // The handle is on our parent, and on no later process with its number.
        if rustix::process::getppid() != Some(caller.pid) {
            return None;
        }
        channel::name_senders(socket.as_fd()).ok()?;
        let state = Locations::of_this_process().state?;
        let runner = Runner::start(RunnerOptions::new(state)).ok()?;
        let opened = |pid: Pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok();
        let mut ends =
            runner.launcher_pids().into_iter().map(opened).collect::<Option<Vec<_>>>()?;
        ends.push(caller_gone);
        // The launchers, and with them all programs, keep the limit that the caller has.
        let limit = rustix::process::getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        rustix::process::setrlimit(Resource::Nofile, raised).ok()?;
        let _swept = cage::record_swept(runner.log(), &cage::sweep_groups());
        let ending = socket.try_clone().ok()?;
        channel::send(socket.as_fd(), GREETING, &[], Waiting::Allowed).ok()?;
        let (socket, idle) = (Mutex::new(socket), AtomicUsize::new(0));
        Some(Self { runner, socket, ending, caller, ends, idle })
    }

    fn live(&self) {
        std::thread::scope(|scope| {
            self.start_worker(scope);
            self.wait_for_an_end();
            // Threads that wait for a call, and calls that wait to be taken, hear of the end.
            let _gone = rustix::net::shutdown(&self.ending, Shutdown::Both);
            self.runner.drain(EndReason::SupervisorLost);
        });
    }

    fn wait_for_an_end(&self) {
        let mut polled: Vec<PollFd<'_>> =
            self.ends.iter().map(|end| PollFd::new(end, PollFlags::IN)).collect();
        polled.push(PollFd::new(&self.ending, PollFlags::RDHUP));
        // Whatever else it could say, nobody could be served any more.
        while rustix::event::poll(&mut polled, None) == Err(Errno::INTR) {}
    }

    fn start_worker<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let started = Builder::new().spawn_scoped(scope, move || self.work(scope));
        if started.is_err() {
            // The next one that is free goes on.
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Takes calls one after the other. A thread that takes one and leaves nobody to wait for the next starts
    /// another thread for that.
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        loop {
            let received = {
                let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
                channel::receive_from(socket.as_fd(), CALL.len(), Waiting::Allowed)
            };
            let (packet, sender) = match received {
                Ok(Some(received)) => received,
                // Its descriptors are closed, which its sender notices.
                Err(Errno::INTR | Errno::MFILE | Errno::NFILE | Errno::MSGSIZE) => continue,
                Ok(None) | Err(_) => return,
            };
            if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.start_worker(scope);
            }
            if sender == Some(self.caller) {
                self.answer(packet);
            }
            if self.idle.fetch_add(1, Ordering::Relaxed) >= MOST_IDLE {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        }
    }

    fn answer(&self, (_, descriptors): Packet) {
        let Ok([stdin, stdout, stderr, request, line]) = <[OwnedFd; 5]>::try_from(descriptors)
        else {
            return;
        };
        let Some(request) = Request::read(request) else { return };
        let report = match self.start(&request, [stdin, stdout, stderr]) {
            Ok(handle) => match attend(&handle, &line) {
                Ok(ended) => Report::of_run(handle.invocation_id(), &ended),
                // Nobody would see its end any more, nor that its caller is gone.
                Err(_) => return handle.kill(),
            },
            Err(report) => *report,
        };
        let Ok(text) = serde_json::to_vec(&report) else { return };
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            match rustix::net::send(&line, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                // The caller does not want to know.
                Err(_) => return,
            }
        }
    }

    /// Starts the program, and again where somebody else changes the same tree meanwhile: what is found the next
    /// time may stay.
    fn start(&self, request: &Request, streams: [OwnedFd; 3]) -> Result<Handle, Box<Report>> {
        let failed = |failure: Failure| Box::new(Report::of_failure(None, &failure));
        let sealed = Sealed::decode(&request.sealed)
            .map_err(|error| failed(Failure::new(Kind::Usage, error.to_string()).help(AGAIN)))?;
        let labels = sealed.labels();
        let not_compiled = |failure| self.not_compiled(&failure, labels.clone());
        let caller = request.caller(sealed.directory.clone());
        let selection = sealed.select(&caller).map_err(not_compiled)?;
        let mut tries = 1;
        loop {
            let prepared = prepare(&selection, &request.command);
            let prepared = prepared.map_err(|error| not_compiled(error.into()))?;
            let plan = Arc::clone(&prepared.plan);
            let streams = streams_of(&streams).map_err(failed)?;
            let start = Start { labels: labels.clone(), streams, ..Start::caged(prepared) };
            match self.runner.spawn(start) {
                Ok(handle) => return Ok(handle),
                Err(error) if error.is_of_changed_tree() && tries < MOST_TRIES => tries += 1,
                Err(error) => {
                    let name = plan.start.invocation.clone();
                    let failure = advice::failed_start(error, Some(&plan));
                    return Err(Box::new(Report::of_failure(Some(name), &failure)));
                }
            }
        }
    }

    /// What came to no cage is on record by a name of its own. K180
    fn not_compiled(&self, failure: &Failure, labels: Labels) -> Box<Report> {
        let name = Name::new().ok().filter(|_| failure.kind.is_recorded()).map(|name| name.text);
        if let Some(name) = &name {
            let recorder = Recorder::new(Arc::clone(self.runner.log()), name, labels);
            // Where that cannot be recorded, the failure says enough.
            let _unrecorded = recorder.not_compiled(None, failure.kind, &failure.text());
        }
        Box::new(Report::of_failure(name, failure))
    }
}

/// Waits for the end of a program, and has it end when its caller says so or is gone.
fn attend(handle: &Handle, line: &OwnedFd) -> Result<Arc<Ended>, Errno> {
    let bell = Arc::new(Bell(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?));
    let waker = Waker::from(Arc::clone(&bell));
    let mut end = pin!(handle.ended());
    let mut heard = PollFlags::empty();
    loop {
        if let Poll::Ready(ended) = end.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(ended);
        }
        if heard.contains(PollFlags::HUP) {
            return Ok(handle.wait());
        }
        let wanted = PollFlags::RDHUP - heard;
        let mut polled = [PollFd::new(&bell.0, PollFlags::IN), PollFd::new(line, wanted)];
        match rustix::event::poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        }
        let [_, line] = polled;
        if line.revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            heard |= PollFlags::HUP;
            handle.kill();
        } else if line.revents().contains(PollFlags::RDHUP) {
            heard |= PollFlags::RDHUP;
            handle.begin_close(EndReason::Cancelled);
        }
    }
}

/// Rings when a program has ended.
struct Bell(OwnedFd);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // One that has rung already wakes as well.
        let _full = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// The caller's own streams, for one try.
fn streams_of([stdin, stdout, stderr]: &[OwnedFd; 3]) -> Result<Streams, Failure> {
    let copy = |stream: &OwnedFd| {
        stream.try_clone().map_err(|error| {
            Failure::new(Kind::CannotBuild, format!("cannot copy a stream: {error}"))
        })
    };
    Ok(Streams::Separate {
        stdin: Input::Descriptor(copy(stdin)?),
        stdout: Output::Descriptor(copy(stdout)?),
        stderr: Output::Descriptor(copy(stderr)?),
    })
}

const FIRST_BEYOND_STREAMS: u32 = 3;

const AGAIN: &str = "wrap the command again";

/// Threads that wait for calls beyond this number end.
const MOST_IDLE: usize = 8;

/// How often a cage is begun whose tree somebody else changes meanwhile.
const MOST_TRIES: u32 = 10;
