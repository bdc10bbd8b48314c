//! One started program in the hands of its caller.

use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use gate::event::Counters;
use limits::Degradation;
use plan::Plan;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::termios::Winsize;

use super::output::OutputBuffer;
use super::request::TerminalSize;
use super::supervised::Supervised;
use super::supervisor::Supervisor;
use crate::gatekeeper::Registration;
use crate::outcome::{EndReason, Ended};
use crate::record::Labels;

/// A program that was started. Dropping it closes its cage without waiting: the program is asked to
/// end, and killed if it does not.
///
/// All methods can be called from any thread, and from several at once.
pub struct Handle {
    supervised: Arc<Supervised>,
    supervisor: Arc<Supervisor>,
    pid: Pid,
    degradation: Option<Degradation>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Handle")
            .field("invocation_id", &self.invocation_id())
            .field("pid", &self.pid())
            .field("caged", &self.caged())
            .finish_non_exhaustive()
    }
}

impl Handle {
    pub(super) fn new(
        supervised: Arc<Supervised>,
        supervisor: Arc<Supervisor>,
        pid: Pid,
        degradation: Option<Degradation>,
    ) -> Self {
        Self { supervised, supervisor, pid, degradation }
    }

    /// The name of this start; no other has it.
    pub fn invocation_id(&self) -> &str {
        &self.supervised.program.invocation
    }

    /// The first process, as the host counts: pid 1 of the cage, or the program itself without one.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether there is a cage around the program. K164
    pub fn caged(&self) -> bool {
        self.supervised.program.plan.is_some()
    }

    /// The cage as it was built; none without one.
    pub fn plan(&self) -> Option<&Plan> {
        self.supervised.program.plan.as_deref()
    }

    /// Which of its limits are not held as they should be; none where all of them are. K148
    pub fn degradation(&self) -> Option<&Degradation> {
        self.degradation.as_ref()
    }

    /// The hash of its Plan, which names the cage on record. K172
    pub fn plan_hash(&self) -> Option<String> {
        self.plan().map(|plan| self.supervised.program.recorder.hash_of(plan).to_string())
    }

    /// Whom the program is for.
    pub fn labels(&self) -> &Labels {
        self.supervised.program.recorder.labels()
    }

    /// The writing end of standard input, once: the program reads the end of its input when it is
    /// dropped. None where standard input is no pipe. With a terminal it is the terminal, and
    /// dropping it ends nothing; what is written to one whose program has ended without reading may wait for
    /// ever, so let a descriptor that waits be one that does not block.
    pub fn take_stdin(&self) -> Option<OwnedFd> {
        self.supervised.stdin.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the program has written to standard output, or to its terminal; none if it is not kept.
    pub fn stdout(&self) -> Option<&Arc<OutputBuffer>> {
        self.supervised.stdout.as_ref().map(|pump| &pump.buffer)
    }

    /// What the program has written to standard error; none if it is not kept.
    pub fn stderr(&self) -> Option<&Arc<OutputBuffer>> {
        self.supervised.stderr.as_ref().map(|pump| &pump.buffer)
    }

    /// What went through the cage's network so far and what did not, at most a second old; none without a
    /// network, and after the end, which tells it. K220
    pub fn network(&self) -> Option<Counters> {
        let body = self.supervised.program.body()?;
        body.network().map(Registration::counters)
    }

    /// Gives the program's terminal another size. `ENOTTY` where it has none, `ESRCH` where the program
    /// has ended.
    pub fn resize_terminal(&self, size: TerminalSize) -> Result<(), Errno> {
        let terminal = self.supervised.terminal.as_ref().ok_or(Errno::NOTTY)?;
        let terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        set_size(terminal.as_ref().ok_or(Errno::SRCH)?, size)
    }

    /// Sends a signal to the program; without a cage, to its process group. `ESRCH` after its end, `EINVAL`
    /// where there is no such signal.
    pub fn signal(&self, signal: i32) -> Result<(), Errno> {
        if !(1..=MOST_SIGNAL).contains(&signal) {
            return Err(Errno::INVAL);
        }
        self.supervised.program.signal(signal)
    }

    /// Kills everything in the cage at once; without one, the program and its process group.
    pub fn kill(&self) {
        self.supervised.program.kill(EndReason::Cancelled);
    }

    /// Asks the program to end and kills it if it has not after
    /// [`GRACE`](crate::GRACE), without waiting for either. The reason is told as the
    /// reason of the end, unless the program ends for another one first.
    pub fn begin_close(&self, reason: EndReason) {
        self.supervisor.ask_to_end(&self.supervised, reason);
    }

    /// Ends the program as [`Self::begin_close`] does and waits until nothing of it is left.
    pub fn close(&self) -> Arc<Ended> {
        self.begin_close(EndReason::Cancelled);
        self.wait()
    }

    /// Waits until the program has ended and nothing of its cage is left.
    pub fn wait(&self) -> Arc<Ended> {
        self.supervised.wait()
    }

    /// The end, if it has come.
    pub fn try_wait(&self) -> Option<Arc<Ended>> {
        self.supervised.result()
    }

    /// The end as a future of any runtime. Does not keep the program alive: dropping the handle
    /// closes it all the same.
    pub fn ended(&self) -> Ending {
        Ending(Arc::clone(&self.supervised))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.begin_close(EndReason::Cancelled);
        self.supervisor.abandon(&self.supervised);
    }
}

/// The future of [`Handle::ended`].
pub struct Ending(Arc<Supervised>);

impl std::fmt::Debug for Ending {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Ending").field(&self.0.program.invocation).finish()
    }
}

impl Future for Ending {
    type Output = Arc<Ended>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Arc<Ended>> {
        match self.0.result_or_wake(context.waker()) {
            Some(ended) => Poll::Ready(ended),
            None => Poll::Pending,
        }
    }
}

pub(super) fn set_size(terminal: &OwnedFd, size: TerminalSize) -> Result<(), Errno> {
    let TerminalSize { rows, columns } = size;
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(terminal, size)
}

/// The last of the kernel's signals.
const MOST_SIGNAL: i32 = 64;
