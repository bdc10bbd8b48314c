//! Medians, percentiles and slopes of measured times. Knows nothing of what was measured.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Serialize;

/// What many measurements of one thing come to, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Half of the measurements were shorter.
    pub(crate) median_us: f64,
    /// Nine of ten measurements were shorter.
    pub(crate) p90_us: f64,
    /// The shortest.
    pub(crate) least_us: f64,
}

impl Summary {
    /// Sums up; none without a single measurement.
    pub(crate) fn of(measured: &[Duration]) -> Option<Self> {
        let mut sorted: Vec<f64> = measured.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median_us: quantile(&sorted, 0.5)?,
            p90_us: quantile(&sorted, 0.9)?,
            least_us: *sorted.first()?,
        })
    }
}

/// The value below which this share of the sorted values lies, interpolated between neighbours.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
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
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| common / spread)
}
