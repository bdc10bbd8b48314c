//! `wasi:io/poll`: what a component waits for, one or many at once. A file is always ready; nothing here computes, so that
//! waiting costs no processor time.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, RawFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags};
use wasmtime::component::Resource;

use super::super::host::Ending;
use super::super::waiting::{monotonic, wait};
use super::bindings::wasi::io::poll;
use super::host::Host;
use super::http::exchange::Exchange;
use super::network::Socket;
use crate::limits::Limit;
use crate::streams::Stream;
use crate::world::World;

/// One thing that a component waits for.
#[derive(Clone, Debug)]
pub enum Pollable {
    /// A moment of the clock that only goes forward.
    Time(u64),
    /// One of the three streams.
    Stream(Stream),
    /// A socket, to be read from or written to.
    Socket(Arc<Socket>, PollFlags),
    /// An answer over HTTP: its head, and its body afterwards.
    Exchange(Arc<Exchange>),
    /// What never keeps anybody waiting.
    Ready,
}

impl Pollable {
    /// The descriptor that is behind it, and for what.
    fn behind<'a>(&'a self, world: &'a World) -> Option<(BorrowedFd<'a>, PollFlags)> {
        match self {
            Self::Stream(stream) => {
                let flags = if stream.is_read() { PollFlags::IN } else { PollFlags::OUT };
                Some((world.streams.descriptor(*stream)?.as_fd(), flags))
            }
            Self::Socket(socket, flags) => Some((socket.descriptor.as_fd(), *flags)),
            Self::Exchange(exchange) => Some((exchange.descriptor(), PollFlags::IN)),
            Self::Time(_) | Self::Ready => None,
        }
    }

    /// Whether it is ready without asking a descriptor.
    fn is_ready_at(&self, now: u64) -> bool {
        match self {
            Self::Time(when) => *when <= now,
            Self::Stream(_) | Self::Socket(..) | Self::Exchange(_) => false,
            Self::Ready => true,
        }
    }
}

/// Waits until one of them is ready, or so long at most: which ones are.
pub(super) fn wait_for(
    world: &World,
    all: &[&Pollable],
    most: Option<u64>,
) -> wasmtime::Result<Vec<bool>> {
    // The kernel takes each descriptor once: a list may name one more often than there may be descriptors.
    let mut places: BTreeMap<(RawFd, u16), usize> = BTreeMap::new();
    let mut polled: Vec<PollFd<'_>> = Vec::new();
    let mut of_each = Vec::new();
    let now = monotonic();
    let mut first = most;
    for one in all {
        let behind = one.behind(world);
        of_each.push(behind.as_ref().map(|(descriptor, flags)| {
            *places.entry((descriptor.as_raw_fd(), flags.bits())).or_insert_with(|| {
                polled.push(PollFd::from_borrowed_fd(*descriptor, *flags));
                polled.len().saturating_sub(1)
            })
        }));
        let after = match one {
            Pollable::Time(when) => Some(when.saturating_sub(now)),
            // A stream that has nothing behind it is never waited for.
            _ => behind.is_none().then_some(0),
        };
        first = match (first, after) {
            (Some(first), Some(after)) => Some(first.min(after)),
            (first, after) => first.or(after),
        };
    }
    wait(&mut polled, first)?;
    let now = monotonic();
    let is_ready = |(one, place): (&&Pollable, &Option<usize>)| match place {
        Some(place) => polled.get(*place).is_some_and(|entry| !entry.revents().is_empty()),
        None => one.is_ready_at(now) || matches!(one, Pollable::Stream(_)),
    };
    Ok(all.iter().zip(&of_each).map(is_ready).collect())
}

impl Host {
    /// Whether it is ready now.
    pub(super) fn is_ready(&self, one: &Pollable) -> wasmtime::Result<bool> {
        Ok(wait_for(&self.world, &[one], Some(0))?.contains(&true))
    }

    /// Waits until it is.
    pub(super) fn block_on(&self, one: &Pollable) -> wasmtime::Result<()> {
        while !wait_for(&self.world, &[one], None)?.contains(&true) {}
        Ok(())
    }
}

impl poll::Host for Host {
    fn poll(&mut self, list: Vec<Resource<Pollable>>) -> wasmtime::Result<Vec<u32>> {
        if list.is_empty() {
            return Err(wasmtime::Error::msg("`poll` was asked to wait for nothing"));
        }
        if u32::try_from(list.len()).is_ok_and(|count| count > self.world.limits.max_handles) {
            return Err(Ending::Reached(Limit::Handles).into());
        }
        let all: Result<Vec<&Pollable>, _> = list.iter().map(|one| self.table.get(one)).collect();
        let all = all?;
        loop {
            let ready = wait_for(&self.world, &all, None)?;
            let ready = (0_u32..).zip(ready).filter_map(|(at, is_ready)| is_ready.then_some(at));
            let ready: Vec<u32> = ready.collect();
            if !ready.is_empty() {
                return Ok(ready);
            }
        }
    }
}

impl poll::HostPollable for Host {
    fn ready(&mut self, one: Resource<Pollable>) -> wasmtime::Result<bool> {
        self.is_ready(self.table.get(&one)?)
    }

    fn block(&mut self, one: Resource<Pollable>) -> wasmtime::Result<()> {
        self.block_on(self.table.get(&one)?)
    }

    fn drop(&mut self, one: Resource<Pollable>) -> wasmtime::Result<()> {
        self.table.delete(one)?;
        Ok(())
    }
}
