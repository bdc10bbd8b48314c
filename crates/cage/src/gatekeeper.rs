//! The supervisor's side of the gatekeeper: starts its process, hands it the sockets of cages, and
//! hears what became of them. Decides nothing about the network and never sees a byte of it.
//!
//! A gatekeeper that ends takes its cages' network with it and nothing else: their sockets were in its
//! hands alone.

mod published;
mod registration;
mod resolvers;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use gate::budget::Serves;
use gate::control::{Channel, Order, ProcessReport, Waiting, write_plan};
use gate::settings::Settings;
use jail::LandlockState;
use jail::helper_process::{
    self as jailed, Confined, HelperFiles, HelperJail, HelperLife, HelperNetwork,
};
use jail::launcher::{Helper, Launcher};
use plan::Plan;
use plan::network::{MODEL_PORT, NetworkPlan, SocketKind};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use sys::clone::{Forked, Namespaces};
use sys::signal::SignalSet;
use walls::Wall;

use crate::outcome::SpawnError;
use published::Published;
pub use registration::Registration;
use resolvers::Resolvers;

/// A running gatekeeper process, which serves any number of cages. Dropping it ends the process, and
/// with it the network of every cage that it serves.
#[derive(Debug)]
pub struct Gatekeeper {
    control: Channel,
    settings: Settings,
    resolvers: Resolvers,
    pid: Pid,
    pidfd: OwnedFd,
    parentage: Parentage,
}

/// Whose child the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parentage {
    /// This process's, which has to reap it.
    Own,
    /// A launcher's, which has the kernel reap it.
    Launcher,
}

impl Gatekeeper {
    /// Starts the process, which must be done while this one has a single thread. Returns while the
    /// other still jails itself: the first registration waits for that.
    ///
    /// Names are asked of `resolvers`, or of the host's own where there are none. It is meant for one cage: what
    /// it may have open is not shared out among several.
    pub fn start(resolvers: &[SocketAddr], settings: Settings) -> Result<Self, SpawnError> {
        let failed = |errno| match errno {
            Errno::BUSY => {
                problem("it must be started before the first thread: it is a copy of this process")
            }
            errno => problem(std::io::Error::from(errno)),
        };
        let resolvers = Resolvers::new(resolvers);
        let (control, theirs) = Channel::pair().map_err(failed)?;
        let parent = rustix::process::getpid();
        match sys::clone::fork_into(Namespaces::NONE, None).map_err(failed)? {
            Forked::Child => {
                drop(control);
                live(theirs, parent, Serves::OneCage);
                sys::exec::exit_now(1)
            }
            Forked::Parent { pid, pidfd } => {
                let parentage = Parentage::Own;
                let gatekeeper = Self { control, settings, resolvers, pid, pidfd, parentage };
                gatekeeper.send_resolvers();
                Ok(gatekeeper)
            }
        }
    }

    /// As [`Self::start`], for a process with many threads: a launcher that was given
    /// [`live_as_helper`] forks it.
    pub(crate) fn start_through(
        launcher: &Launcher,
        resolvers: &[SocketAddr],
        settings: Settings,
    ) -> Result<Self, SpawnError> {
        let Helper { pid, pidfd, control } = launcher.start_helper()?;
        let (control, parentage) = (Channel::from_fd(control), Parentage::Launcher);
        let resolvers = Resolvers::new(resolvers);
        let gatekeeper = Self { control, settings, resolvers, pid, pidfd, parentage };
        gatekeeper.send_resolvers();
        Ok(gatekeeper)
    }

    /// Readable when the process is gone.
    pub(crate) fn gone(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Whether the process is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone_within(Timespec { tv_sec: 0, tv_nsec: 0 })
    }

    fn is_gone_within(&self, time: Timespec) -> bool {
        let mut process = [PollFd::new(&self.pidfd, PollFlags::IN)];
        rustix::event::poll(&mut process, Some(&time)) != Ok(0)
    }

