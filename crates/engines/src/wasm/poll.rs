//! `poll_oneoff`: waiting for time and for streams. A file is always ready.

use rustix::event::{PollFd, PollFlags};
use rustix::time::clock_gettime;

use super::host::Guest;
use super::layout;
use super::process::clock_of;
use super::refusal::{Outcome, Refusal};
use super::rights::Rights;
use super::table::Opened;
use super::waiting::{self, in_nanoseconds, monotonic};
use crate::processor::duration;
use crate::streams::Stream;

/// One thing that a module waits for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    user_data: u64,
    kind: u8,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// So many nanoseconds from the beginning of the call.
    Time(u64),
    /// It is not to be waited for: how many bytes there are, or an error.
    Now(Outcome<u64>),
    /// What is behind a stream.
    Stream(Stream),
}

pub(super) fn poll_oneoff(
    guest: &mut Guest<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
    happened: u32,
) -> Outcome<()> {
    if count == 0 {
        return Err(Refusal::INVAL);
    }
    let room = |size: u32| count.checked_mul(size).ok_or(Refusal::INVAL);
    guest.memory.bytes(subscriptions, room(SUBSCRIPTION)?)?;
    guest.memory.bytes(events, room(EVENT)?)?;
    let mut wanted = Vec::new();
    for index in 0..count {
        wanted.push(read(guest, subscriptions + index * SUBSCRIPTION)?);
    }
    let done = wait(guest, &wanted)?;
    let mut at = events;
    let mut number: u32 = 0;
    for record in done {
        guest.memory.put(at, &record)?;
        at = at.checked_add(EVENT).ok_or(Refusal::FAULT)?;
        number += 1;
    }
    guest.memory.put_u32(happened, number)
}

/// Reads one `subscription`, which lies in the memory as a whole.
fn read(guest: &Guest<'_>, at: u32) -> Outcome<Wanted> {
    let field = |offset: u32| at.checked_add(offset).ok_or(Refusal::FAULT);
    let user_data = guest.memory.u64(at)?;
    let kind = guest.memory.u8(field(8)?)?;
    let first = guest.memory.u32(field(16)?)?;
    let what = match kind {
        CLOCK => {
            let timeout = guest.memory.u64(field(24)?)?;
            let is_absolute = guest.memory.u16(field(40)?)? & 1 != 0;
            match clock_of(first) {
                Ok(clock) if is_absolute => {
                    let now = in_nanoseconds(duration(clock_gettime(clock)));
                    What::Time(timeout.saturating_sub(now))
                }
                Ok(_) => What::Time(timeout),
                Err(refusal) => What::Now(Err(refusal)),
            }
        }
        READ | WRITE => of_descriptor(guest, first, kind),
        _ => return Err(Refusal::INVAL),
    };
    Ok(Wanted { user_data, kind, what })
}

fn of_descriptor(guest: &Guest<'_>, fd: u32, kind: u8) -> What {
    let descriptor = match guest.host.table.find(fd) {
        Ok(descriptor) => descriptor,
        Err(refusal) => return What::Now(Err(refusal)),
    };
    if let Err(refusal) = descriptor.rights.require(Rights::POLL) {
        return What::Now(Err(refusal));
    }
    match &descriptor.opened {
        Opened::Directory(_) => What::Now(Err(Refusal::BADF)),
        Opened::Stream(stream) if stream.is_read() != (kind == READ) => {
            What::Now(Err(Refusal::BADF))
        }
        Opened::Stream(stream) => match guest.host.world.streams.descriptor(*stream) {
            Some(_) => What::Stream(*stream),
            None => What::Now(Ok(1)),
        },
        Opened::File(file) => {
            let caller = &guest.host.world.caller;
            let size = file.attributes(caller).map(|found| found.size).unwrap_or_default();
            let at = file.seek(caller, vfs::SeekTo::Current(0)).unwrap_or_default();
            What::Now(Ok(size.saturating_sub(at)))
        }
    }
}

/// Waits until the first of them happens, and says what happened.
fn wait(guest: &Guest<'_>, wanted: &[Wanted]) -> Outcome<Vec<[u8; 32]>> {
    let streams = &guest.host.world.streams;
    let behind: Vec<(usize, &std::os::fd::OwnedFd)> = wanted
        .iter()
        .enumerate()
        .filter_map(|(index, one)| match one.what {
            What::Stream(stream) => Some((index, streams.descriptor(stream)?)),
            What::Time(_) | What::Now(_) => None,
        })
        .collect();
    let begun = monotonic();
    let is_immediate = wanted.iter().any(|one| matches!(one.what, What::Now(_)));
    let first = wanted.iter().filter_map(|one| match one.what {
        What::Time(after) => Some(after),
        What::Now(_) | What::Stream(_) => None,
    });
    let first = if is_immediate { Some(0) } else { first.min() };
    let entry = |(index, descriptor): &(usize, _)| {
        let is_read = wanted.get(*index).is_some_and(|one| one.kind == READ);
        PollFd::new(*descriptor, if is_read { PollFlags::IN } else { PollFlags::OUT })
    };
    let mut polled: Vec<PollFd<'_>> = behind.iter().map(entry).collect();
    waiting::wait(&mut polled, first)?;
    let passed = monotonic().saturating_sub(begun);
    let mut done = Vec::new();
    for (index, one) in wanted.iter().enumerate() {
        let at = behind.iter().position(|(of, _)| *of == index);
        let entry = at.and_then(|at| Some((polled.get(at)?.revents(), behind.get(at)?.1)));
        if let Some(record) = event(one, passed, entry) {
            done.push(record);
        }
    }
    Ok(done)
}

/// The record of one that has happened.
fn event(
    one: &Wanted,
    passed: u64,
    polled: Option<(PollFlags, &std::os::fd::OwnedFd)>,
) -> Option<[u8; 32]> {
    let record = |error: u16, bytes: u64, flags: u16| {
        Some(layout::event(one.user_data, error, one.kind, bytes, flags))
    };
    match (one.what, polled) {
        (What::Time(after), _) if after <= passed => record(0, 0, 0),
        (What::Now(Ok(bytes)), _) => record(0, bytes, 0),
        (What::Now(Err(refusal)), _) => record(refusal.number(), 0, 0),
        (What::Stream(stream), Some((seen, descriptor))) if !seen.is_empty() => {
            let bytes = match stream.is_read() {
                true => rustix::io::ioctl_fionread(descriptor).unwrap_or_default(),
                false => 1,
            };
            record(0, bytes, u16::from(seen.contains(PollFlags::HUP)))
        }
        (What::Time(_) | What::Stream(_), _) => None,
    }
}

const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;
const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;
