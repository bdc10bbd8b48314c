//! Byte strings that survive JSON: arguments, environment values and file contents on Linux are
//! bytes, not text. Never lossy: valid UTF-8 without a backslash stands as itself, everything else
//! is escaped as `\\` and `\xNN`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes with a readable, reversible text form. They never change, so that copies share them: the same
/// path stands in a Plan's mounts, in its checks and in what is recorded of it.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteString(Arc<[u8]>);

impl ByteString {
    /// The bytes themselves.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as the operating system's string type.
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the escaped form that [`fmt::Display`] writes.
    pub fn from_escaped(text: &str) -> Option<Self> {
        if !text.contains('\\') {
            return Some(Self::from(text));
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            rest = tail;
            if first != b'\\' {
                bytes.push(first);
                continue;
            }
            match rest {
                [b'\\', tail @ ..] => {
                    bytes.push(b'\\');
                    rest = tail;
                }
                [b'x', high, low, tail @ ..] => {
                    bytes.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
                    rest = tail;
                }
                _ => return None,
            }
        }
        Some(Self::from(bytes))
    }
}

impl fmt::Display for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => formatter.write_str("\\\\")?,
                    plain if !plain.is_control() || matches!(plain, '\n' | '\t') => {
                        fmt::Write::write_char(formatter, plain)?;
                    }
                    control => {
                        let mut buffer = [0; 4];
                        for byte in control.encode_utf8(&mut buffer).bytes() {
                            write!(formatter, "\\x{byte:02x}")?;
                        }
                    }
                }
            }
            for byte in chunk.invalid() {
                write!(formatter, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<String> for ByteString {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<&[u8]> for ByteString {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<OsString> for ByteString {
    fn from(text: OsString) -> Self {
        Self::from(text.into_vec())
    }
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nearly all strings stand for themselves. All of their bytes are looked at, which takes
        // less than stopping at one would.
        let stands_for_itself =
            |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t') & (*byte != b'\\');
        let all = self.0.iter().fold(true, |all, byte| all & stands_for_itself(byte));
        match std::str::from_utf8(&self.0) {
            Ok(text) if all => serializer.serialize_str(text),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_escaped(&text).ok_or_else(|| de::Error::custom("a `\\` escape is malformed"))
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests;
