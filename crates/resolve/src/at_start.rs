//! What writable grants held before a run, as far as the search after it has to know. Plain data.

use plan::{ByteString, HostPath};

use crate::commits::{Repository, Watched};
use crate::protected_names::tracked::Tracked;

/// What a sweep has to know from before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtStart {
    /// Paths that were hidden or read-only inside, so that the program cannot have changed them.
    pub covered: Vec<HostPath>,
    /// Links with protected names. Nothing can be mounted over a link.
    pub links: Vec<Link>,
    /// Links inside protected directories that lead out of them. What appears behind one runs by its name.
    pub links_inside: Vec<Link>,
    /// What had a rule of its own that lets it be read and no more.
    pub read_only: Vec<HostPath>,
    /// Directories that were read whole.
    pub directories: Vec<Listed>,
    /// Indexes of repositories that were found.
    pub indexes: Vec<Index>,
    /// Repositories whose files the program can write.
    pub repositories: Vec<Repository>,
    /// Protected files that could be changed, because a commit held them.
    pub watched: Vec<Watched>,
    /// Where `~` leads in what configuration names.
    pub home: Option<HostPath>,
    /// What the user's own rules grant read-write by its very path. A protected one of these may be
    /// changed and replaced, and what is in it; what else lies below the others stays protected.
    pub named: Vec<HostPath>,
}

/// A directory as it was before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Where it is.
    pub path: HostPath,
    /// The directories in it: their names and numbers. What is moved keeps its number, and what is in
    /// it keeps its times.
    pub inside: Vec<(Vec<u8>, u64)>,
}

/// An index of Git as it was before a run; one that holds nothing where a repository had none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Where it is, or would be.
    pub path: HostPath,
    /// What of it matters.
    pub tracked: Tracked,
}

/// A link as it was before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it is.
    pub path: HostPath,
    /// What it holds.
    pub target: ByteString,
}
