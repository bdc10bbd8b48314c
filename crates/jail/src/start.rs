//! Starting a cage: namespaces made ahead, a child started in them, and what its supervisor does until the
//! program runs; what the child does stands in `first_process`. Whatever fails, nothing stays behind:
//! the namespaces die with the child, and dropping a [`Child`] kills it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plan::network::SocketKind;
use plan::{GuestPath, LimitsPlan, MountOp, NetworkPlan, PLAN_VERSION, Plan};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};
use sys::holder::NamespaceHolder;
use walls::Wall;

use crate::control::{Channel, Departing, HandOver, Order};
use crate::descriptor_limit::DescriptorLimit;
use crate::first_process::be_pid_one;
use crate::namespaces::{self, Origin, Premade};
use crate::streams::ProgramStreams;
use crate::verify::PlannedMounts;
use crate::{Refused, Report, SetupFailure, StartError, Step, identity, idmap, network};

/// Who holds a cage to the limits of its Plan. This crate cannot: it has no cgroup,
/// and of time it only knows when a supervisor has failed to keep it.
#[derive(Clone, Copy, Debug, Default)]
pub enum LimitsHolder<'a> {
    /// Nobody, so a Plan that has limits is refused.
    #[default]
    Nobody,
    /// The caller, from before it opens the gate.
    Caller {
        /// The cgroup that the cage starts in, where the kernel can do that. The caller moves it
        /// into any other.
        cgroup: Option<BorrowedFd<'a>>,
    },
}

/// A cage that exists. Its program has not run before [`Child::open_gate`], which wants it verified;
/// dropping it ends the cage.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    control: Channel,
    parentage: Parentage,
    /// What pid 1 hands over and nobody has taken yet, in the order in which it comes.
    awaited: VecDeque<Awaited>,
    planned: PlannedMounts,
    /// Whether the cage has them and no others.
    is_verified: AtomicBool,
    departing: Departing,
    /// What the start needed and what only has to be reaped.
    leftovers: Mutex<Leftovers>,
}

/// Processes of ours that have ended or are about to. Waiting for them right away would give their
/// processor to this process in the middle of the cage's start.
pub(crate) type Leftovers = Vec<NamespaceHolder>;

/// What pid 1 hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// Sockets that lead to the gatekeeper.
    Network,
    /// What this many mounts are served on.
    Files(usize),
}

impl Awaited {
    fn of(plan: &Plan) -> VecDeque<Self> {
        let network = match plan.walls.network {
            NetworkPlan::Loopback => None,
            NetworkPlan::Gatekeeper(_) => Some(Self::Network),
        };
        let served = plan.walls.mounts.iter().filter_map(MountOp::served_outside).count();
        network.into_iter().chain((served > 0).then_some(Self::Files(served))).collect()
    }
}

/// Whose child pid 1 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parentage {
    /// This process's, which has to reap it.
    Own,
    /// A launcher's.
    Launcher,
    /// This process's, which has handed the cage to its new owner.
    GivenAway,
}

/// Starts a cage in this process, which must have a single thread. `sources` are the descriptors
/// of [`Plan::sources`], in order.
pub fn start(
    plan: &Plan,
    sources: &[OwnedFd],
    streams: ProgramStreams,
    limits: LimitsHolder<'_>,
) -> Result<Child, StartError> {
    start_in(Origin::New(None), plan, sources, streams, limits)
}

/// The same, in namespaces of this origin.
pub(crate) fn start_in(
    origin: Origin<'_>,
    plan: &Plan,
    sources: &[OwnedFd],
    streams: ProgramStreams,
    limits: LimitsHolder<'_>,
) -> Result<Child, StartError> {
    check(plan, sources, limits)?;
    let sockets = network::descriptors(&plan.walls.network);
    let descriptors = sources.len().saturating_mul(2).saturating_add(sockets);
    let limit = DescriptorLimit::make_room_for(descriptors)
        .map_err(|errno| SetupFailure::kernel(Step::Settings, "the descriptor limit", errno))?;
    let (control, inside) = Channel::pair().map_err(namespaces::failed)?;
    let is_mapped = origin.map_ids(plan)?;
    if is_mapped {
        control.send(&Order::Mapped, &[]).map_err(namespaces::failed)?;
    }
    let mut control = Some(control);
    let mut inside = Some((streams, inside));
    let cgroup = match limits {
        LimitsHolder::Caller { cgroup } => cgroup,
        LimitsHolder::Nobody => None,
    };
    let mut life = || {
        // A channel must have one other end only.
        drop(control.take());
        if let Some((streams, inside)) = inside.take() {
            be_pid_one(plan, sources, streams, inside, &limit);
        }
    };
    let (pid, pidfd, holder) =
        origin.start_first_process(&plan.walls.identity, cgroup, &mut life)?;
    // The child has its own copies, and a channel must have one other end only.
    drop(inside);
    let control = control.ok_or(StartError::Vanished)?;
    let child = Child {
        pid,
        pidfd,
        control,
        parentage: Parentage::Own,
        awaited: Awaited::of(plan),
        planned: PlannedMounts::of(plan),
        is_verified: AtomicBool::new(false),
        departing: Departing::AtOnce,
        leftovers: Mutex::new(holder.into_iter().collect()),
    };
    if !is_mapped {
        // One that is gone has said why.
        identity::map(pid, &plan.walls.identity, plan.host_ids())
            .and_then(|()| child.send(&Order::Mapped).map_err(namespaces::failed))
            .map_err(|failure| child.reported_failure().unwrap_or(failure))?;
    }
    if namespaces::is_built_from_outside(&plan.walls.identity) {
        child.leftovers().extend(idmap::send_binds(plan, sources, &child.control)?);
    }
    Ok(child)
}

