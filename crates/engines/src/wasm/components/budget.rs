//! Bytes that the host holds for a component outside of its memory, such as bodies of requests: counted, and never more than it
//! may have of memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the host may hold for one component.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    used: Arc<AtomicU64>,
    most: u64,
}

/// What is held for one thing; it is given back when this goes.
#[derive(Debug)]
pub(super) struct Kept {
    of: Budget,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(most: u64) -> Self {
        Self { used: Arc::default(), most }
    }

    /// Nothing yet, for a new thing.
    pub(super) fn begin(&self) -> Kept {
        Kept { of: self.clone(), bytes: 0 }
    }
}

impl Kept {
    /// Holds more, if there may be more. The component's own thread alone does this; any may give back.
    #[must_use]
    pub(super) fn grow(&mut self, more: usize) -> bool {
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        let used = self.of.used.load(Ordering::Relaxed).saturating_add(more);
        if used > self.of.most {
            return false;
        }
        self.of.used.fetch_add(more, Ordering::Relaxed);
        self.bytes = self.bytes.saturating_add(more);
        true
    }

    pub(super) fn shrink(&mut self, less: usize) {
        let less = u64::try_from(less).unwrap_or(u64::MAX).min(self.bytes);
        self.of.used.fetch_sub(less, Ordering::Relaxed);
        self.bytes = self.bytes.saturating_sub(less);
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.of.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
