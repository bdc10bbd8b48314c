//! Absolute, normal paths of two worlds that never mix: the host's and the cage's.
//! Purely lexical; never asks a file system.

use std::borrow::Borrow;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ByteString;

/// The longest path that the kernel takes, without its final NUL.
pub const MAX_PATH_BYTES: usize = 4095;

/// Why bytes are not an absolute, normal path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path does not begin with `/`.
    #[error("the path is not absolute")]
    NotAbsolute,
    /// The path has a `.` or `..` component, an empty component or a trailing slash.
    #[error("the path has an empty, `.` or `..` component")]
    NotNormal,
    /// The path has a NUL byte.
    #[error("the path has a NUL byte")]
    Nul,
    /// The path is longer than the kernel takes.
    #[error("the path is longer than {MAX_PATH_BYTES} bytes")]
    TooLong,
}

macro_rules! absolute_path {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(ByteString);

        impl $name {
            /// Takes a path that is already absolute and normal.
            pub fn new(bytes: impl Into<ByteString>) -> Result<Self, PathError> {
                let bytes = bytes.into();
                check(bytes.as_bytes())?;
                Ok(Self(bytes))
            }

            /// The root directory.
            pub fn root() -> Self {
                Self(ByteString::from("/"))
            }

            /// This path with one more component or relative path; `relative` must be normal.
            pub fn join(&self, relative: impl AsRef<[u8]>) -> Result<Self, PathError> {
                let relative = relative.as_ref();
                if relative.is_empty() {
                    return Ok(self.clone());
                }
                let separator: &[u8] = if self.as_bytes() == b"/" { b"" } else { b"/" };
                Self::new([self.as_bytes(), separator, relative].concat())
            }

            /// The bytes of the path.
            pub fn as_bytes(&self) -> &[u8] {
                self.0.as_bytes()
            }

            /// The path as the standard library's type.
            pub fn as_path(&self) -> &Path {
                Path::new(self.0.as_os_str())
            }

            /// The path without its leading slash, `.` for the root: what `*at` calls take
            /// relative to a directory that stands for the root.
            pub fn relative_to_root(&self) -> &[u8] {
                match self.as_bytes() {
                    [b'/'] => b".",
                    [b'/', rest @ ..] => rest,
                    other => other,
                }
            }

            /// Whether this path is `ancestor` or lies below it.
            pub fn is_within(&self, ancestor: &Self) -> bool {
                is_within(self.as_bytes(), ancestor.as_bytes())
            }

            /// The directory that holds this path; none for the root.
            pub fn parent(&self) -> Option<Self> {
                let parent = parent(self.as_bytes())?;
                Some(Self(ByteString::from(parent)))
            }

            /// The bytes of every proper ancestor, from the parent up to the root. With
            /// [`std::borrow::Borrow`] these look things up in maps without a copy of the path.
            pub fn ancestors(&self) -> impl Iterator<Item = &[u8]> {
                std::iter::successors(parent(self.as_bytes()), |path| parent(path))
            }

            /// The last component; none for the root.
            pub fn file_name(&self) -> Option<&[u8]> {
                self.as_bytes().rsplit(|byte| *byte == b'/').next().filter(|name| !name.is_empty())
            }

            /// Every proper ancestor from the root down.
            pub fn ancestors_from_root(&self) -> Vec<Self> {
                let mut ancestors: Vec<Self> = self
                    .ancestors()
                    .map(|ancestor| Self(ByteString::from(ancestor)))
                    .collect();
                ancestors.reverse();
                ancestors
            }

            /// How many components the path has; 0 for the root.
            pub fn depth(&self) -> usize {
                self.ancestors().count()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, formatter)
            }
        }

        // INVARIANT: paths compare, order and hash as their bytes do.
        impl Borrow<[u8]> for $name {
            fn borrow(&self) -> &[u8] {
                self.as_bytes()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(ByteString::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

absolute_path! {
    /// A path on the host. There is no conversion from a [`GuestPath`].
    HostPath
}

absolute_path! {
    /// A path inside a cage. There is no conversion from a [`HostPath`] but the explicit
    /// [`GuestPath::same_as`], which names the rule that grants keep their place.
    GuestPath
}

impl GuestPath {
    /// The place inside a cage at which a host path is shown: the same one.
    pub fn same_as(host: &HostPath) -> Self {
        Self(host.0.clone())
    }
}

/// Whether a path is `ancestor` or lies below it; both are absolute and normal.
fn is_within(path: &[u8], ancestor: &[u8]) -> bool {
    match path.strip_prefix(ancestor) {
        Some([] | [b'/', ..]) => true,
        Some(_) => ancestor == b"/",
        None => false,
    }
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    match path.iter().rposition(|byte| *byte == b'/')? {
        0 if path.len() == 1 => None,
        0 => Some(b"/"),
        slash => path.get(..slash),
    }
}

fn check(bytes: &[u8]) -> Result<(), PathError> {
    if bytes.contains(&0) {
        return Err(PathError::Nul);
    }
    let Some(rest) = bytes.strip_prefix(b"/") else {
        return Err(PathError::NotAbsolute);
    };
    if bytes.len() > MAX_PATH_BYTES {
        return Err(PathError::TooLong);
    }
    let normal = |component: &[u8]| !matches!(component, b"" | b"." | b"..");
    if !rest.is_empty() && !rest.split(|byte| *byte == b'/').all(normal) {
        return Err(PathError::NotNormal);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
