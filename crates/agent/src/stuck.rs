//! Notices an agent that does the same again and again: the same calls with the same results.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What was done last.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    last: VecDeque<u64>,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    GoOn,
    /// Tell the model.
    Tell,
    /// End it.
    End,
}

impl Stuck {
    /// Takes one step: its calls, and what they came to.
    pub(crate) fn step(&mut self, calls: &str, results: &str) -> Advice {
        let mut hasher = DefaultHasher::new();
        (calls, results).hash(&mut hasher);
        self.last.push_back(hasher.finish());
        if self.last.len() > KEPT {
            self.last.pop_front();
        }
        // One step again and again, or two or three that take turns.
        let repeats = (1..=3).map(|period| self.repeats(period)).max().unwrap_or_default();
        match repeats {
            END.. => Advice::End,
            TELL.. => Advice::Tell,
            _ => Advice::GoOn,
        }
    }

    /// How often the last so many steps were done in a row.
    fn repeats(&self, period: usize) -> usize {
        let last: Vec<u64> = self.last.iter().rev().copied().collect();
        let mut parts = last.chunks_exact(period);
        let Some(first) = parts.next() else { return 0 };
        1 + parts.take_while(|part| *part == first).count()
    }
}

const KEPT: usize = 24;
const TELL: usize = 3;
const END: usize = 6;

#[cfg(test)]
mod tests;
