//! Calls about the module itself: arguments, variables, clocks, random bytes. Everything comes from its world but time and
//! chance. There are no signals, and no sockets: whoever asks for one is told so.

use rustix::time::{ClockId, clock_getres, clock_gettime};

use super::chance;
use super::host::Guest;
use super::refusal::{Outcome, Refusal};
use super::waiting::in_nanoseconds;
use crate::processor::duration;

pub(super) fn args_get(guest: &mut Guest<'_>, list: u32, text: u32) -> Outcome<()> {
    let words = guest.host.world.arguments.iter().map(|word| [word, &b"\0"[..]].concat());
    let words = words.collect();
    put_words(guest, words, list, text)
}

pub(super) fn args_sizes_get(guest: &mut Guest<'_>, count: u32, bytes: u32) -> Outcome<()> {
    let words: Vec<usize> = guest.host.world.arguments.iter().map(|word| word.len() + 1).collect();
    put_sizes(guest, &words, count, bytes)
}

pub(super) fn environ_get(guest: &mut Guest<'_>, list: u32, text: u32) -> Outcome<()> {
    let variables = guest.host.world.environment.iter();
    let words = variables.map(|(name, value)| [name, &b"="[..], value, b"\0"].concat()).collect();
    put_words(guest, words, list, text)
}

pub(super) fn environ_sizes_get(guest: &mut Guest<'_>, count: u32, bytes: u32) -> Outcome<()> {
    let variables = guest.host.world.environment.iter();
    let words: Vec<usize> = variables.map(|(name, value)| name.len() + value.len() + 2).collect();
    put_sizes(guest, &words, count, bytes)
}

fn put_words(guest: &mut Guest<'_>, words: Vec<Vec<u8>>, list: u32, text: u32) -> Outcome<()> {
    let (mut list, mut text) = (list, text);
    for word in words {
        guest.memory.put_u32(list, text)?;
        guest.memory.put(text, &word)?;
        list = list.checked_add(4).ok_or(Refusal::FAULT)?;
        let length = u32::try_from(word.len()).map_err(|_| Refusal::OVERFLOW)?;
        text = text.checked_add(length).ok_or(Refusal::FAULT)?;
    }
    Ok(())
}

fn put_sizes(guest: &mut Guest<'_>, words: &[usize], count: u32, bytes: u32) -> Outcome<()> {
    let of = |size: usize| u32::try_from(size).map_err(|_| Refusal::OVERFLOW);
    guest.memory.put_u32(count, of(words.len())?)?;
    guest.memory.put_u32(bytes, of(words.iter().sum())?)
}

pub(super) fn clock_res_get(guest: &mut Guest<'_>, clock: u32, into: u32) -> Outcome<()> {
    let resolution = duration(clock_getres(clock_of(clock)?));
    guest.memory.put_u64(into, in_nanoseconds(resolution))
}

pub(super) fn clock_time_get(
    guest: &mut Guest<'_>,
    clock: u32,
    _precision: u64,
    into: u32,
) -> Outcome<()> {
    let now = duration(clock_gettime(clock_of(clock)?));
    guest.memory.put_u64(into, in_nanoseconds(now))
}

/// A guest is one thread, so that the time of its process is that thread's.
pub(super) const fn clock_of(clock: u32) -> Outcome<ClockId> {
    match clock {
        0 => Ok(ClockId::Realtime),
        1 => Ok(ClockId::Monotonic),
        2 | 3 => Ok(ClockId::ThreadCPUTime),
        _ => Err(Refusal::INVAL),
    }
}

pub(super) fn random_get(guest: &mut Guest<'_>, at: u32, length: u32) -> Outcome<()> {
    let allowance = guest.host.held.allowance;
    Ok(chance::fill(guest.memory.bytes_mut(at, length)?, allowance)?)
}

pub(super) fn sched_yield(_guest: &mut Guest<'_>) -> Outcome<()> {
    std::thread::yield_now();
    Ok(())
}

pub(super) fn proc_raise(_guest: &mut Guest<'_>, _signal: u32) -> Outcome<()> {
    Err(Refusal::NOTSUP)
}

pub(super) fn sock_accept(guest: &mut Guest<'_>, fd: u32, _flags: u32, _into: u32) -> Outcome<()> {
    no_socket(guest, fd)
}

pub(super) fn sock_recv(
    guest: &mut Guest<'_>,
    fd: u32,
    _list: u32,
    _count: u32,
    _flags: u32,
    _read: u32,
    _read_flags: u32,
) -> Outcome<()> {
    no_socket(guest, fd)
}

pub(super) fn sock_send(
    guest: &mut Guest<'_>,
    fd: u32,
    _list: u32,
    _count: u32,
    _flags: u32,
    _written: u32,
) -> Outcome<()> {
    no_socket(guest, fd)
}

pub(super) fn sock_shutdown(guest: &mut Guest<'_>, fd: u32, _how: u32) -> Outcome<()> {
    no_socket(guest, fd)
}

fn no_socket(guest: &Guest<'_>, fd: u32) -> Outcome<()> {
    guest.host.table.find(fd)?;
    Err(Refusal::NOTSOCK)
}
