//! Signals, limits and priorities of processes outside. T19, T58
//!
//! Each attack has a signal of its own, so that the victim, which keeps all of them pending, shows
//! which one got through.

use std::fs;

use rustix::process::{PidfdFlags, Resource, Rlimit, Signal};
use sys::raw;

use super::memory::pid;
use crate::attack::{Attack, Outcome, Refused, Scene, Twin};

/// What an attack does to the victim where it gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The signal is pending.
    Signal(i32),
    /// Its resource limits differ.
    Limits,
    /// Its priority differs.
    Nice,
    /// The processors that it may run on differ.
    Processors,
}

/// The attack that must never run outside of namespaces of its own.
pub(crate) const KILL_EVERYTHING: &str = "kill-everything";

pub(crate) const EFFECTS: &[(&str, Effect)] = &[
    ("kill-victim", Effect::Signal(libc::SIGUSR1)),
    ("kill-victim-thread", Effect::Signal(libc::SIGUSR2)),
    ("kill-victim-by-handle", Effect::Signal(libc::SIGHUP)),
    ("kill-victim-by-queue", Effect::Signal(libc::SIGTERM)),
    (KILL_EVERYTHING, Effect::Signal(libc::SIGURG)),
    ("limit-victim", Effect::Limits),
    ("slow-victim", Effect::Nice),
    ("pin-victim", Effect::Processors),
];

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T19", "kill-victim", "sends a signal to a host process", |scene| {
        rustix::process::kill_process(pid(scene.victim.pid)?, Signal::USR1)?;
        sent()
    })
    .harms(),
    Attack::new("T19", "kill-victim-thread", "sends a signal to a host thread", |scene| {
        raw::signal_thread(pid(scene.victim.pid)?, libc::SIGUSR2)?;
        sent()
    })
    .harms(),
    Attack::new("T19", "kill-victim-by-handle", "sends a signal through a handle", |scene| {
        let handle = rustix::process::pidfd_open(pid(scene.victim.pid)?, PidfdFlags::empty())?;
        rustix::process::pidfd_send_signal(handle, Signal::HUP)?;
        sent()
    })
    .harms(),
    Attack::new("T19", "kill-victim-by-queue", "queues a signal with a value", |scene| {
        raw::queue_signal(pid(scene.victim.pid)?, libc::SIGTERM)?;
        sent()
    })
    .harms(),
    Attack::new("T19", KILL_EVERYTHING, "sends a signal to every process in reach", |_| {
        raw::signal_everything()?;
        sent()
    })
    .twin(Twin::Namespaces),
    Attack::new("T19", "limit-victim", "changes a host process's limits", |scene| {
        let old = rustix::process::getrlimit(Resource::Fsize);
        let lower = Rlimit { current: Some(4_242_000), maximum: old.maximum };
        rustix::process::prlimit(Some(pid(scene.victim.pid)?), Resource::Fsize, lower)?;
        sent()
    })
    .harms(),
    Attack::new("T19", "slow-victim", "lowers a host process's priority", |scene| {
        rustix::process::setpriority_process(Some(pid(scene.victim.pid)?), 15)?;
        sent()
    })
    .harms(),
    Attack::new("T19", "pin-victim", "ties a host process to one processor", pin).harms(),
    Attack::new("T58", "see-host-processes", "finds a host process in `/proc`", see).steals(),
];

fn sent() -> Result<Outcome, Refused> {
    Ok(Outcome::Attempted("nothing refused it".to_owned()))
}

fn pin(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let victim = pid(scene.victim.pid)?;
    let old = rustix::thread::sched_getaffinity(Some(victim))?;
    if old.count() < 2 {
        return Ok(Outcome::NotApplicable("there is one processor".to_owned()));
    }
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|number| old.is_set(*number));
    let mut one = rustix::thread::CpuSet::new();
    one.set(first.unwrap_or(0));
    rustix::thread::sched_setaffinity(Some(victim), &one)?;
    sent()
}

/// The victim is told by a variable that no process but those of proofs has.
fn see(_scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let variable = crate::arena::SECRET_VARIABLE.as_bytes();
    let (mut seen, mut found) = (0, Vec::new());
    for entry in fs::read_dir("/proc")?.flatten() {
        let Ok(bytes) = fs::read(entry.path().join("environ")) else { continue };
        seen += 1;
        if bytes.windows(variable.len()).any(|window| window == variable)
            && let Outcome::Succeeded(secret) = Outcome::of_reading(&bytes)
        {
            found.push(secret);
        }
    }
    match found.is_empty() {
        true => Ok(Outcome::Failed(format!("{seen} processes, all its own"))),
        false => Ok(Outcome::Succeeded(found.join(" "))),
    }
}
