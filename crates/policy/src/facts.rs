//! What `resolve` found on the host, as plain data: the second input of the compiler.
//! Every fact about a host object names the file descriptor that was opened for it by its
//! [`SourceIndex`]; nothing here is looked up again by name.

use std::collections::BTreeMap;

use plan::{GuestPath, HostIds, HostPath, NotByKernel, Source, SourceIndex};

use plan::ByteString;

/// Everything the compiler needs to know about the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// Who asked for the cage.
    pub caller: Caller,
    /// All opened host objects, in the order of their file descriptors.
    pub sources: Vec<Source>,
    /// One for each rule of [`crate::Policy::fs`], in the same order.
    pub rules: Vec<ResolvedRule>,
    /// What the base layer consists of on this host.
    pub base: Vec<BaseEntry>,
    /// Programs and libraries for a `commands` list, each shown at its own path; empty for the
    /// other two choices.
    pub commands: Vec<CommandFile>,
    /// Files with stores that the policy mounts, by their paths as they are written there: the directory that holds
    /// one, and its name in it.
    pub stores: BTreeMap<HostPath, (SourceIndex, ByteString)>,
    /// The device of FUSE, where the policy mounts what a process of ours serves.
    pub fuse: Option<SourceIndex>,
    /// Our own program, where the policy mounts what it serves inside of the cage.
    pub inside: Option<SourceIndex>,
    /// Well-known secrets that exist inside a grant and were not named by a rule.
    pub secrets: Vec<FoundPath>,
    /// Files that run code on the host and exist inside a read-write grant.
    pub protected: Vec<FoundPath>,
    /// Directories between a grant's root and a hidden, secret or protected path inside it; the
    /// compiler pins those that a read-write grant covers. Unique, parents first.
    pub between: Vec<FoundPath>,
    /// Values of the variables that the policy inherits and the caller has.
    pub environment: Vec<(String, ByteString)>,
    /// Directories of ours that outlive the run. Their descriptors come after those of `sources`.
    pub kept: Kept,
    /// The project's root: where a run starts when its working directory is not visible.
    pub project: HostPath,
    /// The directory in which the program should start, if the cage shows it.
    pub working_directory: HostPath,
    /// The caller's file mode creation mask.
    pub umask: u32,
}

/// Directories of the user's own that are there after the cage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The one behind `/scratch`, where the policy's state is `scratch`.
    pub scratch: Option<Source>,
    /// The cage's home, where the policy's home is `kept`.
    pub home: Option<Source>,
    /// Areas with layers, each with the directory of [`HostFacts::sources`] that it lies above.
    pub layers: Vec<(SourceIndex, Source)>,
    /// Those of these directories over which the kernel cannot lay one.
    pub served: BTreeMap<SourceIndex, NotByKernel>,
}

impl Kept {
    /// All of them, in the order of their descriptors.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.scratch.iter().chain(&self.home).chain(self.layers.iter().map(|(_, area)| area))
    }
}

impl HostFacts {
    /// The index of the directory behind `/scratch`.
    pub fn scratch(&self) -> Option<SourceIndex> {
        self.kept.scratch.as_ref().map(|_| self.kept_at(0))
    }

    /// The index of the home that is kept.
    pub fn kept_home(&self) -> Option<SourceIndex> {
        self.kept.home.as_ref().map(|_| self.kept_at(usize::from(self.kept.scratch.is_some())))
    }

    /// The index of the area whose layer lies above a directory.
    pub fn layer_above(&self, lower: SourceIndex) -> Option<SourceIndex> {
        let position = self.kept.layers.iter().position(|(below, _)| *below == lower)?;
        let before = [&self.kept.scratch, &self.kept.home].into_iter().flatten().count();
        Some(self.kept_at(before + position))
    }

    fn kept_at(&self, position: usize) -> SourceIndex {
        let index = self.sources.len().saturating_add(position);
        SourceIndex(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// Who asked for the cage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The ids of the calling process.
    pub ids: HostIds,
    /// Whether the launcher may map any id and make idmapped mounts.
    pub privileged: bool,
    /// The caller's home directory, which stays the cage's `HOME` (as a memory file system); none
    /// where it has none that could be one (`/`, a system tree, not absolute).
    pub home: Option<HostPath>,
}

/// A rule's path after resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedRule {
    /// The rule's path exists.
    Found {
        /// The object; its `path` has every symlink resolved.
        source: SourceIndex,
        /// Whose files a privileged launcher maps to the cage: where `caller_owned`, the owner and
        /// group of the project's root or of the home that it lies below, so that a file of
        /// somebody else inside stays theirs; else its own.
        owner: (u32, u32),
        /// Below the project root or the caller's home, and not in a system tree.
        caller_owned: bool,
    },
    /// A `hide` rule on a path that does not exist: nothing to cover. For any other rule
    /// resolution has already failed.
    NothingToHide,
    /// A read-write rule of the user's own on a protected path that does not exist, in a writable grant: the cage
    /// may make it, and it is not set aside.
    AllowedAhead {
        /// Where it will be.
        place: HostPath,
    },
}

/// A host object found below a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPath {
    /// The object.
    pub source: SourceIndex,
    /// As in [`ResolvedRule::Found`].
    pub owner: (u32, u32),
    /// As in [`ResolvedRule::Found`].
    pub caller_owned: bool,
    /// Which entry of the secrets or protected table it is; empty for `between`.
    pub table_entry: &'static str,
}

/// One entry of the base layer that comes from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseEntry {
    /// A directory or file shown read-only.
    Bind {
        /// Where.
        at: GuestPath,
        /// What.
        source: SourceIndex,
    },
    /// A link, such as `/bin` to `usr/bin`.
    Symlink {
        /// Where.
        at: GuestPath,
        /// Its target.
        target: ByteString,
    },
    /// A device node.
    Device {
        /// Where.
        at: GuestPath,
        /// What.
        source: SourceIndex,
    },
}

/// A file that a `commands` list needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandFile {
    /// A program or library, with symlinks resolved.
    File {
        /// Where it is shown: where it is on the host.
        at: GuestPath,
        /// What.
        source: SourceIndex,
    },
    /// A link on the way to one.
    Symlink {
        /// Where.
        at: GuestPath,
        /// Its target.
        target: ByteString,
    },
}
