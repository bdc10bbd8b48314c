//! What happened to one cage: counted always, told as events as long as there are not too many.
//! Never waits for whoever listens, and never grows with what a cage does.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use tokio::time::Instant;

use crate::account::{Account, DeniedTarget};
use crate::control::{self, CageReport, Waiting};
use crate::event::{Counters, Event, EventKind};
use crate::limits;
use crate::watched::Watched;

/// The record of one cage.
#[derive(Debug)]
pub(crate) struct Record {
    invocation: String,
    /// Bytes that came to the cage; apart from the rest because they change all the time.
    pub(crate) inward: AtomicU64,
    /// Bytes that left it.
    pub(crate) outward: AtomicU64,
    /// What could not be done for want of descriptors.
    out_of_descriptors: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    channel: Arc<Watched>,
    counters: Counters,
    denials: BTreeMap<(String, Option<u16>), DeniedTarget>,
    unlisted_denials: u64,
    sampling: Sampling,
    upstream: Option<Instant>,
    second: Instant,
    in_this_second: u32,
    lost: u64,
}

/// Which of the allowed things are told: every so many-th.
#[derive(Debug)]
struct Sampling {
    share: f64,
    due: f64,
}

impl Record {
    /// An empty record, whose events go to `channel`.
    pub(crate) fn new(invocation: String, log_allowed: f64, channel: Arc<Watched>) -> Self {
        let state = State {
            channel,
            counters: Counters::default(),
            denials: BTreeMap::new(),
            unlisted_denials: 0,
            sampling: Sampling { share: log_allowed.clamp(0.0, 1.0), due: 0.0 },
            upstream: None,
            second: Instant::now(),
            in_this_second: 0,
            lost: 0,
        };
        Self {
            invocation,
            inward: AtomicU64::default(),
            outward: AtomicU64::default(),
            out_of_descriptors: AtomicU64::default(),
            state: Mutex::new(state),
        }
    }

    /// Takes note of something.
    pub(crate) fn take(&self, kind: EventKind) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count(&kind);
        if state.is_worth_telling(&kind) {
            let event = Event { invocation_id: self.invocation.clone(), kind };
            if !state.may_tell() || state.send(&CageReport::Event(event)).is_err() {
                state.lost = state.lost.saturating_add(1);
            }
        }
    }

    /// Takes note that there was no descriptor for something.
    pub(crate) fn had_no_descriptor(&self) {
        self.out_of_descriptors.fetch_add(1, Ordering::Relaxed);
    }

    /// How much of everything there was so far.
    pub(crate) fn counters(&self) -> Counters {
        self.counters_of(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn counters_of(&self, state: &State) -> Counters {
        Counters {
            bytes_in: self.inward.load(Ordering::Relaxed),
            bytes_out: self.outward.load(Ordering::Relaxed),
            ..state.counters
        }
    }

    /// Everything so far.
    pub(crate) fn account(&self) -> Account {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut denials: Vec<DeniedTarget> = state.denials.values().cloned().collect();
        denials.sort_by_key(|denial| std::cmp::Reverse(denial.count));
        Account {
            counters: self.counters_of(&state),
            denials,
            unlisted_denials: state.unlisted_denials,
            out_of_descriptors: self.out_of_descriptors.load(Ordering::Relaxed),
            events_lost: state.lost,
        }
    }

    /// Says something on the cage's channel, if whoever listens has room for it.
    pub(crate) fn report(&self, report: &CageReport) -> Result<(), Errno> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.send(report)
    }
}

impl State {
    fn count(&mut self, kind: &EventKind) {
        let counters = &mut self.counters;
        let counter = match kind {
            EventKind::DnsAllowed { .. } => &mut counters.dns_allowed,
            EventKind::DnsDenied { .. } => &mut counters.dns_denied,
            EventKind::TcpAllowed { .. } => &mut counters.tcp_allowed,
            EventKind::TcpDenied { .. } => &mut counters.tcp_denied,
            EventKind::UdpDenied { .. } => &mut counters.udp_denied,
            EventKind::UpstreamUnreachable { .. } => return,
        };
        *counter = counter.saturating_add(1);
        let mut denied = match kind {
            EventKind::DnsDenied { hostname, rule, code, reason } => DeniedTarget {
                rule: rule.clone(),
                code: Some(code.clone()),
                ..denied_target(hostname, reason)
            },
            EventKind::TcpDenied { target, port, rule, code, reason, way } => DeniedTarget {
                port: Some(*port),
                rule: rule.clone(),
                code: Some(code.clone()),
                way: Some(*way),
                ..denied_target(target, reason)
            },
            EventKind::UdpDenied { target, port } => DeniedTarget {
                port: Some(*port),
                ..denied_target(&target.to_string(), "only TCP leaves a cage")
            },
            _ => return,
        };
        let full = self.denials.len() >= limits::DENIED_TARGETS;
        match self.denials.entry((denied.target.clone(), denied.port)) {
            Entry::Occupied(mut known) => {
                denied.count = known.get().count.saturating_add(1);
                known.insert(denied);
            }
            Entry::Vacant(_) if full => {
                self.unlisted_denials = self.unlisted_denials.saturating_add(1);
            }
            Entry::Vacant(place) => {
                place.insert(denied);
            }
        }
    }

    /// Allowed things are sampled, and that no resolver answers is said once in a while: every
    /// question then fails.
    fn is_worth_telling(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::DnsAllowed { .. } | EventKind::TcpAllowed { .. } => self.sampling.is_due(),
            EventKind::UpstreamUnreachable { .. } => {
                let now = Instant::now();
                let recent = |last: Instant| now.duration_since(last) < UPSTREAM_QUIET;
                if self.upstream.is_some_and(recent) {
                    return false;
                }
                self.upstream = Some(now);
                true
            }
            _ => true,
        }
    }

    fn may_tell(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.in_this_second) = (now, 0);
        }
        self.in_this_second = self.in_this_second.saturating_add(1);
        self.in_this_second <= limits::EVENTS_PER_SECOND
    }

    fn send(&self, report: &CageReport) -> Result<(), Errno> {
        control::send(self.channel.as_fd(), report, &[], Waiting::Refused)
    }
}

impl Sampling {
    fn is_due(&mut self) -> bool {
        self.due += self.share;
        let is_due = self.due >= 1.0;
        if is_due {
            self.due -= 1.0;
        }
        is_due
    }
}

fn denied_target(target: &str, reason: &str) -> DeniedTarget {
    DeniedTarget {
        target: target.to_owned(),
        port: None,
        rule: None,
        code: None,
        reason: reason.to_owned(),
        way: None,
        count: 1,
    }
}

/// How long it is not said again that no resolver answers.
const UPSTREAM_QUIET: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
