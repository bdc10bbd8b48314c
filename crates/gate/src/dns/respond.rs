//! From one query of a cage to its answer: the order in which it is read, held against the rules,
//! asked about and told. Whatever is denied or malformed is answered here without waiting and without
//! anybody outside hearing of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use plan::destination::Name;
use plan::network::Family;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use walls::Wall;

use super::answer::{Answer, Carrier, MAX_SECONDS, encode};
use super::cache::{Addresses, Resolver};
use super::question::{self, Asked, Question, Subject, Unanswered, Wanted};
use super::rate::Rate;
use super::upstream::ResolveFailure;
use crate::budget::Taken;
use crate::decision::{Denial, DenialCode, Verdict};
use crate::event::EventKind;
use crate::limits;
use crate::synthetic::{MapFull, SyntheticPair};

/// What is known about the cage whose names are served.
pub trait CageNames: Send + Sync + 'static {
    /// Whether the cage may know this name, on whichever port: `decision::decide_question`.
    fn decide(&self, name: &Name) -> Verdict;

    /// The addresses that stand for the name in this cage.
    fn assign(&self, name: &Name) -> Result<SyntheticPair, MapFull>;

    /// Who knows names outside.
    fn outside(&self) -> Outside;

    /// Takes note that there was no descriptor to ask with.
    fn had_no_descriptor(&self);

    /// Takes every event about names, `DnsAllowed` included: to count them all and to pass on as many
    /// as the cage may tell.
    fn tell(&self, event: EventKind);
}

/// Who knows names outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The host's resolvers.
    Resolvers,
    /// A proxy, which is given names. The host itself may know none, so nobody is asked.
    Proxy,
}

/// Answers the queries of one cage.
#[derive(Debug)]
pub(super) struct Responder<C> {
    cage: Arc<C>,
    resolver: Arc<Resolver>,
    /// Of questions that the resolvers are asked.
    asked: Mutex<Rate>,
    /// Of all questions.
    pace: Mutex<Rate>,
    in_flight: Arc<Semaphore>,
    /// When it was last told that no resolver answers.
    unreachable_reported: Mutex<Option<Instant>>,
}

/// What a query comes to before anybody is asked.
pub(super) enum Step {
    /// Its answer, if it gets one.
    Done(Option<Vec<u8>>),
    /// The resolvers have to say.
    Ask(Pending),
}

/// An allowed question, on its way. Only [`Responder::begin`] makes one, after the decision.
pub(super) struct Pending {
    asked: Asked,
    name: Name,
    family: Family,
    carrier: Carrier,
    _permit: Permit,
}

/// That one more question may be on its way.
type Permit = (OwnedSemaphorePermit, Taken);

impl<C: CageNames> Responder<C> {
    pub(super) fn new(cage: Arc<C>, resolver: Arc<Resolver>) -> Self {
        let now = Instant::now();
        Self {
            cage,
            resolver,
            asked: Mutex::new(Rate::new(limits::ASKED_PER_SECOND, limits::ASKED_PER_SECOND, now)),
            pace: Mutex::new(Rate::new(
                limits::QUERIES_PER_SECOND,
                limits::QUERIES_PER_SECOND / 10,
                now,
            )),
            in_flight: Arc::new(Semaphore::new(limits::QUERIES_IN_FLIGHT)),
            unreachable_reported: Mutex::new(None),
        }
    }

    /// Everything that needs no waiting.
    pub(super) fn begin(&self, bytes: &[u8], carrier: Carrier) -> Step {
        let question = match question::parse(bytes) {
            Ok(question) => question,
            Err(Unanswered::Silently) => return Step::Done(None),
            Err(Unanswered::With(asked, fault)) => {
                return Step::Done(Some(encode(&asked, &Answer::Faulty(fault), carrier)));
            }
        };
        let permit = self.without_asking(&question).and_then(|(name, family)| {
            if let Some(known) = self.resolver.known(&name, family) {
                return Err(self.answer(&name, family, known));
            }
            match self.permit_to_ask() {
                Some(permit) => Ok((name, family, permit)),
                None => Err(Answer::Refused),
            }
        });
        match permit {
            Ok((name, family, permit)) => {
                let asked = question.asked;
                Step::Ask(Pending { asked, name, family, carrier, _permit: permit })
            }
            Err(answer) => Step::Done(Some(encode(&question.asked, &answer, carrier))),
        }
    }

    /// Asks the resolvers.
    pub(super) async fn finish(&self, pending: Pending) -> Vec<u8> {
        let Pending { asked, name, family, carrier, .. } = &pending;
        let said = self.resolver.resolve(name, *family).await;
        encode(asked, &self.answer(name, *family, said), *carrier)
    }

    /// Lets others have their turn after a few questions, and more than that if the cage asks too
    /// much: the kernel then drops what it has no room for, which costs nobody anything.
    pub(super) async fn rest_after(&self, questions: u32) {
        let take = || {
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            pace.take(questions, Instant::now())
        };
        if take() {
            return tokio::task::yield_now().await;
        }
        while !take() {
            tokio::time::sleep(limits::REST).await;
        }
    }

    /// A place for a connection that questions come on, for a cage that has `own`.
    pub(super) fn place(&self, own: usize) -> Option<Taken> {
        self.resolver.place(own)
    }

