//! The one place where a runner's supervisor waits: which descriptors it waits for, what they are about,
//! and when to look up without any of them.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustix::event::epoll;
use rustix::event::{EventfdFlags, Timespec};
use rustix::io::Errno;

/// Which of a runner's cages or gatekeepers something is about. Never used twice.
pub(super) type Key = u64;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Subject {
    /// Somebody wants the supervisor to look up.
    Wake = 0,
    /// Pid 1 of a cage has something to say.
    Report = 1,
    /// A process is gone.
    Gone = 2,
    /// A gatekeeper has something to say about a cage.
    Network = 3,
    /// A limit was met.
    Limits = 4,
    /// A program has written to standard output.
    Stdout = 5,
    /// A program has written to standard error.
    Stderr = 6,
    /// The host's resolvers may have changed.
    Resolvers = 7,
    /// A process that serves a mount has something to say.
    Files = 8,
}

impl Subject {
    fn of(token: u64) -> Self {
        match token & MASK {
            1 => Self::Report,
            2 => Self::Gone,
            3 => Self::Network,
            4 => Self::Limits,
            5 => Self::Stdout,
            6 => Self::Stderr,
            7 => Self::Resolvers,
            8 => Self::Files,
            _ => Self::Wake,
        }
    }
}

/// What is to be looked at when a time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The program's time is over.
    Walltime,
    /// A program that was asked to end has had its time for it.
    Grace,
    /// A gatekeeper has had its time to tell the account of a cage.
    Account,
    /// What a program has written to layers is to be measured.
    Measure,
}

/// Descriptors and times to wait for. Any thread may add and remove some.
#[derive(Debug)]
pub(super) struct Watch {
    epoll: OwnedFd,
    wake: OwnedFd,
    alarms: Mutex<BTreeSet<(Instant, Key, Alarm)>>,
}

impl Watch {
    pub(super) fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let watch = Self { epoll, wake, alarms: Mutex::default() };
        watch.add(watch.wake.as_fd(), 0, Subject::Wake)?;
        Ok(watch)
    }

    /// Waits for a descriptor as well, until it is removed.
    pub(super) fn add(
        &self,
        descriptor: BorrowedFd<'_>,
        key: Key,
        subject: Subject,
    ) -> Result<(), Errno> {
        let token = epoll::EventData::new_u64(key << BITS | subject as u64);
        match epoll::add(&self.epoll, descriptor, token, epoll::EventFlags::IN) {
            Err(Errno::EXIST) => Ok(()),
            other => other,
        }
    }

    /// Does not wait for a descriptor any more.
    pub(super) fn remove(&self, descriptor: BorrowedFd<'_>) {
        // One that was not waited for is what was wanted.
        let _absent = epoll::delete(&self.epoll, descriptor);
    }

    /// Looks up at a time.
    pub(super) fn set_alarm(&self, at: Instant, key: Key, alarm: Alarm) {
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.insert((at, key, alarm));
        let is_first = alarms.first().is_some_and(|first| *first == (at, key, alarm));
        drop(alarms);
        if is_first {
            self.wake();
        }
    }

    /// Has the supervisor look up now.
    pub(super) fn wake(&self) {
        // A counter that is full wakes as well.
        let _full = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Waits until something is to be done.
    pub(super) fn wait(&self, ready: &mut Vec<(Key, Subject)>) -> Result<(), Errno> {
        ready.clear();
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }; MOST_EVENTS];
        let timeout = self.until_first_alarm();
        let count = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(errno),
        };
        for event in events.iter().take(count) {
            let token = event.data.u64();
            ready.push((token >> BITS, Subject::of(token)));
        }
        let mut rung = [0_u8; 8];
        if ready.iter().any(|(_, subject)| *subject == Subject::Wake) {
            let _empty = rustix::io::read(&self.wake, &mut rung);
        }
        Ok(())
    }

    /// The alarms whose time has come, once.
    pub(super) fn due(&self) -> Vec<(Key, Alarm)> {
        let now = Instant::now();
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        while let Some((at, key, alarm)) = alarms.first().copied()
            && at <= now
        {
            alarms.pop_first();
            due.push((key, alarm));
        }
        due
    }

    fn until_first_alarm(&self) -> Option<Timespec> {
        let alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, _, _) = alarms.first()?;
        Timespec::try_from(at.saturating_duration_since(Instant::now())).ok()
    }

    /// Forgets the alarms of a cage.
    pub(super) fn clear_alarms(&self, key: Key) {
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.retain(|(_, whose, _)| *whose != key);
    }
}

const BITS: u32 = 8;
const MASK: u64 = (1 << BITS) - 1;
const MOST_EVENTS: usize = 128;
