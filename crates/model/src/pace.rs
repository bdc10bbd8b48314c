//! How often a provider is asked: the operator's own limit, kept before the provider has to say no. Pure but for the
//! clock that it is given.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Most requests and tokens in any minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Requests.
    pub requests: Option<u32>,
    /// Tokens, in and out. A request begins while fewer were counted.
    pub tokens: Option<u64>,
}

/// What was asked in the last minute.
#[derive(Debug, Default)]
pub(crate) struct Paced {
    begun: VecDeque<(Instant, u64)>,
}

impl Paced {
    /// How long to wait before another request.
    pub(crate) fn wait(&mut self, pace: Pace, now: Instant) -> Duration {
        while self.begun.front().is_some_and(|(at, _)| now.duration_since(*at) >= MINUTE) {
            self.begun.pop_front();
        }
        let until_gone = |at: &Instant| MINUTE.saturating_sub(now.duration_since(*at));
        let of_requests = pace.requests.and_then(|most| {
            let over = self.begun.len().checked_sub(most.max(1) as usize)?;
            self.begun.get(over).map(|(at, _)| until_gone(at))
        });
        let of_tokens = pace.tokens.and_then(|most| {
            let mut sum: u64 = self.begun.iter().map(|(_, tokens)| tokens).sum();
            let mut wait = None;
            for (at, tokens) in &self.begun {
                if sum < most.max(1) {
                    break;
                }
                sum -= tokens;
                wait = Some(until_gone(at));
            }
            wait
        });
        of_requests.unwrap_or_default().max(of_tokens.unwrap_or_default())
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        // No pace counts more than these.
        if self.begun.len() >= MOST_KEPT {
            self.begun.pop_front();
        }
        self.begun.push_back((now, 0));
    }

    pub(crate) fn count(&mut self, tokens: u64) {
        if let Some((_, sum)) = self.begun.back_mut() {
            *sum += tokens;
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const MOST_KEPT: usize = 10_000;

#[cfg(test)]
mod tests;
