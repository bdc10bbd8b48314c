//! What a cage's file tree is made of, as an ordered list of operations on an empty root.
//! Describes; never mounts.

use serde::{Deserialize, Serialize};

use crate::{ByteString, GuestPath, HostPath, Served};

/// A position in [`crate::Plan::sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceIndex(pub u32);

impl SourceIndex {
    /// For lists in the same order.
    pub fn position(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

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

impl Access {
    /// As summaries and records have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "ro",
            Self::ReadWrite => "rw",
        }
    }
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
    /// The directory that a session keeps, at [`SCRATCH`]. It differs from start to start.
    Scratch,
    /// The home that a project keeps. It lies in the user's state directory.
    Home,
}

/// Why a directory is shown with a layer above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayPurpose {
    /// What is changed is reviewed after the run, and may be brought to the host.
    Workspace,
    /// What is changed stays above, for the next run in the same project.
    Cache,
}

impl OverlayPurpose {
    /// As the policy, summaries and records have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Workspace => "cow",
            Self::Cache => "cache",
        }
    }
}

/// Why a memory file system is there, which also says whether it stays writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TmpfsPurpose {
    /// The minimal `/dev`: read-only when it is finished.
    Devices,
    /// A place for files of the program's own.
    Private,
    /// The same, at [`SCRATCH`].
    Scratch,
    /// A hidden directory with a grant inside: read-only, nothing but mount points.
    Hidden,
}

/// Where a cage has files that a session may keep.
pub const SCRATCH: &str = "/scratch";

/// Where a program finds what it was refused, one line of JSON each.
pub const DENIALS: &str = "/run/stockade/denials.jsonl";

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

/// A host object at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// Which object.
    pub source: SourceIndex,
    /// Where.
    pub at: GuestPath,
    /// Whether it can be written to.
    pub access: Access,
    /// Whether programs on it can be started.
    pub execution: Execution,
    /// Whose files it shows.
    pub mapping: Mapping,
    /// Why it is there.
    pub purpose: BindPurpose,
}

/// A host directory with a layer of ours above it (overlayfs): what the program changes goes there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The directory below, which is only read.
    pub lower: SourceIndex,
    /// The directory that holds the layer [`UPPER_LAYER`] and [`WORK_DIRECTORY`]; never visible inside.
    pub area: SourceIndex,
    /// Where.
    pub at: GuestPath,
    /// Whose files both show.
    pub mapping: Mapping,
    /// Why it is there.
    pub purpose: OverlayPurpose,
}

/// The layer that is written to, in the area of an overlay.
pub const UPPER_LAYER: &str = "upper";

/// What overlayfs has for itself, beside it.
pub const WORK_DIRECTORY: &str = "work";

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
    /// A file with these contents and, behind them, the line that [`Plan::hosts`](crate::Plan::hosts) adds
    /// for the host name of this start.
    Hosts {
        /// Where.
        at: GuestPath,
        /// Permission bits.
        mode: u32,
        /// What it holds in every start.
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
    Bind(Bind),
    /// A host directory with a layer above it, without what is mounted below it. Never set-user-id, never
    /// devices.
    Overlay(Overlay),
    /// Files that a process of ours serves through FUSE. Never set-user-id, never devices.
    Served(Served),
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
        /// Why it is there.
        purpose: TmpfsPurpose,
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

/// What an operation leaves at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A name in a memory file system; nothing is mounted on it.
    Directory,
    /// As above.
    File,
    /// As above.
    Symlink,
    /// The root of a memory file system, in which names can be made.
    Memory,
    /// The root of something that has names of its own: a host directory, `/proc`.
    Given,
    /// The root of something without names: a file, an empty directory.
    Closed,
}

/// Every question has an answer for every kind: a new one does not compile before it has been thought
/// of here. `tidy` refuses a wildcard for it elsewhere.
impl MountOp {
    /// The path that the operation makes or covers.
    pub fn at(&self) -> &GuestPath {
        match self {
            Self::Bind(Bind { at, .. })
            | Self::Overlay(Overlay { at, .. })
            | Self::Served(Served { at, .. })
            | Self::Directory { at, .. }
            | Self::File { at, .. }
            | Self::Hosts { at, .. }
            | Self::Symlink { at, .. }
            | Self::Tmpfs { at, .. }
            | Self::Mask { at, .. }
            | Self::Proc { at }
            | Self::SealReadOnly { at }
            | Self::MaskIfPresent { at }
            | Self::Devpts { at } => at,
        }
    }

    /// Whether what is mounted can be written to when the tree is finished; none for a name, which adds
    /// no entry to the mount table and is as its file system is.
    pub fn access(&self) -> Option<Access> {
        match self {
            Self::Directory { .. } | Self::File { .. } | Self::Hosts { .. } => None,
            Self::Symlink { .. } => None,
            Self::Bind(bind) => Some(bind.access),
            Self::Overlay(_) => Some(Access::ReadWrite),
            Self::Served(served) => Some(served.access),
            Self::Tmpfs { purpose, .. } => Some(match purpose {
                TmpfsPurpose::Private | TmpfsPurpose::Scratch => Access::ReadWrite,
                TmpfsPurpose::Devices | TmpfsPurpose::Hidden => Access::ReadOnly,
            }),
            Self::Proc { .. } | Self::Devpts { .. } => Some(Access::ReadWrite),
            Self::Mask { .. } | Self::SealReadOnly { .. } | Self::MaskIfPresent { .. } => {
                Some(Access::ReadOnly)
            }
        }
    }

