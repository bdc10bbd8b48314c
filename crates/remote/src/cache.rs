//! What was read lately, in blocks, within a bound. A block belongs to one version of one file, so that it never grows
//! wrong: another version has other blocks.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A block: of which file, of which version, and which one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) path: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) block: u64,
}

/// Blocks, the oldest of which go when there are too many.
#[derive(Debug)]
pub(crate) struct Cache {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    blocks: HashMap<Key, (Arc<[u8]>, bool)>,
    in_order: VecDeque<Key>,
    bytes: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        let mut state = self.state();
        let (bytes, is_used) = state.blocks.get_mut(key)?;
        *is_used = true;
        Some(Arc::clone(bytes))
    }

    pub(crate) fn put(&self, key: Key, bytes: Arc<[u8]>) {
        let mut state = self.state();
        if state.blocks.contains_key(&key) {
            return;
        }
        state.bytes += bytes.len() + OVERHEAD;
        state.in_order.push_back(key.clone());
        state.blocks.insert(key, (bytes, true));
        // The oldest goes, unless it was asked for since it was looked at last.
        while state.bytes > self.most {
            let Some(oldest) = state.in_order.pop_front() else { return };
            let is_used =
                state.blocks.get_mut(&oldest).is_some_and(|(_, used)| std::mem::take(used));
            if is_used {
                state.in_order.push_back(oldest);
            } else if let Some((gone, _)) = state.blocks.remove(&oldest) {
                state.bytes = state.bytes.saturating_sub(gone.len() + OVERHEAD);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About what a block takes beside its bytes.
const OVERHEAD: usize = 256;

/// The bytes of a block.
pub(crate) const BLOCK: u64 = 256 << 10;

#[cfg(test)]
mod tests;
