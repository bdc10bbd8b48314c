//! SHA-256 values, which hold the log together: as bytes and as 64 small hexadecimal digits.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first record names as the one before it.
    pub const NONE: Self = Self([0; 32]);

    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 small hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        bytes_of(text).map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal(&self.0))
    }
}

/// Bytes as small hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digit =
        |nibble: u8| char::from(if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble });
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Exactly as many bytes as are asked for, from small hexadecimal digits.
pub(crate) fn bytes_of<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let text = text.as_bytes();
    if text.len() != 2 * LENGTH {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = digits else { return None };
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
