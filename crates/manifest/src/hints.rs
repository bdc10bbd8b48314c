//! A hint that names a path, from its text to a root: cut at the first segment with a glob, `~`
//! expanded. Lexical; never asks the host and never matches a glob.

use plan::{HostPath, MAX_PATH_BYTES};

use crate::model::{PathHint, Start};

/// What a text comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// A hint.
    Hint(PathHint),
    /// It says nothing, for this reason.
    Ignored(&'static str),
    /// It cannot be meant well, for this reason.
    Refused(&'static str),
}

/// Reads a hint that names a path.
pub fn read_path(written: &str) -> ReadPath {
    if written.is_empty() {
        return ReadPath::Ignored("is empty");
    }
    if written.chars().any(char::is_control) {
        return ReadPath::Refused("has a control character in it");
    }
    let (start, rest) = if let Some(rest) = written.strip_prefix("host:/") {
        (Start::HostRoot, rest)
    } else if let Some(rest) = written.strip_prefix('/') {
        (Start::Root, rest)
    } else if written == "~" {
        (Start::Home, "")
    } else if let Some(rest) = written.strip_prefix("~/") {
        (Start::Home, rest)
    } else if written.starts_with('~') {
        return ReadPath::Ignored("names the home of somebody else");
    } else {
        return ReadPath::Ignored("is relative");
    };
    let segments = || rest.split('/').filter(|segment| !segment.is_empty() && *segment != ".");
    if segments().any(|segment| segment == "..") {
        return ReadPath::Refused("has a `..` in it");
    }
    let kept: Vec<&str> = segments().take_while(|segment| !segment.contains(GLOB)).collect();
    let below = kept.join("/");
    if below.len() > MAX_PATH_BYTES {
        return ReadPath::Refused("is longer than the kernel takes");
    }
    let directory = written.ends_with('/') || kept.len() < segments().count();
    ReadPath::Hint(PathHint { written: written.to_owned(), start, below, directory })
}

impl PathHint {
    /// The root that it names; none where it is in the home and there is none, or where the two
    /// together are longer than the kernel takes.
    pub fn root(&self, home: Option<&HostPath>) -> Option<HostPath> {
        match self.start {
            Start::Root | Start::HostRoot => HostPath::root().join(&self.below).ok(),
            Start::Home => home?.join(&self.below).ok(),
        }
    }

    /// Whether it means a place that every cage has for itself: `/tmp`, unless it says that the
    /// host's is meant.
    pub fn is_private(&self) -> bool {
        let is_below = |place: &str| {
            let rest = self.below.strip_prefix(place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.start == Start::Root && (is_below("tmp") || is_below("var/tmp"))
    }
}

/// The roots that hints name, each once, in their order.
pub fn roots<'hint>(
    hints: impl IntoIterator<Item = &'hint PathHint>,
    home: Option<&HostPath>,
) -> Vec<HostPath> {
    let mut roots = Vec::new();
    for root in hints.into_iter().filter_map(|hint| hint.root(home)) {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// What makes a segment a pattern.
const GLOB: [char; 4] = ['*', '?', '[', '{'];

#[cfg(test)]
mod tests;
