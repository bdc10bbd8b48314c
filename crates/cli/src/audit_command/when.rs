//! Moments as a person names them: a date, or how long ago.

use audit::Timestamp;

use crate::exit::Exit;
use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// The moment that a word names. `flag` is where it was given.
pub(super) fn moment(flag: &str, word: &str) -> Result<Timestamp, Failure> {
    let now = Timestamp::now();
    read(word, now).ok_or_else(|| {
        let word = policy::shown::shown(word);
        Failure::new(Exit::Usage, format!("`{flag} {word}` names no moment")).help(
            "say how long ago (`90s`, `10m`, `2h`, `3d`), or a date in UTC (`2026-01-31`, \
             `2026-01-31T10:20:30`)",
        )
    })
}

fn read(word: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(moment) = Timestamp::parse(word) {
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
    let count: u64 = word.strip_suffix(unit)?.parse().ok()?;
    let ago = count.checked_mul(seconds)?.checked_mul(1_000_000)?;
    Timestamp::from_microseconds(now.microseconds().saturating_sub(ago))
}
