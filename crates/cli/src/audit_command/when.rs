//! Moments as a person names them: a date, or how long ago.

use audit::Timestamp;

use crate::exit::Exit;
use crate::failure::Failure;

/// The moment that a word names. `flag` is where it was given.
pub(crate) fn moment(flag: &str, word: &str) -> Result<Timestamp, Failure> {
    Timestamp::named(word, Timestamp::now()).ok_or_else(|| {
        let word = policy::shown::shown(word);
        Failure::new(Exit::Usage, format!("`{flag} {word}` names no moment")).help(
            "say how long ago (`90s`, `10m`, `2h`, `3d`), or a date in UTC (`2026-01-31`, \
             `2026-01-31T10:20:30`)",
        )
    })
}
