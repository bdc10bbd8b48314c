//! Text of a record that somebody else chose: a name from a policy, a path, what a program asked
//! for. Printable ASCII whatever came in, bounded, and still exactly what it was: every text can be
//! turned back into the bytes that it stands for.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use serde::{Deserialize, Deserializer, Serialize};

#[cfg(test)]
mod tests;

/// A text of at most so many characters.
///
/// Visible ASCII stands for itself, a backslash is doubled, other characters are written `\u{…}`, and
/// bytes that are control characters or no character at all `\xNN`. What did not fit is counted at
/// the end: `\+12` says that 12 bytes more were there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bounded<const LIMIT: usize>(String);

/// An identifier or a name.
pub type Name = Bounded<128>;

/// A sentence, a path, a host.
pub type Text = Bounded<1024>;

/// The description of a cage.
pub type LongText = Bounded<4096>;

/// What a text stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unescaped {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many more there were.
    pub omitted: u64,
}

impl<const LIMIT: usize> Bounded<LIMIT> {
    /// The text for some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len().min(LIMIT));
        let mut taken = 0_usize;
        for chunk in bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                if !push_within(&mut text, LIMIT, |text| push_character(text, character)) {
                    return Self::cut(text, bytes.len() - taken);
                }
                taken += character.len_utf8();
            }
            for byte in chunk.invalid() {
                if !push_within(&mut text, LIMIT, |text| push_byte(text, *byte)) {
                    return Self::cut(text, bytes.len() - taken);
                }
                taken += 1;
            }
        }
        Self(text)
    }

    /// The text as it stands in a record.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bytes that it was made from, as far as they fitted.
    pub fn unescape(&self) -> Unescaped {
        // INVARIANT: both makers leave only texts that can be read back.
        read_back(&self.0).unwrap_or(Unescaped { bytes: Vec::new(), omitted: 0 })
    }

    fn cut(mut text: String, omitted: usize) -> Self {
        text.push_str(&format!("\\+{omitted}"));
        Self(text)
    }
}

impl<const LIMIT: usize> fmt::Display for Bounded<LIMIT> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<const LIMIT: usize> From<&str> for Bounded<LIMIT> {
    fn from(text: &str) -> Self {
        Self::of(text.as_bytes())
    }
}

impl<const LIMIT: usize> From<String> for Bounded<LIMIT> {
    fn from(text: String) -> Self {
        Self::of(text.as_bytes())
    }
}

impl<const LIMIT: usize> From<&String> for Bounded<LIMIT> {
    fn from(text: &String) -> Self {
        Self::of(text.as_bytes())
    }
}

impl<const LIMIT: usize> From<&[u8]> for Bounded<LIMIT> {
    fn from(bytes: &[u8]) -> Self {
        Self::of(bytes)
    }
}

impl<const LIMIT: usize> From<&OsStr> for Bounded<LIMIT> {
    fn from(text: &OsStr) -> Self {
        Self::of(text.as_bytes())
    }
}

impl<'de, const LIMIT: usize> Deserialize<'de> for Bounded<LIMIT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() > LIMIT + LONGEST_MARK || read_back(&text).is_none() {
            return Err(serde::de::Error::custom("not a text as records have it"));
        }
        Ok(Self(text))
    }
}

/// Adds what `push` adds, or nothing if it would be too long. Says whether it was added.
fn push_within(text: &mut String, limit: usize, push: impl FnOnce(&mut String)) -> bool {
    let before = text.len();
    push(text);
    if text.len() > limit {
        text.truncate(before);
        return false;
    }
    true
}

fn push_character(text: &mut String, character: char) {
    match character {
        '\\' => text.push_str("\\\\"),
        ' '..='~' => text.push(character),
        '\0'..='\x7f' => push_byte(text, u8::try_from(character).unwrap_or(0)),
        _ => text.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
    }
}

fn push_byte(text: &mut String, byte: u8) {
    text.push_str(&format!("\\x{byte:02x}"));
}

/// None for what [`Bounded::of`] never writes.
fn read_back(text: &str) -> Option<Unescaped> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '\\' => {
                if let Some(count) = rest.strip_prefix("\\+") {
                    return Some(Unescaped { bytes, omitted: count.parse().ok()? });
                }
                read_escape(rest, &mut bytes)?
            }
            ' '..='~' => {
                bytes.push(u8::try_from(first).ok()?);
                rest.get(1..)?
            }
            _ => return None,
        };
    }
    Some(Unescaped { bytes, omitted: 0 })
}

/// Reads the escape that a text begins with, and gives back the rest of the text.
fn read_escape<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix("\\\\") {
        bytes.push(b'\\');
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix("\\x") {
        bytes.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
        return rest.get(2..);
    }
    let (digits, rest) = text.strip_prefix("\\u{")?.split_once('}')?;
    let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(rest)
}

/// `\+` and the digits of the largest count.
const LONGEST_MARK: usize = 22;
