//! What a cage's file tree is made of, as an ordered list of operations on an empty root.
//! Describes; never mounts.

use serde::{Deserialize, Serialize};

use crate::{ByteString, GuestPath, HostPath};

/// A position in [`crate::Plan::sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceIndex(pub u32);

/// A host object that was opened when the policy was resolved.
///
/// The launcher holds its file descriptor; the path is where it was found, free of symlinks, and
/// device and inode are what makes sure that a second look finds the same object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Where the object was found, with every symlink resolved.
    pub path: HostPath,
    /// What it is.
    pub kind: FileKind,
    /// Device number of the file system that holds it.
    pub device: u64,
    /// Inode number on that device.
    pub inode: u64,
}

/// What a mount's root is; a file cannot be mounted on a directory or the reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A regular file, or a device node of the fixed list in the base layer.
    File,
}

/// Whether a mount can be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nothing below can be changed.
    ReadOnly,
    /// Files below can be made and changed.
    ReadWrite,
}

/// Whether programs on a mount can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// Programs below can be started.
    Allowed,
    /// `noexec`.
    Refused,
}

/// Whose files a mount shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mapping {
    /// Owners as they are on the host.
    Plain,
    /// Files of this host owner and group are the cage's own, and what the cage makes belongs to
    /// them on disk (an idmapped mount; only a privileged launcher can make one).
    Owner {
        /// The owner on disk.
        uid: u32,
        /// The group on disk.
        gid: u32,
    },
}

/// Why a bind is there: told by `check`, and by `verify` when one is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindPurpose {
    /// Part of the base layer.
    Base,
    /// A rule of the policy grants it.
    Grant,
    /// A program, or a library that one needs, of a `commands` list.
    Command,
    /// A device node of the minimal `/dev`.
    Device,
    /// A file that runs code on the host, kept read-only inside a read-write grant.
    Protected,
    /// A directory above a hidden or protected path, mounted on itself so that it cannot be
    /// renamed aside.
    Pin,
}

/// Bounds of a memory file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TmpfsSize {
    /// Most bytes of data.
    pub bytes: u64,
    /// Most files and directories.
    pub inodes: u64,
}

/// Sizes that nearly every cage has, so that file systems of them can be made ahead.
impl TmpfsSize {
    /// Of a home, of `/tmp` and of `/scratch`.
    pub const PRIVATE: Self = Self { bytes: 1 << 30, inodes: 1 << 20 };
    /// Of `/dev/shm`.
    pub const SHARED_MEMORY: Self = Self { bytes: 256 << 20, inodes: 1 << 16 };
    /// Of `/dev`.
    pub const DEVICES: Self = Self { bytes: 1 << 20, inodes: 64 };
}

/// One step in building the tree. The root itself is a memory file system, made first and
/// read-only at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "op", deny_unknown_fields)]
pub enum MountOp {
    /// A directory in the root or in an earlier memory file system.
    Directory {
        /// Where.
        at: GuestPath,
        /// Permission bits.
        mode: u32,
    },
    /// A file with these contents, in the root or in an earlier memory file system.
    File {
        /// Where.
        at: GuestPath,
        /// Permission bits.
        mode: u32,
        /// What it holds.
        contents: ByteString,
    },
    /// A symbolic link in the root or in an earlier memory file system.
    Symlink {
        /// Where.
        at: GuestPath,
        /// What it points to, taken as it is.
        target: ByteString,
    },
    /// A host object, with everything mounted below it. Never set-user-id, never devices but for
    /// [`BindPurpose::Device`], always private propagation.
    Bind {
        /// Which object.
        source: SourceIndex,
        /// Where.
        at: GuestPath,
        /// Whether it can be written to.
        access: Access,
        /// Whether programs on it can be started.
        execution: Execution,
        /// Whose files it shows.
        mapping: Mapping,
        /// Why it is there.
        purpose: BindPurpose,
    },
    /// A memory file system of the cage's own.
    Tmpfs {
        /// Where.
        at: GuestPath,
        /// Permission bits of its root.
        mode: u32,
        /// Its bounds.
        size: TmpfsSize,
        /// Whether programs on it can be started.
        execution: Execution,
        /// Whether it stays writable when the tree is finished.
        access: Access,
    },
    /// An empty, read-only thing over a path that a wider grant would show.
    Mask {
        /// Where.
        at: GuestPath,
        /// Covered by an empty directory or by an empty file.
        kind: FileKind,
    },
    /// The process file system of the cage's own pid namespace.
    Proc {
        /// Where.
        at: GuestPath,
    },
    /// A path below an earlier mount, mounted on itself read-only.
    SealReadOnly {
        /// Where; skipped where it does not exist (kernels differ in what `/proc` has).
        at: GuestPath,
    },
    /// A path below an earlier mount, covered by an empty thing if it exists.
    MaskIfPresent {
        /// Where; the launcher sees by itself whether it is a directory or a file.
        at: GuestPath,
    },
    /// The pseudo terminals of this cage alone.
    Devpts {
        /// Where.
        at: GuestPath,
    },
}

impl MountOp {
    /// The path that the operation makes or covers.
    pub fn at(&self) -> &GuestPath {
        match self {
            Self::Directory { at, .. }
            | Self::File { at, .. }
            | Self::Symlink { at, .. }
            | Self::Bind { at, .. }
            | Self::Tmpfs { at, .. }
            | Self::Mask { at, .. }
            | Self::Proc { at }
            | Self::SealReadOnly { at }
            | Self::MaskIfPresent { at }
            | Self::Devpts { at } => at,
        }
    }

    /// Whether the operation adds an entry to the mount table, and not just a name to a memory
    /// file system.
    pub fn is_mount(&self) -> bool {
        !matches!(self, Self::Directory { .. } | Self::File { .. } | Self::Symlink { .. })
    }
}