impl Premade {
    /// Starts a cage in them, as [`start`] does.
    pub fn start(
        self,
        plan: &Plan,
        sources: &[OwnedFd],
        streams: ProgramStreams,
        limits: LimitsHolder<'_>,
    ) -> Result<Child, StartError> {
        start_in(self.into_origin(), plan, sources, streams, limits)
    }
}

impl Child {
    pub(crate) fn from_launcher(plan: &Plan, pid: Pid, pidfd: OwnedFd, control: OwnedFd) -> Self {
        Self {
            pid,
            pidfd,
            control: Channel::from_fd(control),
            parentage: Parentage::Launcher,
            awaited: Awaited::of(plan),
            planned: PlannedMounts::of(plan),
            is_verified: AtomicBool::new(false),
            departing: Departing::AtOnce,
            leftovers: Mutex::default(),
        }
    }

    /// To be called when the process that asked a launcher for the cage has its handles.
    pub(crate) fn given_away(mut self) -> Leftovers {
        // The cage lives on, tied to the control channel of its new owner alone.
        self.parentage = Parentage::GivenAway;
        std::mem::take(&mut *self.leftovers())
    }

    fn leftovers(&self) -> MutexGuard<'_, Leftovers> {
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sockets by which the cage's programs meet the gatekeeper: waits until pid 1 has made
    /// them, while it goes on building the cage. None in a cage without a gatekeeper, and in one
    /// whose sockets were taken before.
    pub fn take_network(&mut self) -> Result<Vec<(SocketKind, OwnedFd)>, StartError> {
        if self.awaited.front() != Some(&Awaited::Network) {
            return Ok(Vec::new());
        }
        match self.take_over()? {
            (HandOver::Network(kinds), sockets) if kinds.len() == sockets.len() => {
                self.awaited.pop_front();
                Ok(kinds.into_iter().zip(sockets).collect())
            }
            _ => Err(StartError::Vanished),
        }
    }

    /// Where the kernel asks for the files of each mount that is served: waits until the tree is built. For a cage
    /// whose network was taken already, or that has none.
    pub fn take_files(&mut self) -> Result<Vec<(GuestPath, OwnedFd)>, StartError> {
        let Some(Awaited::Files(count)) = self.awaited.front().copied() else {
            return Ok(Vec::new());
        };
        match self.take_over()? {
            (HandOver::Files(places), devices)
                if places.len() == count && devices.len() == count =>
            {
                self.awaited.pop_front();
                Ok(places.into_iter().zip(devices).collect())
            }
            _ => Err(StartError::Vanished),
        }
    }

    /// The next thing that pid 1 hands over.
    fn take_over(&self) -> Result<(HandOver, Vec<OwnedFd>), StartError> {
        loop {
            return match self.next_report() {
                Err(Errno::INTR) => continue,
                Ok(Some((Report::HandOver(what), descriptors))) => Ok((what, descriptors)),
                Ok(Some((Report::Failed(failure), _))) => Err(failure.into()),
                Ok(_) | Err(_) => Err(StartError::Vanished),
            };
        }
    }

