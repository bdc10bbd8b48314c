//! Unix sockets inside granted directories. A read-only mount does not keep anybody from
//! connecting, so each is hidden as a secret is: it is a door to whoever listens on it. Walks in
//! breadth, within a bound and never through a link; looks at names and kinds, and never connects.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use plan::HostPath;
use rustix::fs::{FileType, RawDir};

use super::open::{is_shortage, kind_of};
use super::rules::PlacedRule;
use super::sources::Sources;
use super::{Found, ResolveError, Stage};
use crate::protected_names::{is_fetched_or_built, is_git_data};

#[cfg(test)]
mod tests;

/// What of a directory can be a socket or have one in it.
pub(super) struct Listing {
    names: Vec<(Vec<u8>, FileType)>,
    /// How many more may be read for the same grant.
    names_left: usize,
}

impl Listing {
    /// Reads a grant's own directory.
    pub(super) fn of(directory: &OwnedFd) -> Self {
        let mut names_left = MOST_NAMES;
        Self { names: of_interest(directory, &mut names_left), names_left }
    }
}

/// Finds the sockets that a grant would show and that no rule names.
pub(super) fn find(stage: &Stage<'_>, sources: &mut Sources) -> Result<Vec<Found>, ResolveError> {
    let mut found: Vec<Found> = Vec::new();
    let listed = stage.rules.iter().filter_map(|rule| Some((rule, rule.listing.as_ref()?)));
    for (grant, listing) in listed {
        for path in sockets_below(stage, grant, listing)? {
            // One that is gone by now needs no cover.
            let Ok(opened) = stage.opener.without_links(&path) else { continue };
            if opened.status.file_type == FileType::Socket {
                found.push(stage.found(opened, KNOWN_AS, sources)?);
            }
        }
    }
    Ok(found)
}

/// Sockets below a grant that are its own: what another rule names is that rule's.
fn sockets_below(
    stage: &Stage<'_>,
    grant: &PlacedRule,
    listing: &Listing,
) -> Result<Vec<HostPath>, ResolveError> {
    let mut search = Search { stage, sockets: Vec::new(), waiting: VecDeque::new() };
    search.sort(&grant.rule.path, 0, &listing.names);
    let mut names_left = listing.names_left;
    while names_left > 0
        && let Some((directory, depth)) = search.waiting.pop_front()
    {
        let opened = match stage.opener.open_to_list(&directory) {
            Ok(opened) => opened,
            Err(errno) if is_shortage(errno) => {
                return Err(ResolveError::kernel("openat2", &directory.to_string(), errno));
            }
            // A directory that the caller may not list is no less closed for its cage.
            Err(_) => continue,
        };
        search.sort(&directory, depth, &of_interest(&opened, &mut names_left));
    }
    Ok(search.sockets)
}

struct Search<'a> {
    stage: &'a Stage<'a>,
    sockets: Vec<HostPath>,
    /// Directories that are still to be looked into, and how deep they lie.
    waiting: VecDeque<(HostPath, usize)>,
}

impl Search<'_> {
    fn sort(&mut self, directory: &HostPath, depth: usize, names: &[(Vec<u8>, FileType)]) {
        for (name, file_type) in names {
            let Ok(path) = directory.join(name) else { continue };
            if self.stage.access.exactly(&path).is_some() {
                continue;
            }
            match file_type {
                FileType::Socket => self.sockets.push(path),
                _ if depth < MOST_DEPTH && !is_bulk(directory, name) => {
                    self.waiting.push_back((path, depth + 1));
                }
                _ => {}
            }
        }
    }
}

/// Directories that hold many files and no sockets.
fn is_bulk(directory: &HostPath, name: &[u8]) -> bool {
    let in_repository = directory.file_name().is_some_and(|name| name == b".git");
    is_fetched_or_built(name) || (in_repository && is_git_data(name))
}

/// Sockets and directories in a directory, as long as names are left to look at.
fn of_interest(directory: &OwnedFd, names_left: &mut usize) -> Vec<(Vec<u8>, FileType)> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut found = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        if *names_left == 0 {
            break;
        }
        *names_left -= 1;
        let file_type = kind_of(directory, &entry);
        let name = entry.file_name().to_bytes();
        let wanted = matches!(file_type, FileType::Socket | FileType::Directory);
        if wanted && !matches!(name, b"." | b"..") {
            found.push((name.to_vec(), file_type));
        }
    }
    found
}

const KNOWN_AS: &str = "a unix socket";

/// How far below a grant's root directories are looked into.
const MOST_DEPTH: usize = 6;

/// How many names are read for one grant. A start must not take longer than a person notices.
const MOST_NAMES: usize = 16 * 1024;
