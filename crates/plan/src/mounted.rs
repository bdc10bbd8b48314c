//! Where the files of a mount come from that is no path of the host shown at its own place: how it is written, and what
//! the Plan says of one that a process of ours serves. Names stores; has no credential and never asks one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Access, ByteString, GuestPath, HostPath, ServedLayers, SourceIndex};

mod inside;

pub use inside::{Calls, INSIDE_PROGRAM, Inside};

/// Where the files of a mount come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MountedFrom {
    /// `memory:`, empty at first and gone with the cage.
    Memory,
    /// `dir:PATH`, a directory of the host.
    Directory(HostPath),
    /// `store:PATH`, a file of the host that holds a file system.
    Store(HostPath),
    /// Somewhere else.
    Remote(RemoteStore),
    /// Calls, which a process inside of the cage answers.
    Inside(Inside),
}

/// A store that is asked over the network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RemoteStore {
    /// `s3://BUCKET/PREFIX`, in a store that speaks S3.
    S3 {
        /// The bucket.
        bucket: String,
        /// What the names of all objects begin with; empty for all of the bucket.
        prefix: String,
    },
    /// `gs://BUCKET/PREFIX`, in Google Cloud Storage, by the interface in which it speaks S3.
    Gcs {
        /// The bucket.
        bucket: String,
        /// As above.
        prefix: String,
    },
    /// `az://CONTAINER/PREFIX`, in the blobs of an account of Azure's.
    Azure {
        /// The container.
        container: String,
        /// As above.
        prefix: String,
    },
    /// `gdrive:FOLDER`, on Google Drive.
    Drive {
        /// The id of the folder; `root` is all of the drive.
        folder: String,
    },
}

/// The same as it is written, its path not made absolute yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenFrom<'text> {
    /// See [`MountedFrom::Memory`].
    Memory,
    /// See [`MountedFrom::Directory`].
    Directory(&'text str),
    /// See [`MountedFrom::Store`].
    Store(&'text str),
    /// See [`MountedFrom::Remote`].
    Remote(RemoteStore),
    /// See [`MountedFrom::Inside`].
    Inside(Inside),
}

/// Why a text names no place that files come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MountedFromError {
    /// It begins like none.
    #[error("expected {EXPECTED}")]
    Unknown,
    /// A name that no bucket has.
    #[error("the name of a bucket or container is 3 to 63 small letters, digits, `-` and `.`")]
    Bucket,
    /// A beginning that no name of a file has.
    #[error("what follows it is names with `/` between them, of at most 512 bytes")]
    Prefix,
    /// No id.
    #[error(
        "a folder of Google Drive is named by its id, as its address in a browser ends; `root` is the drive"
    )]
    Folder,
    /// No names.
    #[error("names with commas between them follow it, at most 32, of small letters, `-` and `_`")]
    Calls,
}

impl<'text> WrittenFrom<'text> {
    /// Reads one.
    pub fn parse(text: &'text str) -> Result<Self, MountedFromError> {
        if let Some(rest) = text.strip_prefix("s3://") {
            return bucket(rest)
                .map(|(bucket, prefix)| Self::Remote(RemoteStore::S3 { bucket, prefix }));
        }
        if let Some(rest) = text.strip_prefix("gs://") {
            return bucket(rest)
                .map(|(bucket, prefix)| Self::Remote(RemoteStore::Gcs { bucket, prefix }));
        }
        if let Some(rest) = text.strip_prefix("az://") {
            return bucket(rest)
                .map(|(container, prefix)| Self::Remote(RemoteStore::Azure { container, prefix }));
        }
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("dir", path)) => Ok(Self::Directory(path)),
            Some(("store", path)) => Ok(Self::Store(path)),
            Some(("tools", names)) => Inside::parse(Calls::Tools, names).map(Self::Inside),
            Some(("services", names)) => Inside::parse(Calls::Services, names).map(Self::Inside),
            Some(("gdrive", "")) => Self::parse("gdrive:root"),
            Some(("gdrive", folder)) => {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                if folder.len() > 128 || !folder.bytes().all(plain) {
                    return Err(MountedFromError::Folder);
                }
                Ok(Self::Remote(RemoteStore::Drive { folder: folder.to_owned() }))
            }
            _ => Err(MountedFromError::Unknown),
        }
    }
}

