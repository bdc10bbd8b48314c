//! The names of sessions. One can be a part of a path and of a line of the record as it is: it
//! cannot lead anywhere, hide, or be taken for another.

use std::fmt;

use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

#[cfg(test)]
mod tests;

/// The name of a session: a small letter or a digit, then up to 62 of these and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

/// A text that is not the name of a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` cannot be a session's name: it begins with a small letter or a digit and has up to 62 more \
     of these and `-`",
    policy::shown::shown(.0)
)]
pub struct SessionIdError(String);

impl SessionId {
    /// A name that somebody gave.
    pub fn parse(text: &str) -> Result<Self, SessionIdError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let begins_well = bytes.first().is_some_and(|first| is_plain(*first));
        let goes_on_well = bytes.iter().all(|byte| is_plain(*byte) || *byte == b'-');
        if begins_well && goes_on_well && bytes.len() <= LONGEST {
            Ok(Self(text.to_owned()))
        } else {
            Err(SessionIdError(text.to_owned()))
        }
    }

    /// A name that no other session has: 130 random bits.
    pub fn generate() -> Result<Self, Errno> {
        let mut random = [0_u8; GENERATED];
        let mut filled = 0;
        while let Some(rest) = random.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match rustix::rand::getrandom(rest, GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        let letter =
            |byte: &u8| char::from(ALPHABET.get(usize::from(byte & 31)).copied().unwrap_or(b'a'));
        Ok(Self(random.iter().map(letter).collect()))
    }

    /// A name that is easily typed and that few sessions have: a word, as far as it can be a part of a name, and
    /// 30 random bits.
    pub fn generate_with(word: &str) -> Result<Self, Errno> {
        let Self(random) = Self::generate()?;
        let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let word = word.to_ascii_lowercase();
        let plain = word.split(|letter| !is_plain(letter)).filter(|part| !part.is_empty());
        let mut name: String =
            plain.collect::<Vec<_>>().join("-").chars().take(LONGEST_WORD).collect();
        if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        name.extend(random.chars().take(SHORT));
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

const LONGEST: usize = 63;
const LONGEST_WORD: usize = 24;
const GENERATED: usize = 26;
const SHORT: usize = 6;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
