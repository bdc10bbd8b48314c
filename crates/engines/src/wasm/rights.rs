//! What a descriptor of a module may be used for. Rights are only ever lost: what is opened has at most those that its
//! directory passes on.

use super::refusal::{Outcome, Refusal};

/// A set of rights of WASI preview 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights(pub(super) u64);

impl Rights {
    pub(super) const NONE: Self = Self(0);
    pub(super) const DATASYNC: Self = Self(1);
    pub(super) const READ: Self = Self(1 << 1);
    pub(super) const SEEK: Self = Self(1 << 2);
    pub(super) const SET_FLAGS: Self = Self(1 << 3);
    pub(super) const SYNC: Self = Self(1 << 4);
    pub(super) const TELL: Self = Self(1 << 5);
    pub(super) const WRITE: Self = Self(1 << 6);
    pub(super) const ADVISE: Self = Self(1 << 7);
    pub(super) const ALLOCATE: Self = Self(1 << 8);
    pub(super) const CREATE_DIRECTORY: Self = Self(1 << 9);
    pub(super) const CREATE_FILE: Self = Self(1 << 10);
    pub(super) const LINK_SOURCE: Self = Self(1 << 11);
    pub(super) const LINK_TARGET: Self = Self(1 << 12);
    pub(super) const OPEN: Self = Self(1 << 13);
    pub(super) const READDIR: Self = Self(1 << 14);
    pub(super) const READLINK: Self = Self(1 << 15);
    pub(super) const RENAME_SOURCE: Self = Self(1 << 16);
    pub(super) const RENAME_TARGET: Self = Self(1 << 17);
    pub(super) const PATH_STAT: Self = Self(1 << 18);
    pub(super) const PATH_SET_SIZE: Self = Self(1 << 19);
    pub(super) const PATH_SET_TIMES: Self = Self(1 << 20);
    pub(super) const STAT: Self = Self(1 << 21);
    pub(super) const SET_SIZE: Self = Self(1 << 22);
    pub(super) const SET_TIMES: Self = Self(1 << 23);
    pub(super) const SYMLINK: Self = Self(1 << 24);
    pub(super) const REMOVE_DIRECTORY: Self = Self(1 << 25);
    pub(super) const UNLINK: Self = Self(1 << 26);
    pub(super) const POLL: Self = Self(1 << 27);

    /// All that there are.
    pub(super) const ALL: Self = Self((1 << 30) - 1);

    /// What can be done with a file.
    pub(super) const FILE: Self = Self(
        Self::DATASYNC.0
            | Self::READ.0
            | Self::SEEK.0
            | Self::SET_FLAGS.0
            | Self::SYNC.0
            | Self::TELL.0
            | Self::WRITE.0
            | Self::ADVISE.0
            | Self::ALLOCATE.0
            | Self::STAT.0
            | Self::SET_SIZE.0
            | Self::SET_TIMES.0
            | Self::POLL.0,
    );

    /// What can be done with a directory.
    pub(super) const DIRECTORY: Self = Self(
        Self::SET_FLAGS.0
            | Self::SYNC.0
            | Self::ADVISE.0
            | Self::CREATE_DIRECTORY.0
            | Self::CREATE_FILE.0
            | Self::LINK_SOURCE.0
            | Self::LINK_TARGET.0
            | Self::OPEN.0
            | Self::READDIR.0
            | Self::READLINK.0
            | Self::RENAME_SOURCE.0
            | Self::RENAME_TARGET.0
            | Self::PATH_STAT.0
            | Self::PATH_SET_SIZE.0
            | Self::PATH_SET_TIMES.0
            | Self::STAT.0
            | Self::SET_TIMES.0
            | Self::SYMLINK.0
            | Self::REMOVE_DIRECTORY.0
            | Self::UNLINK.0
            | Self::POLL.0,
    );

    /// What can be done with a stream. Without seeking, which is how C tells a terminal.
    pub(super) const STREAM: Self =
        Self(Self::READ.0 | Self::SET_FLAGS.0 | Self::WRITE.0 | Self::STAT.0 | Self::POLL.0);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether at least one of them is there.
    pub(super) const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// That all of them are there.
    pub(super) const fn require(self, others: Self) -> Outcome<()> {
        if self.has(others) { Ok(()) } else { Err(Refusal::NOTCAPABLE) }
    }
}