    /// Compares the mount table that came with [`Report::Built`] with what the Plan says.
    pub fn verify(&self, table: &[OwnedFd]) -> Result<(), StartError> {
        let [table] = table else { return Err(StartError::Vanished) };
        if walls::stands(Wall::MountTable) {
            self.planned.compare_with(table.as_fd())?;
        }
        self.is_verified.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits until the tree is built and compares its mount table. For a cage whose network and
    /// terminal have been taken already, or that has none.
    pub fn verify_when_built(&self) -> Result<(), StartError> {
        loop {
            return match self.next_report() {
                Err(Errno::INTR) => continue,
                Ok(Some((Report::Built, table))) => self.verify(&table),
                Ok(Some((Report::Failed(failure), _))) => Err(failure.into()),
                Ok(_) | Err(_) => Err(StartError::Vanished),
            };
        }
    }

    /// Lets the program start once all walls are up. Refused with `ENOTCONN` as long as nobody has
    /// taken all that is handed over, because a program must not run before somebody holds it to its
    /// rules and serves its files, and with `EBUSY` as long as nobody has verified the cage.
    pub fn open_gate(&self) -> Result<(), Errno> {
        if !self.awaited.is_empty() {
            return Err(Errno::NOTCONN);
        }
        if !self.is_verified.load(Ordering::Acquire) && walls::stands(Wall::GateShut) {
            return Err(Errno::BUSY);
        }
        // They would count against a limit on processes.
        *self.leftovers() = Leftovers::default();
        self.send(&Order::Go(self.departing))
    }

    /// Has pid 1 stay after it has reported the end, until [`Self::dismiss`]: for whoever reads counters
    /// that go with the cage's last process. To be called before the gate is opened.
    pub fn stay_until_dismissed(&mut self) {
        self.departing = Departing::WhenTold;
    }

    /// Has the program find in its list of refusals what others refused it. Lost where pid 1 is behind with its
    /// orders: nothing depends on it.
    pub fn tell_refused(&self, refused: Refused) {
        let _lost = self.control.send_if_room(&Order::Tell(refused));
    }

    /// Lets pid 1 go, if it stays for that.
    pub fn dismiss(&self) {
        if self.departing == Departing::WhenTold {
            // Already gone is what was wanted.
            let _gone = self.send(&Order::Leave);
        }
    }

    /// The next thing that pid 1 says; none when it is gone. A terminal comes as a descriptor.
    pub fn next_report(&self) -> Result<Option<(Report, Vec<OwnedFd>)>, Errno> {
        self.control.receive()
    }

    /// Whether [`Self::next_report`] has something to say already.
    pub fn has_report(&self) -> bool {
        let mut reports = [PollFd::new(&self.control, PollFlags::IN)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut reports, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Why the cage could not be built, if pid 1 has said so already.
    fn reported_failure(&self) -> Option<SetupFailure> {
        if !self.has_report() {
            return None;
        }
        match self.next_report() {
            Ok(Some((Report::Failed(failure), _))) => Some(failure),
            _ => None,
        }
    }

    /// Sends a signal to the program; `ESRCH` where pid 1 is gone.
    pub fn signal(&self, signal: i32) -> Result<(), Errno> {
        self.send(&Order::Signal(signal))
    }

    /// Lets a stopped program go on.
    pub fn resume(&self) -> Result<(), Errno> {
        self.send(&Order::Continue)
    }

    /// Kills everything in the cage.
    pub fn kill(&self) {
        // Already gone is what was wanted.
        let _gone = sys::signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
    }

    /// Pid 1 of the cage, as the host counts.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Readable when [`Self::next_report`] has something to say.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Readable when pid 1 is gone, and with it everything in the cage.
    pub fn gone(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Waits until nothing of the cage is left running.
    pub fn wait_until_gone(&self) -> Result<(), Errno> {
        match self.parentage {
            Parentage::Own => loop {
                let options = WaitIdOptions::EXITED;
                match rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
                    Ok(_) | Err(Errno::CHILD) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
            },
            Parentage::GivenAway => Ok(()),
            Parentage::Launcher => loop {
                let flags = rustix::event::PollFlags::IN;
                let mut descriptors = [rustix::event::PollFd::new(&self.pidfd, flags)];
                match rustix::event::poll(&mut descriptors, None) {
                    Ok(_) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno),
                }
            },
        }
    }

    fn send(&self, order: &Order) -> Result<(), Errno> {
        match self.control.send(order, &[]) {
            // Pid 1 has closed its end; the kernel says so by the second word, once, where it left
            // orders unread.
            Err(Errno::PIPE | Errno::CONNRESET) => Err(Errno::SRCH),
            sent => sent,
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.parentage != Parentage::GivenAway {
            self.kill();
            let _reaped = self.wait_until_gone();
        }
    }
}

/// Refuses what this enforcer does not know or cannot hold.
fn check(plan: &Plan, sources: &[OwnedFd], limits: LimitsHolder<'_>) -> Result<(), StartError> {
    if plan.version != PLAN_VERSION {
        let version = plan.version;
        return Err(StartError::Unsupported(format!("the plan is of version {version}")));
    }
    if plan.sources().count() != sources.len() {
        return Err(StartError::Unsupported("the plan's sources are not all open".to_owned()));
    }
    identity::check(&plan.walls.identity, plan.host_ids())?;
    network::check(plan)?;
    if plan.walls.limits != LimitsPlan::default() && matches!(limits, LimitsHolder::Nobody) {
        let reason = "the cage's policy sets limits, and nobody would hold the cage to them";
        return Err(StartError::Unsupported(reason.to_owned()));
    }
    Ok(())
}