    /// The process's id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Readable when [`Self::look_at_resolvers`] has something to do; none where the kernel cannot
    /// say.
    pub fn resolver_changes(&self) -> Option<BorrowedFd<'_>> {
        self.resolvers.changes()
    }

    /// Passes on which resolvers the host has now, if that has changed.
    pub fn look_at_resolvers(&self) {
        if self.resolvers.have_changed() {
            self.send_resolvers();
        }
    }

    /// Makes what a cage's network needs on the host before the cage is there.
    pub(crate) fn prepare(plan: &Plan) -> Result<Prepared<'_>, SpawnError> {
        match &plan.walls.network {
            NetworkPlan::Loopback => Ok(Prepared { plan, published: Vec::new() }),
            NetworkPlan::Gatekeeper(network) => {
                Ok(Prepared { plan, published: published::listen(&network.publish)? })
            }
        }
    }

    /// Lets the process serve a cage's sockets. When this returns, it does.
    pub(crate) fn register(
        &self,
        prepared: &Prepared<'_>,
        sockets: &[(SocketKind, OwnedFd)],
    ) -> Result<Registration, SpawnError> {
        let NetworkPlan::Gatekeeper(network) = &prepared.plan.walls.network else {
            return Err(problem("the cage's plan has no network"));
        };
        let lost = |errno: Errno| match self.last_words() {
            Some(reason) => problem(reason),
            None if errno == Errno::PIPE && !self.is_gone_within(LAST_MOMENT) => problem(NOT_TAKEN),
            None => problem(format!("it is gone ({})", std::io::Error::from(errno))),
        };
        // What leads to the model service never comes to the gatekeeper, which would take it for a port of the host.
        let mut network = network.clone();
        network.host_ports.retain(|port| *port != MODEL_PORT);
        let plan = write_plan(&network).map_err(|errno| problem(std::io::Error::from(errno)))?;
        let (channel, theirs) = Channel::pair().map_err(lost)?;
        let order = Order::Register(Box::new(gate::control::Registration {
            invocation: prepared.plan.start.invocation.clone(),
            project: prepared.plan.walls.cage.clone(),
            settings: self.settings.clone(),
            kinds: sockets.iter().map(|(kind, _)| *kind).collect(),
            published: prepared.published.iter().map(|published| published.port).collect(),
        }));
        let mut descriptors = vec![theirs.as_fd(), plan.as_fd()];
        descriptors.extend(sockets.iter().map(|(_, socket)| socket.as_fd()));
        descriptors.extend(prepared.published.iter().map(|published| published.listener.as_fd()));
        self.control.send(&order, &descriptors, Waiting::Allowed).map_err(lost)?;
        // The other side must be the only one that holds this end, or nobody would hear of its end.
        drop(theirs);
        Registration::confirmed(channel).map_err(|unconfirmed| match unconfirmed {
            registration::Unconfirmed::Refused(reason) => problem(reason),
            registration::Unconfirmed::Lost(errno) => lost(errno),
        })
    }

    /// Ends the process without waiting until it is gone.
    pub(crate) fn end(&self) {
        // Already gone is what was wanted.
        let _gone = sys::signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
    }

    fn send_resolvers(&self) {
        let order = Order::Upstream { resolvers: self.resolvers.current() };
        // A process that is gone is noticed where it is needed.
        let _gone = self.control.send(&order, &[], Waiting::Allowed);
    }

    /// Why the process ended, if it could still say so.
    fn last_words(&self) -> Option<String> {
        match self.control.receive(Waiting::Refused) {
            Ok(Some((ProcessReport::Failed { reason }, _))) => Some(reason),
            _ => None,
        }
    }
}

impl Drop for Gatekeeper {
    fn drop(&mut self) {
        self.end();
        if self.parentage == Parentage::Own {
            let options = rustix::process::WaitOptions::empty();
            while let Err(Errno::INTR) = rustix::process::waitpid(Some(self.pid), options) {}
        }
    }
}

/// What a cage's network needs on the host.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    plan: &'a Plan,
    published: Vec<Published>,
}

impl Prepared<'_> {
    /// Whether the cage has a network at all.
    pub(crate) fn needs_gatekeeper(&self) -> bool {
        matches!(self.plan.walls.network, NetworkPlan::Gatekeeper(_))
    }
}

/// The whole life of a gatekeeper's process that a launcher has forked.
pub(crate) fn live_as_helper(control: OwnedFd, launcher: Pid) {
    // A launcher has no standard streams, so its descriptors begin with their numbers, and the
    // channel must not be where they are going to be.
    if let Ok(control) = rustix::io::fcntl_dupfd_cloexec(&control, 3) {
        live(Channel::from_fd(control), launcher, Serves::ManyCages);
    }
}

/// The whole life of the gatekeeper's process. Returns when there is nothing left to do.
fn live(control: Channel, parent: Pid, serves: Serves) {
    let jailed = leave_the_supervisor(&control)
        .map_err(|errno| std::io::Error::from(errno).to_string())
        .and_then(|()| {
            let jail = HelperJail {
                kind: plan::seccomp::Helper::Gatekeeper,
                life: HelperLife::With(parent),
                network: HelperNetwork::Kept,
                files: HelperFiles::None,
                descriptors: gate::limits::DESCRIPTORS,
            };
            if !walls::stands(Wall::GatekeeperJail) {
                return Ok(Confined { landlock: LandlockState::Full, descriptors: UNJAILED });
            }
            jailed::confine(&jail).map_err(|failure| failure.to_string())
        });
    let jailed = match jailed {
        Ok(jailed) => jailed,
        Err(reason) => {
            let failed = ProcessReport::Failed { reason };
            let _gone = control.send(&failed, &[], Waiting::Refused);
            return;
        }
    };
    if gate::process::serve(control.into_fd(), jailed.descriptors, serves).is_ok() {
        sys::exec::exit_now(0);
    }
}

/// Lets go of everything that is the supervisor's: signals, terminal, descriptors. The standard ones
/// lead nowhere, so that no connection can come to be one of them.
fn leave_the_supervisor(control: &Channel) -> Result<(), Errno> {
    sys::signal::set_mask(&SignalSet::empty())?;
    // Splicing into a connection that the other side has closed would end the process.
    sys::signal::ignore(libc::SIGPIPE)?;
    rustix::process::setsid()?;
    let nothing =
        rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    let kept = u32::try_from(control.as_fd().as_raw_fd()).unwrap_or(u32::MAX);
    std::mem::forget(nothing);
    sys::descriptors::close_all_but(&[0, 1, 2, kept])?;
    // It rests for microseconds at a time, and the kernel would make fifty more of each.
    let _longer = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // What a person sees in a list of processes; a name is not worth a failure.
    let _unnamed = rustix::thread::set_name(c"stockade-gate");
    Ok(())
}

fn problem(text: impl ToString) -> SpawnError {
    SpawnError::Gatekeeper { problem: text.to_string() }
}

/// How many descriptors every process may have open.
const UNJAILED: u64 = 1024;

/// How long a process that ends is still there after its channels are closed, and much more.
const LAST_MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Why a process that is there has not taken a cage: what came with it was not all of it.
const NOT_TAKEN: &str = "it could not take the cage's sockets, for want of descriptors or memory; raise \
                         the limit on open files (`ulimit -n`) or run fewer cages with a network at a time";
