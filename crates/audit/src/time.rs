//! The time of a record: UTC, to the microsecond, always as long. Never reads a time zone.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(test)]
mod tests;

/// Microseconds since the beginning of 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// This moment.
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// A moment in microseconds since the beginning of 1970; none after the year 9999.
    pub fn from_microseconds(microseconds: u64) -> Option<Self> {
        (microseconds < END).then_some(Self(microseconds))
    }

    /// Microseconds since the beginning of 1970.
    pub fn microseconds(self) -> u64 {
        self.0
    }

    /// Reads `2026-01-31`, `2026-01-31T10:20` or `2026-01-31T10:20:30`, with or without a fraction
    /// of up to six digits and a final `Z`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('Z').unwrap_or(text);
        let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00"));
        let [year, month, day] = numbers(date, '-', &[4, 2, 2])?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
        let [hour, minute, second] = match time.len() {
            5 => {
                let [hour, minute] = numbers(time, ':', &[2, 2])?;
                [hour, minute, 0]
            }
            _ => numbers(time, ':', &[2, 2, 2])?,
        };
        let in_range = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !in_range {
            return None;
        }
        let seconds = ((days_before(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        Some(Self(seconds * 1_000_000 + microseconds(fraction)?))
    }

    /// Reads a moment as a person names it: a date, as [`Self::parse`] does, or how long before `now`,
    /// as `90s`, `10m`, `2h` or `3d`.
    pub fn named(word: &str, now: Self) -> Option<Self> {
        if let Some(moment) = Self::parse(word) {
            return Some(moment);
        }
        let unit = word.chars().last()?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        let count = digits(word.strip_suffix(unit)?)?;
        let ago = count.checked_mul(seconds)?.checked_mul(1_000_000)?;
        Some(Self(now.0.saturating_sub(ago)))
    }

    /// Reads the one form in which records have it.
    pub(crate) fn parse_canonical(text: &str) -> Option<Self> {
        Self::parse(text).filter(|time| time.to_string() == text)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(END).min(END - 1))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, fraction) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z"
        )
    }
}

/// As many numbers as there are widths, each of exactly that many digits.
fn numbers<const COUNT: usize>(
    text: &str,
    separator: char,
    widths: &[usize; COUNT],
) -> Option<[u64; COUNT]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; COUNT];
    for (number, width) in numbers.iter_mut().zip(widths) {
        let part = parts.next()?;
        *number = digits(part).filter(|_| part.len() == *width)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn digits(text: &str) -> Option<u64> {
    // `parse` alone would take a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn microseconds(fraction: &str) -> Option<u64> {
    match fraction.len() {
        0 => Some(0),
        length @ 1..=6 => {
            let scale = 10_u64.pow(6 - u32::try_from(length).ok()?);
            Some(digits(fraction)? * scale)
        }
        _ => None,
    }
}

/// Year, month and day of a day counted from the beginning of 1970.
///
/// Years begin in March here, so that the leap day is the last of its year; 400 of them always have
/// the same number of days. See Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Days from the beginning of 1970 to a date; the inverse of [`date`].
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_OF_ERA + day_of_era - DAYS_TO_1970
}

fn days_in_month(year: u64, month: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from the first of March of year 0 to the first of January 1970.
const DAYS_TO_1970: u64 = 719_468;
const DAYS_OF_ERA: u64 = 146_097;

/// The beginning of the year 10000.
const END: u64 = 253_402_300_800 * 1_000_000;
