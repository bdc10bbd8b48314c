//! Middle and tail of measured times. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How times are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// Half of all took at most so many microseconds.
    pub(crate) p50_us: f64,
    /// All but one of a hundred did.
    pub(crate) p99_us: f64,
}

impl Spread {
    /// None of nothing.
    pub(crate) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |part: f64| {
            let place = (times.len() as f64 * part) as usize;
            let time = times.get(place.min(times.len().saturating_sub(1)))?;
            Some(time.as_secs_f64() * 1e6)
        };
        Some(Self { p50_us: at(0.5)?, p99_us: at(0.99)? })
    }

    /// The middle of the middles and of the tails of several turns.
    pub(crate) fn middle(turns: &[Self]) -> Option<Self> {
        let of = |part: fn(&Self) -> f64| median(turns.iter().map(part).collect());
        let spread = Self { p50_us: of(|turn| turn.p50_us), p99_us: of(|turn| turn.p99_us) };
        (!turns.is_empty()).then_some(spread)
    }
}

/// The middle of some numbers; zero of none.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