    fn permit_to_ask(&self) -> Option<Permit> {
        let permit = Arc::clone(&self.in_flight).try_acquire_owned().ok()?;
        let own = limits::QUERIES_IN_FLIGHT.saturating_sub(self.in_flight.available_permits());
        let place = self.resolver.place(own)?;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take(1, Instant::now()).then_some((permit, place))
    }

    fn answer(
        &self,
        name: &Name,
        family: Family,
        said: Result<Addresses, ResolveFailure>,
    ) -> Answer {
        match said {
            Ok(found) => self.found(name, family, &found),
            Err(ResolveFailure::NoSuchName) => Answer::NoSuchName,
            Err(ResolveFailure::NoAddress) => Answer::NoData,
            Err(ResolveFailure::ServerFailure { .. }) => Answer::ServerFailure,
            Err(ResolveFailure::NoDescriptor) => {
                self.cage.had_no_descriptor();
                Answer::ServerFailure
            }
            Err(failure @ ResolveFailure::Unreachable { .. }) => {
                self.tell_unreachable(&failure);
                Answer::ServerFailure
            }
        }
    }

    /// The answer, if it needs nobody; else whom to ask for.
    fn without_asking(&self, question: &Question) -> Result<(Name, Family), Answer> {
        let name = match &question.subject {
            Subject::Host(name) => name,
            Subject::NoHost(text) => {
                return Err(self.deny(text.clone(), &Denial::new(DenialCode::BadName, NO_HOST)));
            }
        };
        if is_own(name) {
            return Err(own(question.wanted));
        }
        if question.wanted == Wanted::Pointer && is_reverse(name) {
            // What an address is called is nobody's business here, and programs ask it of every
            // address that they see: neither answered nor worth an event.
            return Err(Answer::NoSuchName);
        }
        if let Verdict::Deny(denial) = self.cage.decide(name)
            && walls::stands(Wall::NamesLookedUp)
        {
            return Err(self.deny(name.to_string(), &denial));
        }
        match (question.wanted, self.cage.outside()) {
            (Wanted::Addresses(family), Outside::Resolvers) => Ok((name.clone(), family)),
            (Wanted::Addresses(family), Outside::Proxy) => {
                Err(self.assigned(name, family, None, MAX_SECONDS))
            }
            (Wanted::Pointer | Wanted::Other, _) => Err(Answer::NoData),
        }
    }

    fn found(&self, name: &Name, family: Family, found: &Addresses) -> Answer {
        // Rounded up, which never is more than what the resolver said at first.
        let seconds = found.remaining.as_millis().div_ceil(1000);
        let seconds = u32::try_from(seconds).unwrap_or(MAX_SECONDS);
        let first = found.addresses.first().copied();
        self.assigned(name, family, first, seconds)
    }

    fn assigned(
        &self,
        name: &Name,
        family: Family,
        outside: Option<IpAddr>,
        seconds: u32,
    ) -> Answer {
        let pair = match self.cage.assign(name) {
            Ok(pair) => pair,
            Err(full) => {
                let denial = Denial::new(DenialCode::TooManyNames, full.to_string());
                self.deny(name.to_string(), &denial);
                return Answer::ServerFailure;
            }
        };
        let address = match family {
            Family::V4 => IpAddr::V4(pair.v4),
            Family::V6 => IpAddr::V6(pair.v6),
        };
        let resolved_ip = outside.unwrap_or(address);
        self.cage.tell(EventKind::DnsAllowed { hostname: name.to_string(), resolved_ip });
        Answer::Addresses { addresses: vec![address], seconds }
    }

    fn deny(&self, hostname: String, denial: &Denial) -> Answer {
        self.cage.tell(EventKind::DnsDenied {
            hostname,
            rule: denial.rule.as_ref().map(ToString::to_string),
            code: denial.code.to_string(),
            reason: denial.to_string(),
        });
        Answer::NoSuchName
    }

    fn tell_unreachable(&self, failure: &ResolveFailure) {
        let now = Instant::now();
        let mut reported = self.unreachable_reported.lock().unwrap_or_else(PoisonError::into_inner);
        let recent =
            |reported: Instant| now.saturating_duration_since(reported) < limits::UNREACHABLE_AGAIN;
        if reported.is_some_and(recent) {
            return;
        }
        *reported = Some(now);
        drop(reported);
        self.cage.tell(EventKind::UpstreamUnreachable { error: failure.to_string() });
    }
}

/// Names of the cage itself, which no resolver is to hear (RFC 6761, section 6.3).
fn is_own(name: &Name) -> bool {
    name.as_str() == "localhost" || name.as_str().ends_with(".localhost")
}

fn own(wanted: Wanted) -> Answer {
    let address: IpAddr = match wanted {
        Wanted::Addresses(Family::V4) => Ipv4Addr::LOCALHOST.into(),
        Wanted::Addresses(Family::V6) => Ipv6Addr::LOCALHOST.into(),
        Wanted::Pointer | Wanted::Other => return Answer::NoData,
    };
    Answer::Addresses { addresses: vec![address], seconds: MAX_SECONDS }
}

fn is_reverse(name: &Name) -> bool {
    name.as_str().ends_with(".in-addr.arpa") || name.as_str().ends_with(".ip6.arpa")
}

const NO_HOST: &str = "it is no host name";

#[cfg(test)]
mod tests;
