//! The life of a cage's first process until it only watches: it builds the cage around itself, waits
//! behind the gate, and starts the program. Whatever fails on the way is told and ends the cage; a
//! program never runs in a cage that is not whole.

use std::os::fd::{AsFd, OwnedFd};

use plan::{IdentityMap, Plan};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Mode;
use sys::signal::SignalSet;
use walls::Wall;

use crate::birth::Namespacing;
use crate::control::{Channel, Departing, Order};
use crate::departure::Departure;
use crate::descriptor_limit::DescriptorLimit;
use crate::furniture::Furniture;
use crate::idmap::Arrivals;
use crate::init::Init;
use crate::network::{Inward, Sealed};
use crate::oom_order::OomOrder;
use crate::program::Launch;
use crate::streams::ProgramStreams;
use crate::tree::{Beginning, Masks, Part, Sources, Tree};
use crate::{
    LandlockState, Layers, Report, SetupFailure, Step, identity, landlock, network, privileges,
    program, skeleton, tree, verify,
};

/// What a first process was born with and has no use for.
#[derive(Clone, Copy)]
pub(crate) struct Burden<'a> {
    /// Copies of its supervisor's descriptors of what the cage is granted.
    pub(crate) sources: &'a [OwnedFd],
    /// How many descriptors there are at most until the cage is built.
    pub(crate) descriptors: usize,
}

/// What a first process finds when it is born.
pub(crate) struct Home {
    /// Its namespaces.
    pub(crate) namespacing: Namespacing,
    /// What was made for it ahead.
    pub(crate) furniture: Furniture,
    /// Whether there are no mounts of the host.
    pub(crate) is_bare: bool,
    /// What of the tree is there already.
    pub(crate) skeleton: Option<skeleton::CageCopy>,
}

/// The whole life of the cage's first process.
pub(crate) fn be_pid_one(
    plan: &Plan,
    home: Home,
    streams: ProgramStreams,
    control: Channel,
    burden: Burden<'_>,
) -> ! {
    let (failure, control) = live(plan, home, streams, control, burden);
    // A supervisor that is gone has no use for the report.
    let _told = control.send(&Report::Failed(failure), &[]);
    sys::exec::exit_now(1)
}

/// Builds the cage, starts the program, watches over it and ends; returns only what went wrong
/// before the program ran.
fn live(
    plan: &Plan,
    home: Home,
    streams: ProgramStreams,
    control: Channel,
    burden: Burden<'_>,
) -> (SetupFailure, Channel) {
    match build_and_launch(plan, home, streams, &control, burden) {
        Ok(ready) => {
            let Ready { launched, children, inward, departure, layers } = ready;
            let _told = control.send(&Report::Started(layers), &[]);
            let mut init = Init::new(plan, control, children, launched, inward, departure);
            if init.confine().is_ok() {
                init.watch();
            }
            sys::exec::exit_now(0)
        }
        Err(failure) => (failure, control),
    }
}

struct Ready {
    launched: program::Launched,
    children: OwnedFd,
    inward: Option<Inward>,
    departure: (Departing, Option<Departure>),
    layers: Layers,
}