/// A bucket and the beginning of names in it.
fn bucket(text: &str) -> Result<(String, String), MountedFromError> {
    let (bucket, prefix) = text.split_once('/').unwrap_or((text, ""));
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let ends = bucket.starts_with(['-', '.']) || bucket.ends_with(['-', '.']);
    if !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(plain) || ends {
        return Err(MountedFromError::Bucket);
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    let names = prefix.is_empty() || prefix.split('/').all(is_name);
    if !names || prefix.len() > 512 || prefix.chars().any(char::is_control) {
        return Err(MountedFromError::Prefix);
    }
    Ok((bucket.to_owned(), prefix.to_owned()))
}

impl MountedFrom {
    /// Whether these files are all that others are, or more.
    pub fn holds(&self, others: &Self) -> bool {
        match (self, others) {
            (Self::Remote(own), Self::Remote(others)) => own.holds(others),
            (Self::Inside(own), Self::Inside(others)) => own.holds(others),
            _ => self == others,
        }
    }
}

impl RemoteStore {
    fn holds(&self, others: &Self) -> bool {
        let is_below = |prefix: &String, other: &String| match other.strip_prefix(prefix.as_str()) {
            Some(rest) => prefix.is_empty() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        };
        match (self, others) {
            (Self::S3 { bucket, prefix }, Self::S3 { bucket: other, prefix: below })
            | (Self::Gcs { bucket, prefix }, Self::Gcs { bucket: other, prefix: below })
            | (
                Self::Azure { container: bucket, prefix },
                Self::Azure { container: other, prefix: below },
            ) => bucket == other && is_below(prefix, below),
            _ => self == others,
        }
    }
}

impl fmt::Display for MountedFrom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => formatter.write_str("memory:"),
            Self::Directory(path) => write!(formatter, "dir:{path}"),
            Self::Store(path) => write!(formatter, "store:{path}"),
            Self::Remote(store) => store.fmt(formatter),
            Self::Inside(inside) => inside.fmt(formatter),
        }
    }
}

impl fmt::Display for RemoteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3 { bucket, prefix } => write!(formatter, "s3://{bucket}/{prefix}"),
            Self::Gcs { bucket, prefix } => write!(formatter, "gs://{bucket}/{prefix}"),
            Self::Azure { container, prefix } => write!(formatter, "az://{container}/{prefix}"),
            Self::Drive { folder } => write!(formatter, "gdrive:{folder}"),
        }
    }
}

/// Files that a process of ours serves to the cage through FUSE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// Where.
    pub at: GuestPath,
    /// What is served.
    pub from: ServedFrom,
    /// Whether it can be written to.
    pub access: Access,
    /// The host's `/dev/fuse`.
    pub device: SourceIndex,
}

/// What a process of ours serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ServedFrom {
    /// A file system in a file.
    Store {
        /// The directory that the file lies in, with what its database has beside it.
        directory: SourceIndex,
        /// Its name there.
        name: ByteString,
    },
    /// A store that is asked over the network.
    Remote(RemoteStore),
    /// A directory of the host with a layer above it, where the kernel cannot show that.
    Layers(ServedLayers),
    /// Calls, by a process inside of the cage.
    Inside(Inside),
}

impl Served {
    /// What is served inside of the cage, if it is.
    pub fn inside(&self) -> Option<&Inside> {
        match &self.from {
            ServedFrom::Inside(inside) => Some(inside),
            ServedFrom::Store { .. } | ServedFrom::Remote(_) | ServedFrom::Layers(_) => None,
        }
    }
}

impl ServedFrom {
    /// Why the kernel cannot show it by itself.
    pub fn reason(&self) -> String {
        match self {
            Self::Store { .. } => "the kernel cannot read a store".to_owned(),
            Self::Remote(_) => "the files are not on this machine".to_owned(),
            Self::Layers(layers) => layers.why.reason(),
            Self::Inside(_) => "the files are calls, and are answered inside".to_owned(),
        }
    }
}

/// Most served mounts of one cage: each is a process, and their descriptors come in one packet.
pub const MOST_SERVED: usize = 16;

const EXPECTED: &str = "`memory:`, `dir:PATH`, `store:PATH`, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`, `gdrive:FOLDER`, `tools:NAMES` or `services:NAMES`";

#[cfg(test)]
mod tests;
