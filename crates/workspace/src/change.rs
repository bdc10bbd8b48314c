//! What a review finds: one entry for each path that a cage left different from the host. Data only.

use std::fmt;

use policy::protected::Entry;

use crate::object::Object;
use crate::path::TreePath;

/// All that differs, sorted by path.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// What can be applied.
    pub list: Vec<Change>,
    /// What never will be, whatever is selected.
    pub refused: Vec<Refused>,
}

/// One difference between the host and what the cage saw.
#[derive(Clone, Debug)]
pub struct Change {
    /// Where.
    pub path: TreePath,
    /// What happened to it.
    pub what: What,
    /// The host's object; of a rename the one that had the former name.
    pub before: Option<Object>,
    /// The cage's object.
    pub after: Option<Object>,
    /// Why it is not applied unless the caller decides so.
    pub conflict: Option<Conflict>,
    /// The name runs code on the host without anybody asking for it.
    pub protected: Option<&'static Entry>,
    /// It is a link that leads, or may lead, out of the workspace.
    pub leads_out: bool,
}

/// What happened to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It is new.
    Added,
    /// Its content differs, or the target of a link does.
    Modified,
    /// It is gone.
    Deleted,
    /// It is another kind of object.
    TypeChanged,
    /// Its permissions or its user's attributes differ, and its content does not.
    AttributesChanged,
    /// It is new, and its content is that of a file which is gone, or more than half of it.
    Renamed {
        /// The former name.
        from: TreePath,
    },
}

/// How the host differs from what the cage began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// It was changed on the host since.
    Changed,
    /// It was made on the host since, or replaced.
    Made,
    /// It was removed on the host since.
    Gone,
    /// Another file system is mounted there.
    Mounted,
    /// The host's directory cannot be read, so nobody knows what would be lost.
    Unreadable,
}

/// Something that the cage wrote and that never reaches the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where.
    pub path: TreePath,
    /// Why.
    pub reason: Refusal,
}

/// Why something is never applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A device node.
    Device,
    /// A socket.
    Socket,
    /// A FIFO.
    Fifo,
    /// The layer says that the content is elsewhere.
    Redirect,
    /// The layer has metadata without content.
    Metacopy,
    /// The program took the permission to read it away.
    Unreadable,
    /// Below it are paths that are longer than the kernel takes.
    TooDeep,
    /// Its attributes take too much.
    Attributes,
    /// On the host another file system is mounted there.
    Mounted,
}

impl Changes {
    /// Whether there is nothing to apply and nothing was refused.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.refused.is_empty()
    }

    /// Those that one of the paths names; all of them where there is no path.
    pub fn named_by(&self, paths: &[TreePath]) -> Self {
        let list = self.list.iter();
        let refused = self.refused.iter();
        let is_all = paths.is_empty();
        Self {
            list: list
                .filter(|change| is_all || paths.iter().any(|path| change.is_named_by(path)))
                .cloned()
                .collect(),
            refused: refused
                .filter(|refused| is_all || paths.iter().any(|path| refused.path.is_within(path)))
                .cloned()
                .collect(),
        }
    }
}

impl Change {
    /// Whether a path names this change: it is its path, a former name, or a directory above one of both.
    pub fn is_named_by(&self, path: &TreePath) -> bool {
        self.path.is_within(path) || self.former().is_some_and(|from| from.is_within(path))
    }

    /// The former name of what was renamed.
    pub fn former(&self) -> Option<&TreePath> {
        match &self.what {
            What::Renamed { from } => Some(from),
            _ => None,
        }
    }

    /// Whether a person has to look at it before it reaches the host.
    pub fn needs_attention(&self) -> bool {
        self.conflict.is_some() || self.protected.is_some() || self.leads_out
    }
}

impl What {
    /// Its word, for a program to compare.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::TypeChanged => "type_changed",
            Self::AttributesChanged => "attributes_changed",
            Self::Renamed { .. } => "renamed",
        }
    }
}

impl Conflict {
    /// Its word, for a program to compare.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Made => "made",
            Self::Gone => "gone",
            Self::Mounted => "mounted",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Changed => "changed on the host since the run began",
            Self::Made => "made on the host since the run began",
            Self::Gone => "removed on the host since the run began",
            Self::Mounted => "another file system is mounted there on the host",
            Self::Unreadable => "the host's directory cannot be read",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Device => "it is a device",
            Self::Socket => "it is a socket",
            Self::Fifo => "it is a FIFO",
            Self::Redirect => "the layer leads elsewhere for its content",
            Self::Metacopy => "the layer does not hold its content",
            Self::Unreadable => "the program took away the permission to read it",
            Self::TooDeep => "paths below it are too long",
            Self::Attributes => "its extended attributes are too large",
            Self::Mounted => "another file system is mounted there on the host",
        })
    }
}
