//! What is known of one file, as a person and a program read it. Plain data.

use plan::ByteString;
use serde::Serialize;
use vfs::{Attributes, Kind};

/// A file with what is known of it.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its name, or its path below where a listing began.
    pub name: ByteString,
    /// What it is, in a word.
    pub kind: &'static str,
    /// Its length in bytes.
    pub size: u64,
    /// Permissions, with setuid, setgid and sticky.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// When its contents changed, in whole seconds since 1970.
    pub modified: i64,
    /// Where it leads, of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ByteString>,
}

impl Entry {
    pub(crate) fn new(name: Vec<u8>, found: &Attributes, target: Option<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            kind: word(found.kind),
            size: found.size,
            mode: found.mode,
            uid: found.uid,
            gid: found.gid,
            modified: found.modified.seconds,
            target: target.map(Into::into),
        }
    }

    /// Kind and permissions as `ls -l` has them.
    pub fn permissions(&self) -> String {
        let kind = match self.kind {
            "directory" => 'd',
            "link" => 'l',
            "pipe" => 'p',
            "socket" => 's',
            "device" => 'c',
            _ => '-',
        };
        let special =
            [(vfs::SET_UID, 2, 's', 'S'), (vfs::SET_GID, 5, 's', 'S'), (vfs::STICKY, 8, 't', 'T')];
        let mut letters: Vec<char> = (0..9)
            .map(|at| match (self.mode >> (8 - at) & 1, at % 3) {
                (0, _) => '-',
                (_, 0) => 'r',
                (_, 1) => 'w',
                _ => 'x',
            })
            .collect();
        for (bit, at, with, without) in special {
            if self.mode & bit != 0
                && let Some(letter) = letters.get_mut(at)
            {
                *letter = if *letter == 'x' { with } else { without };
            }
        }
        std::iter::once(kind).chain(letters).collect()
    }
}

/// What a file is, in a word that does not change.
pub(crate) const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Link => "link",
        Kind::Fifo => "pipe",
        Kind::Socket => "socket",
        Kind::CharacterDevice | Kind::BlockDevice => "device",
    }
}
