//! Paths inside a workspace: relative to its root, normal, bytes. Purely lexical; never asks a file system.

use std::cmp::Ordering;
use std::fmt;

use plan::ByteString;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A path below the root of a workspace. Holding one proves that it has no empty, `.` or `..` component, no NUL
/// and a length that the kernel takes; the root itself is the empty path.
///
/// Paths sort as a walk finds them: a directory, then all that is in it, then what follows.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TreePath(ByteString);

/// Why bytes are not a path below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreePathError {
    /// It begins with a slash.
    #[error("the path is absolute: give it relative to the workspace")]
    Absolute,
    /// It has a `..`, `.` or empty component.
    #[error("the path has an empty, `.` or `..` component")]
    NotNormal,
    /// It has a NUL byte.
    #[error("the path has a NUL byte")]
    Nul,
    /// It is longer than the kernel takes.
    #[error("the path is longer than {LONGEST} bytes")]
    TooLong,
}

impl TreePath {
    /// The root of the workspace.
    pub fn root() -> Self {
        Self(ByteString::default())
    }

    /// Takes a path as a person writes it: `./` at the beginning, slashes at the end and a lone `.` are left out.
    pub fn parse(written: &[u8]) -> Result<Self, TreePathError> {
        if written.first() == Some(&b'/') {
            return Err(TreePathError::Absolute);
        }
        let mut bytes = written;
        while let Some(rest) = bytes.strip_prefix(b"./") {
            bytes = rest;
        }
        while let Some(rest) = bytes.strip_suffix(b"/") {
            bytes = rest;
        }
        if bytes.is_empty() || bytes == b"." {
            return Ok(Self::root());
        }
        Self::normal(bytes)
    }

    /// The path of a name in this directory.
    pub fn join(&self, name: &[u8]) -> Result<Self, TreePathError> {
        if name.contains(&b'/') || matches!(name, b"" | b"." | b"..") {
            return Err(TreePathError::NotNormal);
        }
        let mut bytes = self.as_bytes().to_vec();
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self::bounded(bytes)
    }

    /// The bytes; none for the root.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Whether it is the root of the workspace.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory that it is in, and its name there; none for the root.
    pub fn split(&self) -> Option<(Self, &[u8])> {
        let bytes = self.as_bytes();
        let (parent, name) = match bytes.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (bytes.get(..slash)?, bytes.get(slash + 1..)?),
            None => (b"".as_slice(), bytes),
        };
        (!name.is_empty()).then(|| (Self(ByteString::from(parent)), name))
    }

    /// The directories above it, from the one right below the root downwards.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        let bytes = self.as_bytes();
        let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| Self(ByteString::from(bytes.get(..at).unwrap_or_default())))
    }

    /// Whether it is `ancestor` or lies below it.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        let rest = self.as_bytes().strip_prefix(ancestor.as_bytes());
        rest.is_some_and(|rest| {
            ancestor.is_root() || rest.is_empty() || rest.first() == Some(&b'/')
        })
    }

    fn normal(bytes: &[u8]) -> Result<Self, TreePathError> {
        let parts = bytes.split(|byte| *byte == b'/');
        if parts.into_iter().any(|part| matches!(part, b"" | b"." | b"..")) {
            return Err(TreePathError::NotNormal);
        }
        Self::bounded(bytes.to_vec())
    }

    fn bounded(bytes: Vec<u8>) -> Result<Self, TreePathError> {
        if bytes.contains(&0) {
            return Err(TreePathError::Nul);
        }
        if bytes.len() > LONGEST {
            return Err(TreePathError::TooLong);
        }
        Ok(Self(ByteString::from(bytes)))
    }
}

impl Ord for TreePath {
    fn cmp(&self, other: &Self) -> Ordering {
        // A slash sorts before every other byte; there is no NUL.
        let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        self.as_bytes().iter().map(key).cmp(other.as_bytes().iter().map(key))
    }
}

impl PartialOrd for TreePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reversible, and with no control character but newline and tab; for a terminal use `policy::shown`.
impl fmt::Display for TreePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() { formatter.write_str(".") } else { self.0.fmt(formatter) }
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TreePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = ByteString::deserialize(deserializer)?;
        if bytes.is_empty() {
            return Ok(Self::root());
        }
        Self::normal(bytes.as_bytes()).map_err(de::Error::custom)
    }
}

/// The kernel takes 4095 bytes; some are left for the directories that a tree is moved to and from.
const LONGEST: usize = 3900;

#[cfg(test)]
mod tests;