fn build_and_launch(
    plan: &Plan,
    home: Home,
    streams: ProgramStreams,
    control: &Channel,
    burden: Burden<'_>,
) -> Result<Ready, SetupFailure> {
    let settings = |errno| SetupFailure::kernel(Step::Settings, "signals", errno);
    let limit = DescriptorLimit::make_room_for(burden.descriptors).map_err(settings)?;
    sys::signal::restore_default(libc::SIGCHLD).map_err(settings)?;
    let children = sys::signal::descriptor(&SignalSet::of(&[libc::SIGCHLD])).map_err(settings)?;
    rustix::system::sethostname(plan.identity.hostname.as_bytes())
        .map_err(|errno| SetupFailure::kernel(Step::Settings, "the host name", errno))?;
    rustix::process::umask(Mode::empty());
    home.namespacing.complete_from_inside(control)?;
    identity::assume(&plan.identity)?;
    privileges::die_with_parent()?;
    // Before the tree is built: whoever gets the sockets has work to do with them meanwhile.
    let Sealed { state, inward } = network::seal(&plan.network, control)?;
    let binds = match plan.identity.map {
        IdentityMap::Caller(_) => Sources::LookUp(&plan.sources),
        IdentityMap::Unowned(_) => Sources::Arriving(Arrivals::new(control)),
    };
    // Before the mounts take up the descriptors below the limit that the program will have.
    let departure = Departure::prepare().ok();
    let tree = build_tree(plan, binds, home)?;
    let spent = tree.become_root()?;
    // Not before: the scheduler groups processes by session and lets others go first when one begins,
    // which until now would be those who do their part of the start on the same processor.
    rustix::process::setsid().map_err(settings)?;
    let (streams, terminal) = streams.open(control)?;
    tell_built(control)?;
    verify::verify_view(plan)?;
    privileges::refuse_core_dumps()?;
    limit.restore().map_err(settings)?;
    let oom_order = privileges::hide_from_the_cage(|| OomOrder::open(plan))?;
    privileges::drop_all()?;
    let landlock = match walls::stands(Wall::Landlock) {
        true => landlock::restrict(&plan.landlock)?,
        false => LandlockState::Full,
    };
    let launch = Launch::prepare(plan)?;
    // The kernel compiles the filter while the start becomes durable on record.
    let filter = launch.enter_filter()?;
    close_while_waiting(spent, burden.sources, control);
    let departing = wait_for_go(control)?;
    refuse_orphanhood(control)?;
    let streams = program::borrow_streams(&streams, terminal.as_ref());
    oom_order.iter().for_each(OomOrder::put_children_first);
    let launched = launch.start(&streams, filter)?;
    oom_order.iter().for_each(OomOrder::step_back);
    let layers = Layers { landlock, notify: launched.notify(), network: state };
    Ok(Ready { launched, children, inward, departure: (departing, departure), layers })
}

fn build_tree(plan: &Plan, binds: Sources<'_>, home: Home) -> Result<Tree, SetupFailure> {
    let Home { furniture, is_bare, skeleton, .. } = home;
    let masks = if is_bare { Masks::Beside } else { Masks::Made };
    let (root, common) = skeleton.map(|copy| (copy.root, copy.common)).unzip();
    let part = common.as_ref().map_or(Part::All, Part::AllBut);
    tree::build(plan, Beginning { root, part, masks }, binds, furniture)
}

/// Lets the supervisor compare the mount table.
fn tell_built(control: &Channel) -> Result<(), SetupFailure> {
    let table = verify::open_mount_table()?;
    control
        .send(&Report::Built, &[table.as_fd()])
        .map_err(|errno| SetupFailure::kernel(Step::Verify, "the mount table", errno))
}

/// A supervisor that died before this process asked to die with it has left its orders in the
/// channel, and nobody to answer for the program.
fn refuse_orphanhood(control: &Channel) -> Result<(), SetupFailure> {
    let mut ends = [PollFd::new(control, PollFlags::RDHUP)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled = rustix::event::poll(&mut ends, Some(&now));
    if polled == Ok(0) {
        return Ok(());
    }
    Err(SetupFailure::found(Step::Control, "the supervisor", "it is gone"))
}

/// Closes descriptors if there is time for it: the supervisor compares as many mounts meanwhile. A few
/// are sooner closed with everything else, once the program runs.
fn close_while_waiting(spent: Vec<OwnedFd>, copies: &[OwnedFd], control: &Channel) {
    let mut orders = [PollFd::new(control, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    if spent.len() < MANY || rustix::event::poll(&mut orders, Some(&now)) != Ok(0) {
        std::mem::forget(spent);
        return;
    }
    sys::descriptors::close_together(spent);
    sys::descriptors::close_copies(copies);
}

fn wait_for_go(control: &Channel) -> Result<Departing, SetupFailure> {
    match control.receive::<Order>() {
        Ok(Some((Order::Go(departing), _))) => Ok(departing),
        Ok(_) => {
            let detail = "it is gone or spoke out of turn";
            Err(SetupFailure::found(Step::Control, "the supervisor", detail))
        }
        Err(errno) => Err(SetupFailure::kernel(Step::Control, "the supervisor", errno)),
    }
}

/// From here on comparing mounts takes longer than what is left to do here.
const MANY: usize = 128;
