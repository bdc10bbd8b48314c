//! When a model is asked again: how often, and after how long. Pure: the clock and the chance are the caller's.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// How often, and how long between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retries {
    /// Most requests for one answer.
    pub most: u32,
    /// Before the second one; doubled for each that follows.
    pub first_wait: Duration,
    /// The longest wait, also where the provider asks for a longer one: it is an error then.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { most: 6, first_wait: Duration::from_secs(1), longest_wait: Duration::from_secs(120) }
    }
}

impl Retries {
    /// How long to wait after so many requests, from half of it to all of it by chance (0 to 255). What the provider
    /// asks for is never shortened.
    pub fn wait(&self, requests: u32, asked_for: Option<Duration>, chance: u8) -> Duration {
        let doubled = self
            .first_wait
            .saturating_mul(1 << requests.saturating_sub(1).min(20))
            .min(self.longest_wait);
        let spread = doubled / 2 + doubled * u32::from(chance) / 510;
        spread.max(asked_for.unwrap_or_default())
    }
}

/// What a provider's `retry-after` asks for: seconds, or a date as HTTP writes it.
pub(crate) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0)
            .then(|| Duration::from_secs_f64(seconds.min(MOST_SECONDS)));
    }
    let since = date(text)?;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    Some(Duration::from_secs(since.saturating_sub(now)))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as seconds.
fn date(text: &str) -> Option<u64> {
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|known| *known == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next()? != "GMT"
        || !(1970..10_000).contains(&year)
        || day > 31
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    // Days since the epoch, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    let days = days.checked_sub(DAYS_BEFORE_EPOCH)?;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS_BEFORE_EPOCH: u64 = 719_469;
const MOST_SECONDS: f64 = 1e9;

#[cfg(test)]
mod tests;
