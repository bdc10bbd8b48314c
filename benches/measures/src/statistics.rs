//! Medians, percentiles and slopes of measured times. Pure.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What many measurements of one thing come to, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Half of the measurements were shorter.
    pub median_us: f64,
    /// Nine of ten measurements were shorter.
    pub p90_us: f64,
    /// The shortest.
    pub least_us: f64,
}

impl Summary {
    /// Sums up; none without a single measurement.
    pub fn of(measured: &[Duration]) -> Option<Self> {
        let mut sorted: Vec<f64> = measured.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median_us: quantile(&sorted, 0.5)?,
            p90_us: quantile(&sorted, 0.9)?,
            least_us: *sorted.first()?,
        })
    }
}

/// How times are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half of all took at most so many microseconds.
    pub p50_us: f64,
    /// All but one of a hundred did.
    pub p99_us: f64,
}

impl Spread {
    /// None of nothing.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |part: f64| {
            let place = (times.len() as f64 * part) as usize;
            let time = times.get(place.min(times.len().saturating_sub(1)))?;
            Some(time.as_secs_f64() * 1e6)
        };
        Some(Self { p50_us: at(0.5)?, p99_us: at(0.99)? })
    }

    /// The middle of the middles and of the tails of several turns.
    pub fn middle(turns: &[Self]) -> Option<Self> {
        let of = |part: fn(&Self) -> f64| median(turns.iter().map(part).collect());
        let spread = Self { p50_us: of(|turn| turn.p50_us), p99_us: of(|turn| turn.p99_us) };
        (!turns.is_empty()).then_some(spread)
    }
}

/// The value below which this share of the sorted values lies, interpolated between neighbours.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share * last as f64;
    let (below, part) = (position.floor(), position.fract());
    let index = below as usize;
    let lower = *sorted.get(index)?;
    let upper = sorted.get(index + 1).copied().unwrap_or(lower);
    Some(lower + (upper - lower) * part)
}

/// The slope of the straight line through the points with the least squares; none for fewer than
/// two different places.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| common / spread)
}

/// The middle of some numbers; zero of none.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
