//! What was observed, within bounds: a program that names more than anybody would read costs no more memory.

use std::collections::HashMap;

use plan::GuestPath;

use super::names::Named;
use crate::control::{Observation, Observed};

#[derive(Default)]
pub(super) struct Record {
    entries: Vec<Observed>,
    places: HashMap<(Observation, GuestPath), usize>,
    /// What was made of names that were seen before.
    known: HashMap<Named, Option<usize>>,
    bytes: usize,
    unlisted: u64,
}

impl Record {
    /// Counts a name that was looked at before. It leads where it led then, unless the program changed that: a
    /// note would be wrong about a count.
    pub(super) fn counts_again(&mut self, name: &Named) -> bool {
        let Some(known) = self.known.get(name) else { return false };
        if let Some(entry) = known.and_then(|index| self.entries.get_mut(index)) {
            entry.count = entry.count.saturating_add(1);
        }
        true
    }

    /// Notes what a name led to.
    pub(super) fn note(&mut self, name: Named, found: Option<(Observation, GuestPath)>) {
        let index = found.and_then(|found| self.entry(found));
        if self.known.len() >= MOST_NAMES {
            self.known.clear();
        }
        if name.path.len() <= LONGEST_KNOWN {
            self.known.insert(name, index);
        }
    }

    fn entry(&mut self, found: (Observation, GuestPath)) -> Option<usize> {
        if let Some(index) = self.places.get(&found) {
            if let Some(entry) = self.entries.get_mut(*index) {
                entry.count = entry.count.saturating_add(1);
            }
            return Some(*index);
        }
        let bytes = self.bytes + found.1.as_bytes().len();
        if self.entries.len() >= MOST_ENTRIES || bytes > MOST_BYTES {
            self.unlisted = self.unlisted.saturating_add(1);
            return None;
        }
        self.bytes = bytes;
        let index = self.entries.len();
        self.entries.push(Observed { what: found.0, path: found.1.clone(), count: 1 });
        self.places.insert(found, index);
        Some(index)
    }

    /// All of it, in the order in which it was seen first.
    pub(super) fn told(&self) -> (Vec<Observed>, u64) {
        (self.entries.clone(), self.unlisted)
    }
}

const MOST_ENTRIES: usize = 16_384;
const MOST_BYTES: usize = 2 << 20;
const MOST_NAMES: usize = 16_384;
const LONGEST_KNOWN: usize = 512;
