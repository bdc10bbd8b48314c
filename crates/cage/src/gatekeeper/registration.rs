//! One cage at the gatekeeper. Holding a registration proves that its sockets are served or were until
//! the gatekeeper ended; dropping it ends the cage's network.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gate::account::Account;
use gate::control::{CageOrder, CageReport, Channel, Waiting};
use gate::event::{Counters, EventKind};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::outcome::{NetworkEnd, NetworkOutcome};

/// A cage whose sockets are served.
#[derive(Debug)]
pub struct Registration {
    channel: Channel,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    progress: Counters,
    account: Option<Account>,
    unreachable: Option<String>,
    events: Vec<EventKind>,
    untaken: u64,
    gone: bool,
}

/// Why a registration did not come about.
#[derive(Debug)]
pub(super) enum Unconfirmed {
    Refused(String),
    Lost(Errno),
}

impl Registration {
    /// Waits until the gatekeeper says that it serves the cage.
    pub(super) fn confirmed(channel: Channel) -> Result<Self, Unconfirmed> {
        let end = Instant::now() + CONFIRMATION;
        loop {
            wait_readable(channel.as_fd(), end).map_err(Unconfirmed::Lost)?;
            match channel.receive(Waiting::Refused) {
                Ok(Some((CageReport::Registered, _))) => {
                    return Ok(Self { channel, heard: Mutex::default() });
                }
                Ok(Some((CageReport::Refused { reason }, _))) => {
                    return Err(Unconfirmed::Refused(reason));
                }
                Ok(Some(_)) => return Err(Unconfirmed::Lost(Errno::PROTO)),
                Ok(None) => return Err(Unconfirmed::Lost(Errno::PIPE)),
                Err(Errno::AGAIN) => {}
                Err(errno) => return Err(Unconfirmed::Lost(errno)),
            }
        }
    }

    /// Readable when [`Self::hear`] has something to take.
    pub fn events(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Takes what the gatekeeper has said, without waiting. False when it is gone.
    pub fn hear(&self) -> bool {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        while !heard.gone {
            match self.channel.receive(Waiting::Refused) {
                Ok(Some((report, _))) => heard.take(report),
                Err(Errno::AGAIN) => break,
                Ok(None) | Err(_) => heard.gone = true,
            }
        }
        !heard.gone
    }

    /// The events that were heard since they were last taken, as far as they were kept.
    pub(crate) fn take_events(&self) -> Vec<EventKind> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut heard.events)
    }

    /// What went through so far and what did not, as the gatekeeper last told it. K220
    pub fn counters(&self) -> Counters {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.account().counters
    }

    /// Ends the cage's network and returns what became of it.
    pub(crate) fn finish(&self) -> NetworkOutcome {
        let asked = self.begin_finish();
        let end = Instant::now() + ACCOUNT;
        while asked && self.hear() && !self.has_account() {
            if wait_readable(self.channel.as_fd(), end).is_err() {
                break;
            }
        }
        self.outcome()
    }

    /// Has the gatekeeper end the cage's network; false where it is gone. The account comes later.
    pub(crate) fn begin_finish(&self) -> bool {
        self.channel.send(&CageOrder::Unregister, &[], Waiting::Refused).is_ok()
    }

    /// What became of the cage's network, as far as it is known.
    pub(crate) fn outcome(&self) -> NetworkOutcome {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        NetworkOutcome {
            end: match (&heard.account, heard.gone) {
                (Some(_), _) => NetworkEnd::WithCage,
                (None, true) => NetworkEnd::GatekeeperGone,
                (None, false) => NetworkEnd::Unreported,
            },
            account: heard.account(),
            upstream_unreachable: heard.unreachable.clone(),
        }
    }

    /// Whether the gatekeeper has told the account.
    pub(crate) fn has_account(&self) -> bool {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).account.is_some()
    }
}

impl Heard {
    fn account(&self) -> Account {
        let unfinished = || Account { counters: self.progress, ..Account::default() };
        let account = self.account.clone().unwrap_or_else(unfinished);
        Account { events_lost: account.events_lost.saturating_add(self.untaken), ..account }
    }

    fn take(&mut self, report: CageReport) {
        match report {
            CageReport::Progress(counters) => self.progress = counters,
            CageReport::Account(account) => self.account = Some(account),
            CageReport::Event(event) => {
                if let EventKind::UpstreamUnreachable { error } = &event.kind {
                    self.unreachable = Some(error.clone());
                }
                if self.events.len() < MOST_EVENTS {
                    self.events.push(event.kind);
                } else {
                    self.untaken += 1;
                }
            }
            CageReport::Registered | CageReport::Refused { .. } => {}
        }
    }
}

fn wait_readable(descriptor: BorrowedFd<'_>, end: Instant) -> Result<(), Errno> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let mut waiting = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        match rustix::event::poll(&mut waiting, Some(&left)) {
            Ok(0) => return Err(Errno::TIMEDOUT),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// How long a gatekeeper may take to serve a cage; it jails itself in that time.
const CONFIRMATION: Duration = Duration::from_secs(10);
/// How long it may take to tell the account of one.
const ACCOUNT: Duration = Duration::from_secs(2);
/// Events that wait to be taken: what a gatekeeper tells in half a minute at most.
const MOST_EVENTS: usize = 4096;
