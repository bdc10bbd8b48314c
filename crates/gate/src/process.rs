//! The gatekeeper's process: takes cages from its supervisor and serves each until its channel ends.
//! Single-threaded. Opens nothing but connections; what else it holds was handed to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use plan::network::SocketKind;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, timeout};

use crate::budget::{Budget, Division, Serves};
use crate::cage::{Cage, Shared};
use crate::control::{
    self, CageOrder, CageReport, Channel, Order, Registration, Waiting, read_plan,
};
use crate::dns::{self, Resolver};
use crate::event::Counters;
use crate::flow::{self, Sockets};
use crate::limits;
use crate::relay::Pipes;
use crate::watched::Watched;

/// Serves cages until the supervisor is gone or the last cage after [`Order::Drain`] is.
///
/// The caller has jailed this process already: from here on it reads what cages send.
///
/// `descriptors` is how many of them it may have open.
pub fn serve(control: OwnedFd, descriptors: u64, serves: Serves) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // Events first: a connection that is ready should not wait behind all that were.
        .event_interval(EVENT_INTERVAL)
        .build()?;
    let served = runtime.block_on(serve_all(control, descriptors, serves));
    // Nothing is worth waiting for any more.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}

/// The same, for a runtime that is there.
pub(crate) async fn serve_all(
    control: OwnedFd,
    descriptors: u64,
    serves: Serves,
) -> io::Result<()> {
    let division = Division::of(descriptors, serves);
    let resolver = Arc::new(Resolver::new(Vec::new(), division.questions));
    let shared = Arc::new(Shared {
        resolver,
        pipes: Pipes::new(division.pipes),
        connections: Budget::new(division.connections),
        cages: Budget::new(division.cages),
        serves,
    });
    let control = Watched::new(control)?;
    let mut cages = JoinSet::new();
    let mut draining = false;
    while !(draining && cages.is_empty()) {
        let order = tokio::select! {
            order = next(&control) => order,
            Some(_) = cages.join_next() => continue,
        };
        let order = match order {
            // For one cage there were not enough descriptors; its channel has ended with the others that
            // did come, which says so. Nobody else has to suffer for it.
            Err(error) if dns::is_want_of_descriptors(&error) => {
                tokio::time::sleep(limits::NO_PLACE).await;
                continue;
            }
            order => order?,
        };
        match order {
            None => break,
            Some((Order::Register(registration), descriptors)) if !draining => {
                cages.spawn(serve_cage(*registration, descriptors, Arc::clone(&shared)));
            }
            Some((Order::Register(_), descriptors)) => refuse(descriptors, "it is ending"),
            Some((Order::Upstream { resolvers }, _)) => {
                shared.resolver.replace_resolvers(resolvers);
            }
            Some((Order::Drain, _)) => draining = true,
        }
    }
    Ok(())
}

/// The whole life of one cage. Its connections end with it.
async fn serve_cage(registration: Registration, descriptors: Vec<OwnedFd>, shared: Arc<Shared>) {
    let mut descriptors = descriptors.into_iter();
    let Some(Ok(channel)) = descriptors.next().map(Watched::new) else { return };
    let channel = Arc::new(channel);
    let taken = take(registration, descriptors, Arc::clone(&channel), shared);
    let (cage, listeners) = match taken {
        Ok(taken) => taken,
        Err(reason) => {
            let refused = CageReport::Refused { reason };
            let _gone = control::send(channel.as_fd(), &refused, &[], Waiting::Refused);
            return;
        }
    };
    if cage.record.report(&CageReport::Registered).is_err() {
        return;
    }
    let order = tokio::select! {
        order = next::<CageOrder>(&channel) => order,
        () = tell_progress(&cage) => return,
    };
    match order {
        Ok(Some((CageOrder::Unregister, _))) => {}
        // An end without a word is the supervisor's own.
        Ok(None) | Err(_) => return,
    }
    // Connections hold the cage as well, so that what they moved last is counted.
    drop(listeners);
    tokio::task::yield_now().await;
    let _gone = timeout(limits::ACCOUNT, tell_account(&cage, &channel)).await;
}

/// Tells now and then what has changed. Never ends: a supervisor that has no room hears of it later.
async fn tell_progress(cage: &Cage) {
    let mut told = Counters::default();
    let mut beat = tokio::time::interval(limits::PROGRESS);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let counters = cage.record.counters();
        if counters != told && cage.record.report(&CageReport::Progress(counters)).is_ok() {
            told = counters;
        }
    }
}

async fn tell_account(cage: &Cage, channel: &Watched) -> io::Result<()> {
    let report = CageReport::Account(cage.record.account());
    channel.when(Interest::WRITABLE, |_| Ok(cage.record.report(&report)?)).await
}

/// Takes a cage over, with everything that was made for it.
fn take(
    registration: Registration,
    mut descriptors: std::vec::IntoIter<OwnedFd>,
    channel: Arc<Watched>,
    shared: Arc<Shared>,
) -> Result<(Arc<Cage>, JoinSet<()>), String> {
    // With the channel, which came first. Two make a place.
    let needed = (descriptors.len() + 1).div_ceil(2) + limits::OWN_CONNECTIONS;
    let share = shared.cages.take(needed).or_else(|| shared.connections.take(needed));
    let share = share.ok_or(NO_DESCRIPTORS)?;
    let plan = descriptors.next().ok_or("the plan did not come with it")?;
    let plan = read_plan(plan.as_fd()).map_err(|errno| format!("the plan: {errno}"))?;
    let (kinds, published) = (registration.kinds.clone(), registration.published.clone());
    if descriptors.len() != kinds.len() + published.len() {
        return Err("it has not one descriptor for each socket".to_owned());
    }
    let made_inside: Vec<(SocketKind, OwnedFd)> =
        kinds.into_iter().zip(descriptors.by_ref()).collect();
    let sockets =
        Sockets { made_inside, published: published.into_iter().zip(descriptors).collect() };
    let resolver = Arc::clone(&shared.resolver);
    let cage = Arc::new(Cage::new(&plan, registration, channel, shared, share));
    let listeners = flow::listen(&cage, sockets, resolver)
        .map_err(|error| format!("its sockets cannot be served: {error}"))?;
    Ok((cage, listeners))
}

fn refuse(descriptors: Vec<OwnedFd>, reason: &str) {
    if let Some(channel) = descriptors.into_iter().next().map(Channel::from_fd) {
        let refused = CageReport::Refused { reason: reason.to_owned() };
        let _gone = channel.send(&refused, &[], Waiting::Refused);
    }
}

/// The next packet; none when the other side is gone.
async fn next<T: DeserializeOwned>(channel: &Watched) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let receive = |socket: BorrowedFd<'_>| Ok(control::receive(socket, Waiting::Refused)?);
    channel.when(Interest::READABLE, receive).await
}

/// Why a cage is not served that there are no descriptors for.
const NO_DESCRIPTORS: &str = "it has too many files open for another cage; raise the limit on open \
                              files (`ulimit -n`) or run fewer cages with a network at a time";

/// After how many turns of tasks the kernel is asked what else is ready.
const EVENT_INTERVAL: u32 = 31;
