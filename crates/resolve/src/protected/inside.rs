//! Links inside protected directories: `.git/hooks/pre-commit` that leads to `scripts/pre-commit`. What such
//! a link leads to runs by its name, so it is protected like the name, however many links the way has. Lists
//! names within a bound, Git's own directories first; what lies beyond it is as writable as the grant says.

use std::collections::VecDeque;

use plan::HostPath;
use rustix::fs::FileType;

use super::super::open::Opened;
use super::super::traversal::Traversal;
use super::walk::list;
use super::{FsAccess, Search};
use crate::at_start::Link;

/// A protected directory to look into.
pub(super) struct Inside {
    path: HostPath,
    known_as: &'static str,
}

impl Search<'_> {
    /// Remembers a protected directory, wherever it lies. One that the user has named to be changed may lead
    /// where it likes.
    pub(super) fn note_inside(&mut self, opened: &Opened, known_as: &'static str) {
        let own_rule = self.stage.access.exactly(&opened.path);
        let is_named = own_rule.is_some_and(|rule| rule.access == FsAccess::ReadWrite);
        if opened.status.is_directory() && !is_named {
            self.inside.push(Inside { path: opened.path.clone(), known_as });
        }
    }

    /// Protects what the links inside the directories lead to that were found so far, and what the links in
    /// that lead to.
    pub(super) fn follow_links_inside(&mut self) {
        let mut names_left = MOST_NAMES_INSIDE;
        let mut waiting = VecDeque::from(std::mem::take(&mut self.inside));
        waiting.make_contiguous().sort_by_key(|inside| !inside.known_as.starts_with(".git"));
        while let Some(Inside { path, known_as }) = waiting.pop_front() {
            if names_left == 0 {
                return;
            }
            let Ok(directory) = self.stage.opener.open_to_list(&path) else { continue };
            let (names, _) = list(&directory, names_left);
            names_left = names_left.saturating_sub(names.len());
            for name in names {
                let Ok(path) = path.join(&name.bytes) else { continue };
                match name.file_type {
                    FileType::Directory => waiting.push_back(Inside { path, known_as }),
                    FileType::Symlink => self.follow_link_inside(&path, known_as),
                    _ => {}
                }
            }
            waiting.extend(std::mem::take(&mut self.inside));
        }
    }

    fn follow_link_inside(&mut self, link: &HostPath, known_as: &'static str) {
        if self.links_inside.len() >= MOST_LINKS_INSIDE {
            return;
        }
        let traversal = Traversal::to(link);
        let stays_inside = |path: &HostPath| {
            let mut above = std::iter::successors(Some(path.clone()), HostPath::parent);
            above.any(|path| self.found.contains_key(&path))
        };
        if traversal.is_whole && traversal.links.iter().chain([&traversal.place]).all(stays_inside)
        {
            return;
        }
        if let Ok(target) = rustix::fs::readlinkat(rustix::fs::CWD, link.as_path(), Vec::new()) {
            let target = target.into_bytes().into();
            self.links_inside.push(Link { path: link.clone(), target });
        }
        traversal.links.iter().for_each(|link| self.link(link));
        match self.stage.opener.anywhere(link) {
            Ok(opened) => self.take_target(opened, link, known_as),
            Err(failure) => self.fail(link, known_as, failure),
        }
    }

    /// Protects what a link leads to. A directory around the link or the project is where the work is done,
    /// and what counts in it is protected by itself.
    fn take_target(&mut self, opened: Opened, link: &HostPath, known_as: &'static str) {
        let project = &self.stage.places.project.path;
        let is_around = link.is_within(&opened.path) || project.is_within(&opened.path);
        if is_around
            || !self.is_exposed(&opened.path)
            || self.is_found_already(&opened.path, known_as)
        {
            return;
        }
        self.note_inside(&opened, known_as);
        self.take(opened, known_as);
    }
}

/// How many names are read for all of them: as many as for a grant.
const MOST_NAMES_INSIDE: usize = 4096;

/// How many links that lead out of them are followed: each target takes a mount.
pub(super) const MOST_LINKS_INSIDE: usize = 256;
