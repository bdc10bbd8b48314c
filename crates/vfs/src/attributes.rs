//! What is known of a file beside its contents. Plain data.

use rustix::time::ClockId;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// The name of a socket.
    Socket,
    /// A character device, which no guest can make.
    CharacterDevice,
    /// A block device, which no guest can make.
    BlockDevice,
}

/// A moment: seconds since 1970, before it too, and nanoseconds after that second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Whole seconds; negative before 1970.
    pub seconds: i64,
    /// Below 1,000,000,000.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// This moment.
    pub fn now() -> Self {
        let now = rustix::time::clock_gettime(ClockId::Realtime);
        Self { seconds: now.tv_sec, nanoseconds: u32::try_from(now.tv_nsec).unwrap_or_default() }
    }
}

/// What `stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The number that programs see: that of the inode in its engine.
    pub number: u64,
    /// What it is.
    pub kind: Kind,
    /// Permissions, with setuid, setgid and sticky: the low twelve bits of a mode.
    pub mode: u32,
    /// How many names it has; of a directory 2, and 1 for each directory in it.
    pub links: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The device that a device file stands for.
    pub device: u64,
    /// Its length in bytes.
    pub size: u64,
    /// What it takes, in units of 512 bytes.
    pub blocks: u64,
    /// When it was read. Engines of ours do not note that.
    pub accessed: Timestamp,
    /// When its contents changed.
    pub modified: Timestamp,
    /// When anything of it changed.
    pub changed: Timestamp,
}

/// What is to be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The low twelve bits of its mode.
    pub mode: Option<u32>,
    /// Its owner.
    pub uid: Option<u32>,
    /// Its group.
    pub gid: Option<u32>,
    /// Its length.
    pub size: Option<u64>,
    /// When it was read.
    pub accessed: Option<NewTime>,
    /// When its contents changed.
    pub modified: Option<NewTime>,
}

/// A time to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewTime {
    /// When the operation happens.
    Now,
    /// This one.
    At(Timestamp),
}

impl NewTime {
    /// The moment that is meant.
    pub const fn or_now(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::At(time) => time,
        }
    }
}

/// The size of a file system and what is free of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The bytes of one block.
    pub block_bytes: u64,
    /// How many blocks there are.
    pub blocks: u64,
    /// How many are free.
    pub free_blocks: u64,
    /// How many inodes there are.
    pub inodes: u64,
    /// How many are free.
    pub free_inodes: u64,
    /// The longest name.
    pub longest_name: u64,
}

/// The bit of a mode by which a program acts as the file's owner.
pub const SET_UID: u32 = 0o4000;
/// The bit by which it acts as its group, and what is made in a directory belongs to the directory's group.
pub const SET_GID: u32 = 0o2000;
/// The bit by which names in a directory belong to their files' owners.
pub const STICKY: u32 = 0o1000;
/// Everything that [`Attributes::mode`] can have.
pub const ALL_MODE_BITS: u32 = 0o7777;
