//! The life of a cage's first process until it only watches: it builds the cage around itself, waits
//! behind the gate, and starts the program. Whatever fails on the way is told and ends the cage; a
//! program never runs in a cage that is not whole.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use plan::{IdentityMap, Plan};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Mode;
use sys::signal::SignalSet;
use walls::Wall;

use crate::control::{Channel, Departing, HandOver, Order};
use crate::departure::Departure;
use crate::descriptor_limit::DescriptorLimit;
use crate::idmap::Arrivals;
use crate::init::Init;
use crate::journal::Journal;
use crate::network::{Inward, Lookups, Sealed};
use crate::observer::Observer;
use crate::oom_order::OomOrder;
use crate::program::Launch;
use crate::servers::Servers;
use crate::streams::ProgramStreams;
use crate::tree::{Devices, Rooted, Sources, Unserved};
use crate::{
    LandlockState, Layers, Report, SetupFailure, Step, identity, landlock, network, privileges,
    program, tree, verify,
};

/// The whole life of the cage's first process. It begins with the raised limit of its supervisor, which is put
/// back for the program.
pub(crate) fn be_pid_one(
    plan: &Plan,
    opened: &[OwnedFd],
    streams: ProgramStreams,
    control: Channel,
    limit: &DescriptorLimit,
) -> ! {
    let (failure, control) = live(plan, opened, streams, control, limit);
    // A supervisor that is gone has no use for the report.
    let _told = control.send(&Report::Failed(failure), &[]);
    sys::exec::exit_now(1)
}

/// Builds the cage, starts the program, watches over it and ends; returns only what went wrong
/// before the program ran.
fn live(
    plan: &Plan,
    opened: &[OwnedFd],
    streams: ProgramStreams,
    control: Channel,
    limit: &DescriptorLimit,
) -> (SetupFailure, Channel) {
    match build_and_launch(plan, opened, streams, &control, limit) {
        Ok(ready) => {
            let Ready { launched, children, journal, asked, departure, layers } = ready;
            let _told = control.send(&Report::Started(layers), &[]);
            let mut init =
                Init::new(plan, control, (children, journal), launched, asked, departure);
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
    journal: Option<Arc<Journal>>,
    asked: (Option<Inward>, Option<Lookups>),
    departure: (Departing, Option<Departure>),
    layers: Layers,
}

fn build_and_launch(
    plan: &Plan,
    opened: &[OwnedFd],
    streams: ProgramStreams,
    control: &Channel,
    limit: &DescriptorLimit,
) -> Result<Ready, SetupFailure> {
    let settings = |errno| SetupFailure::kernel(Step::Settings, "signals", errno);
    sys::signal::restore_default(libc::SIGCHLD).map_err(settings)?;
    let children = sys::signal::descriptor(&SignalSet::of(&[libc::SIGCHLD])).map_err(settings)?;
    rustix::system::sethostname(plan.start.hostname.as_bytes())
        .map_err(|errno| SetupFailure::kernel(Step::Settings, "the host name", errno))?;
    rustix::process::umask(Mode::empty());
    sys::loopback::bring_up()
        .map_err(|errno| SetupFailure::kernel(Step::Namespaces, "loopback", errno))?;
    wait_for_map(control)?;
    let devices = Devices::open(plan, opened)?;
    identity::assume(&plan.walls.identity)?;
    privileges::die_with_parent()?;
    // Before the tree is built: whoever gets the sockets has work to do with them meanwhile.
    let Sealed { state, inward, lookups } = network::seal(&plan.walls.network, control)?;
    let binds = match plan.walls.identity.map {
        IdentityMap::Caller(_) => Sources::LookUp(plan),
        IdentityMap::Unowned => Sources::Arriving(Arrivals::new(control)),
    };
    // Before the mounts take up the descriptors below the limit that the program will have.
    let departure = Departure::prepare().ok();
    let tree = tree::build(plan, binds, devices)?;
    let Rooted { spent, journal, unserved } = tree.become_root()?;
    let (inside, outside): (Vec<Unserved>, Vec<Unserved>) =
        unserved.into_iter().partition(|one| one.inside.is_some());
    if !outside.is_empty() {
        let (places, devices) = outside.into_iter().map(|one| (one.at, one.device)).unzip();
        control.hand_over(HandOver::Files(places), devices)?;
    }
    let journal = journal.map(Arc::new);
    // Not before: the scheduler groups processes by session and lets others go first when one begins,
    // which until now would be those who do their part of the start on the same processor.
    rustix::process::setsid().map_err(settings)?;
    let (streams, terminal) = streams.open(control)?;
    tell_built(control)?;
    verify::verify_view(plan)?;
    privileges::refuse_core_dumps()?;
    let oom_order = privileges::hide_from_the_cage(|| OomOrder::open(plan))?;
    privileges::drop_all()?;
    let landlock = match walls::stands(Wall::Landlock) {
        true => landlock::restrict(&plan.walls.landlock, &inside)?,
        false => LandlockState::Full,
    };
    let launch = Launch::prepare(plan)?;
    let servers = Servers::prepare(plan, inside)?;
    // The kernel compiles the filter while the start becomes durable on record.
    let observer = Observer::start(plan, journal.clone());
    let filter = launch.enter_filter(observer)?;
    // While the supervisor waits for the storage.
    drop(spent);
    // From here on nothing is opened.
    limit.restore().map_err(settings)?;
    let departing = wait_for_go(control)?;
    refuse_orphanhood(control)?;
    let streams = program::borrow_streams(&streams, terminal.as_ref());
    oom_order.iter().for_each(OomOrder::put_children_first);
    servers.start()?;
    let launched = launch.start(&streams, filter)?;
    oom_order.iter().for_each(OomOrder::step_back);
    let layers = Layers { landlock, notify: launched.notify(), network: state };
    let (asked, departure) = ((inward, lookups), (departing, departure));
    Ok(Ready { launched, children, journal, asked, departure, layers })
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

/// The supervisor maps the ids of the user namespace while this process does what needs none.
fn wait_for_map(control: &Channel) -> Result<(), SetupFailure> {
    match next_order(control)? {
        Order::Mapped => Ok(()),
        _ => Err(out_of_turn()),
    }
}

fn wait_for_go(control: &Channel) -> Result<Departing, SetupFailure> {
    match next_order(control)? {
        Order::Go(departing) => Ok(departing),
        _ => Err(out_of_turn()),
    }
}

fn next_order(control: &Channel) -> Result<Order, SetupFailure> {
    match control.receive::<Order>() {
        Ok(Some((order, _))) => Ok(order),
        Ok(None) => Err(out_of_turn()),
        Err(errno) => Err(SetupFailure::kernel(Step::Control, "the supervisor", errno)),
    }
}

fn out_of_turn() -> SetupFailure {
    SetupFailure::found(Step::Control, "the supervisor", "it is gone or spoke out of turn")
}
