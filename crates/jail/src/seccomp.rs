//! The Plan's filter around the program, and the answers to the calls that it hands over.
//! A call that the profile does not allow is answered with an error, whatever asks.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plan::SeccompPlan;
use plan::seccomp::{Arch, Program, SeccompData, syscall_name};
use rustix::io::Errno;
use rustix::process::Pid;
use sys::seccomp::{Instruction, Notification};
use walls::Wall;

use crate::Denial;
use crate::journal::Journal;

/// A filter in the kernel's form, laid out before the process that installs it exists.
pub(crate) struct Filter(Vec<Instruction>);

impl Filter {
    pub(crate) fn new(program: &Program) -> Self {
        let kernel_form = |instruction: &plan::seccomp::Instruction| Instruction {
            code: instruction.code,
            jt: instruction.jt,
            jf: instruction.jf,
            k: instruction.k,
        };
        Self(program.instructions().iter().map(kernel_form).collect())
    }

    /// Installs the filter for good.
    pub(crate) fn install(&self) -> Result<(), Errno> {
        sys::seccomp::install(&self.0)
    }

    /// Installs the filter with a listener.
    pub(crate) fn install_with_listener(&self) -> Result<OwnedFd, Errno> {
        sys::seccomp::install_with_listener(&self.0)
    }
}

/// Answers handed-over calls and counts them.
pub(crate) struct Answerer {
    plan: SeccompPlan,
    /// Whether calls are handed over that only have to be noted.
    watches: bool,
    journal: Option<Arc<Journal>>,
    listener: Option<OwnedFd>,
    counts: BTreeMap<u32, (u64, bool)>,
    doomed: Vec<(Pid, Instant)>,
}

impl Answerer {
    pub(crate) fn new(
        plan: &SeccompPlan,
        listener: OwnedFd,
        journal: Option<Arc<Journal>>,
    ) -> Self {
        let (plan, listener) = (plan.clone(), Some(listener));
        let (counts, doomed) = Default::default();
        Self { plan, watches: false, journal, listener, counts, doomed }
    }

    /// For the listener of a filter that also hands over what is watched.
    pub(crate) fn watching(
        plan: &SeccompPlan,
        listener: OwnedFd,
        journal: Option<Arc<Journal>>,
    ) -> Self {
        Self { watches: true, ..Self::new(plan, listener, journal) }
    }

    /// Where calls arrive, as long as anything runs under the filter.
    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Lets go of the listener: nothing runs under the filter any more. What was counted stays.
    pub(crate) fn stop_listening(&mut self) {
        self.listener = None;
    }

    /// Answers one waiting call.
    pub(crate) fn answer_one(&mut self) {
        if let Some(call) = self.receive() {
            self.answer(&call);
        }
    }

    /// A call that waits, if there still is one.
    pub(crate) fn receive(&mut self) -> Option<Notification> {
        match sys::seccomp::receive(self.listener.as_ref()?.as_fd()) {
            Ok(call) => Some(call),
            Err(Errno::NOENT | Errno::INTR) => None,
            Err(_) => {
                self.stop_listening();
                None
            }
        }
    }

    /// Whether a call goes on as it was made, by its number and arguments alone.
    pub(crate) fn is_only_watched(&self, call: &Notification) -> bool {
        self.watches && self.plan.allows(&data(call))
    }

    /// Answers a call that was received.
    pub(crate) fn answer(&mut self, call: &Notification) {
        let Some(listener) = &self.listener else { return };
        if self.is_only_watched(call) {
            let _gone = sys::seccomp::let_go_on(listener.as_fd(), call.id);
            return;
        }
        let number = u32::try_from(call.number).unwrap_or(u32::MAX);
        let refusal = self.plan.refusal(&data(call));
        let doomed =
            if refusal.kills && walls::stands(Wall::KillingCalls) { doom(call) } else { None };
        // The number of distinct calls is bounded by the kernel's table, so a flood costs no memory.
        if let Some(journal) = self.journal.as_ref().filter(|_| !self.counts.contains_key(&number))
            && let Some(name) = syscall_name(Arch::NATIVE, number)
        {
            journal.tell_call(name);
        }
        let (count, killed) = self.counts.entry(number).or_default();
        *count = count.saturating_add(1);
        *killed |= refusal.kills;
        // A caller that died in the meantime needs no answer.
        let errno = Errno::from_raw_os_error(i32::from(refusal.errno));
        let _gone = sys::seccomp::refuse(listener.as_fd(), call.id, errno);
        self.doomed.extend(doomed.map(|process| (process, Instant::now() + GRACE)));
    }

    /// How long the caller may sleep before [`Self::finish_doomed`] has work.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let first = self.doomed.iter().map(|(_, deadline)| *deadline).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Kills what was sent `SIGSYS` and handles or blocks it.
    pub(crate) fn finish_doomed(&mut self) {
        let now = Instant::now();
        self.doomed.retain(|(process, deadline)| {
            let expired = *deadline <= now;
            if expired {
                // Already gone is what was wanted.
                let _gone = sys::signal::send(*process, libc::SIGKILL);
            }
            !expired
        });
    }

    /// Refused calls, most frequent first.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        let mut denials: Vec<Denial> = self
            .counts
            .iter()
            .map(|(number, (count, killed))| Denial {
                number: *number,
                count: *count,
                killed: *killed,
            })
            .collect();
        denials.sort_by_key(|denial| std::cmp::Reverse(denial.count));
        denials
    }
}

/// What the filter saw of a call.
fn data(call: &Notification) -> SeccompData {
    SeccompData {
        number: u32::try_from(call.number).unwrap_or(u32::MAX),
        arch: call.architecture,
        instruction_pointer: 0,
        arguments: call.arguments,
    }
}

/// The filter itself could kill, but then nobody could say for which call. The signal is pending
/// before the call is answered, so the caller never runs on with a default handler.
fn doom(call: &Notification) -> Option<Pid> {
    let thread = i32::try_from(call.thread).ok().and_then(Pid::from_raw)?;
    let _gone = sys::signal::send(thread, libc::SIGSYS);
    Some(thread)
}

/// How long a process may take to die of `SIGSYS` before it is killed outright. Its call is refused by
/// then, and on a machine that stands still for a moment it must not seem to have died of something else.
const GRACE: Duration = Duration::from_millis(200);
