//! The links on the way to a path. A program that can write where a link lies can lead it elsewhere, and
//! the next cage of the same policy would show what this one hides. Reads links, and opens nothing.

use std::collections::VecDeque;

use plan::HostPath;
use policy::access::AccessMap;
use rustix::fs::CWD;
use rustix::io::Errno;

use super::error::PathProblem;

#[cfg(test)]
mod tests;

/// A path, step by step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Traversal {
    /// Where it leads, or the last directory on it that exists.
    pub(super) place: HostPath,
    /// Whether it leads to something.
    pub(super) is_whole: bool,
    /// Where the links on it really lie.
    pub(super) links: Vec<HostPath>,
}

impl Traversal {
    /// Walks a path as the kernel does.
    pub(super) fn to(path: &HostPath) -> Self {
        let mut traversal = Self { place: HostPath::root(), is_whole: false, links: Vec::new() };
        let mut steps: VecDeque<Vec<u8>> = VecDeque::new();
        put_before(&mut steps, path.as_bytes());
        while let Some(step) = steps.pop_front() {
            if step == b".." {
                traversal.place = traversal.place.parent().unwrap_or_else(HostPath::root);
                continue;
            }
            let Ok(next) = traversal.place.join(&step) else { return traversal };
            match rustix::fs::readlinkat(CWD, next.as_path(), Vec::new()) {
                Ok(target) if traversal.links.len() < MOST_LINKS => {
                    let target = target.into_bytes();
                    if target.starts_with(b"/") {
                        traversal.place = HostPath::root();
                    }
                    put_before(&mut steps, &target);
                    traversal.links.push(next);
                }
                // There, and no link.
                Err(Errno::INVAL) => traversal.place = next,
                // Nothing more that the caller could find, and so nothing that its cage could.
                Ok(_) | Err(_) => return traversal,
            }
        }
        traversal.is_whole = true;
        traversal
    }

    /// What is wrong with a path that a cage with this access could lead elsewhere.
    pub(super) fn problem(&self, access: &AccessMap<'_>) -> Option<PathProblem> {
        let link = self.loose_link(access)?.clone();
        Some(PathProblem::LooseLink { link, leads_to: self.place.clone() })
    }

    /// The first link on it that such a cage could lead elsewhere.
    fn loose_link(&self, access: &AccessMap<'_>) -> Option<&HostPath> {
        let is_loose = |link: &&HostPath| {
            let directory = link.parent().unwrap_or_else(HostPath::root);
            access.level(&directory).may_change_host()
        };
        self.links.iter().find(is_loose)
    }
}

/// Puts the steps of a path before those that are still to be taken.
fn put_before(steps: &mut VecDeque<Vec<u8>>, path: &[u8]) {
    let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    for name in names.rev() {
        steps.push_front(name.to_vec());
    }
}

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;
