//! The descriptors of the process, shared out among its cages: a limit that the process runs into would
//! be everybody's, and whoever comes next could not even be told so. Counts and never opens anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits;

/// How many of one kind there can be at a time.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    taken: AtomicUsize,
}

/// A part of a budget that somebody has, until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    budget: Arc<Budget>,
    count: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicUsize::new(0) })
    }

    /// So many, if they are free.
    pub(crate) fn take(self: &Arc<Self>, count: usize) -> Option<Taken> {
        let take = |taken: usize| taken.checked_add(count).filter(|taken| *taken <= self.most);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(Taken { budget: Arc::clone(self), count })
    }

    /// One more for a cage that has `own` already. None has more than twice what it leaves free, so
    /// that the next one finds some whatever this one does.
    pub(crate) fn take_share(self: &Arc<Self>, own: usize) -> Option<Taken> {
        let free = self.most.saturating_sub(self.taken.load(Ordering::Relaxed));
        if own / 2 < free { self.take(1) } else { None }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// Whom the descriptors are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// One cage, which keeps them from nobody.
    OneCage,
    /// As many as come.
    ManyCages,
}

/// What a limit on descriptors is enough for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    /// Connections, and what cages are served with where theirs is not enough, at two descriptors each.
    pub(crate) connections: usize,
    /// What cages are served with: nobody's connections keep out the next cage.
    pub(crate) cages: usize,
    /// Questions that wait for a resolver, and connections that they come on.
    pub(crate) questions: usize,
    /// Pipes, which are two descriptors as well.
    pub(crate) pipes: usize,
}

impl Division {
    /// A part is for what nobody counts: the process's own, and addresses that are dialled beside
    /// others. Questions and pipes have theirs of it.
    pub(crate) fn of(limit: u64, serves: Serves) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let part = match serves {
            Serves::OneCage => limit / 8,
            Serves::ManyCages => limit / 4,
        };
        let uncounted = part.min(limits::DESCRIPTORS_UNCOUNTED);
        let pairs = (limit - uncounted) / 2;
        let cages = match serves {
            Serves::OneCage => 0,
            Serves::ManyCages => pairs / 4,
        };
        Self {
            connections: pairs - cages,
            cages,
            questions: uncounted / 2,
            pipes: (uncounted / 8).min(limits::PIPES),
        }
    }
}

#[cfg(test)]
mod tests;
