//! What the commits of a repository hold, read from its objects alone: a caged program can write all of a
//! repository's files, but what an object is called says what is in it, and each is held to its name here. So
//! commits that were noted before a run can be asked after it. Reads within bounds; never starts Git, and never
//! asks an index.

mod history;
mod objects;
mod packs;
mod tips;

pub use history::{Answer, History, Made, Version};
pub use objects::{Id, hash_blob};
pub use tips::{Tips, head, tips};

use objects::Objects;
use plan::HostPath;

/// A repository of a writable grant, as it was before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The directory with its objects.
    pub common: HostPath,
    /// Its work trees.
    pub work_trees: Vec<WorkTree>,
    /// What its branches, tags, stashes and the logs of them lead to.
    pub tips: Tips,
}

/// Where commits of a repository are checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTree {
    /// Its top.
    pub path: HostPath,
    /// The commit that is checked out.
    pub head: Option<Id>,
}

/// What one commit holds.
#[derive(Debug)]
pub struct CommitTree {
    objects: Objects,
    tree: Id,
}

/// What a commit holds by a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// A file or a link.
    File(Version),
    /// A directory.
    Directory,
}

impl CommitTree {
    /// Opens a commit of the repository with this directory of objects.
    pub fn of(common: &HostPath, commit: Id) -> Option<Self> {
        let mut objects = Objects::of(common)?;
        let tree = objects.commit(commit)?.tree;
        Some(Self { objects, tree })
    }

    /// What it holds by a path, if anything; what cannot be read is nothing.
    pub fn held(&mut self, path: &[u8]) -> Option<Held> {
        let entry = self.objects.entry_at(self.tree, path).ok().flatten()?;
        if entry.is_tree() {
            return Some(Held::Directory);
        }
        (entry.is_file() || entry.is_link()).then(|| Held::File(Version::of(entry)))
    }
}

/// A protected file that a commit held before a run, which is why it can be changed during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Where it is.
    pub path: HostPath,
    /// Which entry of the table protects it.
    pub known_as: &'static str,
    /// What it held.
    pub contents: Vec<u8>,
    /// Its permission bits.
    pub mode: u32,
    /// Whose it is.
    pub owner: (u32, u32),
    /// Whether it is what the commit holds.
    pub is_committed: bool,
}