    /// Whether the operation adds an entry to the mount table.
    pub fn is_mount(&self) -> bool {
        self.access().is_some()
    }

    /// Whether a cage does without the mount where its kernel has nothing at the path.
    pub fn is_optional(&self) -> bool {
        match self {
            Self::SealReadOnly { .. } | Self::MaskIfPresent { .. } => true,
            Self::Directory { .. } | Self::File { .. } | Self::Hosts { .. } => false,
            Self::Symlink { .. } => false,
            Self::Bind(_) | Self::Overlay(_) | Self::Served(_) => false,
            Self::Tmpfs { .. } | Self::Mask { .. } => false,
            Self::Proc { .. } | Self::Devpts { .. } => false,
        }
    }

    /// What the operation needs at its path, where a name needs nothing, and what it leaves there. Asks what
    /// kind of object a source is.
    pub fn effect(
        &self,
        kind: impl FnOnce(SourceIndex) -> Option<FileKind>,
    ) -> (Option<Entry>, Entry) {
        match self {
            Self::Directory { .. } => (None, Entry::Directory),
            Self::File { .. } | Self::Hosts { .. } => (None, Entry::File),
            Self::Symlink { .. } => (None, Entry::Symlink),
            Self::Bind(bind) => match kind(bind.source) {
                Some(FileKind::Directory) => (Some(Entry::Directory), Entry::Given),
                Some(FileKind::File) | None => (Some(Entry::File), Entry::Closed),
            },
            Self::Overlay(_) | Self::Served(_) => (Some(Entry::Directory), Entry::Given),
            Self::Tmpfs { .. } => (Some(Entry::Directory), Entry::Memory),
            Self::Mask { kind: FileKind::Directory, .. } => (Some(Entry::Directory), Entry::Closed),
            Self::Mask { kind: FileKind::File, .. } => (Some(Entry::File), Entry::Closed),
            Self::Proc { .. } => (Some(Entry::Directory), Entry::Given),
            Self::Devpts { .. } => (Some(Entry::Directory), Entry::Closed),
            Self::SealReadOnly { .. } => (Some(Entry::Given), Entry::Given),
            Self::MaskIfPresent { .. } => (Some(Entry::Given), Entry::Closed),
        }
    }

    /// Whether programs can be started, where the Plan chooses.
    pub fn execution(&self) -> Option<Execution> {
        match self {
            Self::Bind(Bind { execution, .. }) | Self::Tmpfs { execution, .. } => Some(*execution),
            Self::Overlay(_) | Self::Served(_) => Some(Execution::Allowed),
            Self::Directory { .. } | Self::File { .. } | Self::Hosts { .. } => None,
            Self::Symlink { .. } => None,
            Self::Mask { .. } | Self::SealReadOnly { .. } | Self::MaskIfPresent { .. } => None,
            Self::Proc { .. } | Self::Devpts { .. } => None,
        }
    }

    /// Whether the operation puts a cover over an object of the host that a grant shows: nothing in its
    /// place, or the same without writing.
    pub fn is_cover(&self) -> bool {
        match self {
            Self::Bind(bind) => bind.purpose == BindPurpose::Protected,
            Self::Mask { .. } => true,
            // What is granted inside a hidden directory may be written to, and is looked at after the run.
            Self::Tmpfs { .. } | Self::Overlay(_) | Self::Served(_) => false,
            Self::Directory { .. } | Self::File { .. } | Self::Hosts { .. } => false,
            Self::Symlink { .. } => false,
            Self::SealReadOnly { .. } | Self::MaskIfPresent { .. } => false,
            Self::Proc { .. } | Self::Devpts { .. } => false,
        }
    }

    /// What the operation shows of the host.
    pub fn bind(&self) -> Option<&Bind> {
        if let Self::Bind(bind) = self { Some(bind) } else { None }
    }

    /// The directory that the operation shows with a layer above it.
    pub fn overlay(&self) -> Option<&Overlay> {
        if let Self::Overlay(overlay) = self { Some(overlay) } else { None }
    }

    /// What a process of ours serves there.
    pub fn served(&self) -> Option<&Served> {
        if let Self::Served(served) = self { Some(served) } else { None }
    }

    /// What a process of ours outside of the cage serves there.
    pub fn served_outside(&self) -> Option<&Served> {
        self.served().filter(|served| served.inside().is_none())
    }

    /// What a rule of the policy shows of the host, in the words of the policy.
    pub fn granted(&self) -> Option<(&'static str, &GuestPath)> {
        let overlaid = self.view().map(|view| (view.purpose.word(), view.at));
        self.grant().map(|bind| (bind.access.word(), &bind.at)).or(overlaid)
    }

    /// What a rule of the policy shows of the host as it is.
    pub fn grant(&self) -> Option<&Bind> {
        self.bind().filter(|bind| bind.purpose == BindPurpose::Grant)
    }

    /// The bounds of memory, if there is any.
    pub fn memory_mut(&mut self) -> Option<&mut TmpfsSize> {
        if let Self::Tmpfs { size, .. } = self { Some(size) } else { None }
    }

    /// Why there is memory, if there is.
    pub fn tmpfs_purpose(&self) -> Option<TmpfsPurpose> {
        if let Self::Tmpfs { purpose, .. } = self { Some(*purpose) } else { None }
    }
}
