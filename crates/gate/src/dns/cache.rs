//! What the resolvers said, kept for as long as they allow and a minute at most. One for all cages and
//! for the side that dials, so that a connection goes to the addresses that the name was answered for.
//! Holds no decision: who may ask for what is settled before.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plan::destination::Name;
use plan::network::Family;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::upstream::{Resolution, ResolveFailure, Upstream};
use crate::budget::{Budget, Taken};

/// Finds the addresses of names.
#[derive(Debug)]
pub struct Resolver {
    upstream: Upstream,
    questions: Arc<Budget>,
    kept: Mutex<Kept>,
}

/// Addresses, and for how long they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// At least one.
    pub addresses: Arc<[IpAddr]>,
    /// What is left of their time.
    pub remaining: Duration,
}

impl Resolver {
    /// Asks these resolvers, and not more than `most` questions at a time.
    pub fn new(resolvers: Vec<SocketAddr>, most: usize) -> Self {
        let (upstream, questions) = (Upstream::new(resolvers), Budget::new(most));
        Self { upstream, questions, kept: Mutex::default() }
    }

    /// A place for one more question of a cage that has `own` on their way.
    pub(crate) fn place(&self, own: usize) -> Option<Taken> {
        self.questions.take_share(own)
    }

    /// Asks others from now on, and forgets what the former said: another network may know the same
    /// name by another address.
    pub fn replace_resolvers(&self, resolvers: Vec<SocketAddr>) {
        self.upstream.replace(resolvers);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }

    /// The addresses of an allowed name. To be called after a decision and never to reach one.
    pub async fn addresses(
        &self,
        name: &Name,
        family: Family,
    ) -> Result<Arc<[IpAddr]>, ResolveFailure> {
        self.resolve(name, family).await.map(|found| found.addresses)
    }

    /// The same, with the time for which they hold.
    pub async fn resolve(&self, name: &Name, family: Family) -> Result<Addresses, ResolveFailure> {
        let slot = self.slot(name, family);
        // Whoever comes first asks and the others wait for it; if it is dropped, the next one asks.
        let entry =
            slot.get_or_init(|| async { Entry::new(self.upstream.ask(name, family).await) }).await;
        let addresses = entry.addresses.clone()?;
        let remaining = entry.expires.saturating_duration_since(Instant::now());
        Ok(Addresses { addresses, remaining })
    }

    /// The same, if nobody has to be asked.
    pub(super) fn known(
        &self,
        name: &Name,
        family: Family,
    ) -> Option<Result<Addresses, ResolveFailure>> {
        let now = Instant::now();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.younger.get(&(name.clone(), family))?.get()?;
        let remaining = entry.expires.saturating_duration_since(now);
        let found = entry.addresses.clone().map(|addresses| Addresses { addresses, remaining });
        (remaining > Duration::ZERO).then_some(found)
    }

    fn slot(&self, name: &Name, family: Family) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.slot((name.clone(), family), Instant::now())
    }
}

type Key = (Name, Family);
/// Empty while the question is under way.
type Slot = Arc<OnceCell<Entry>>;

#[derive(Debug)]
struct Entry {
    addresses: Result<Arc<[IpAddr]>, ResolveFailure>,
    expires: Instant,
}

impl Entry {
    fn new(resolution: Resolution) -> Self {
        let lifetime = match &resolution.addresses {
            Ok(_) => resolution.lifetime.min(LONGEST),
            Err(ResolveFailure::NoSuchName | ResolveFailure::NoAddress) => {
                resolution.lifetime.clamp(AFTER_FAILURE, LONGEST_NEGATIVE)
            }
            // Long enough that a crowd of programs does not wait for the same time-out one by one.
            Err(ResolveFailure::ServerFailure { .. } | ResolveFailure::Unreachable { .. }) => {
                AFTER_FAILURE
            }
            // Says nothing about the name.
            Err(ResolveFailure::NoDescriptor) => Duration::ZERO,
        };
        Self { addresses: resolution.addresses, expires: Instant::now() + lifetime }
    }
}

/// Two generations: when the younger is full, the older is forgotten as a whole. Bounded without
/// looking for the least used entry, and a name that is asked for often always stays.
#[derive(Debug, Default)]
struct Kept {
    younger: HashMap<Key, Slot>,
    older: HashMap<Key, Slot>,
}

impl Kept {
    fn slot(&mut self, key: Key, now: Instant) -> Slot {
        let holds = |slot: &&Slot| slot.get().is_none_or(|entry| entry.expires > now);
        if let Some(slot) = self.younger.get(&key).filter(holds) {
            return Arc::clone(slot);
        }
        let former = self.older.remove(&key);
        let slot = former.filter(|slot| holds(&slot)).unwrap_or_default();
        if self.younger.len() >= GENERATION {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(key, Arc::clone(&slot));
        slot
    }
}

/// Entries of one generation.
const GENERATION: usize = 4096;
/// The longest time for which addresses are kept.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest time for which it is kept that there are none.
const LONGEST_NEGATIVE: Duration = Duration::from_secs(10);
/// The time for which a failure is kept, and the shortest for a no.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
