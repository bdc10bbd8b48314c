//! What a person has to be told about a change because of its name or, of a link, its text: names that run code on
//! the host, and links that lead out of the workspace.

use std::os::fd::OwnedFd;

use policy::protected;

use crate::change::{Change, What};
use crate::object::Object;
use crate::path::TreePath;

/// A change with what its name says about it.
pub(super) fn change(
    repository: Option<usize>,
    path: &TreePath,
    what: What,
    before: Option<Object>,
    after: Option<Object>,
) -> Change {
    let is_directory = after.or(before).is_some_and(|object| object.is_directory());
    let object = if is_directory { protected::Object::Directory } else { protected::Object::File };
    // Git obeys what lies in any directory that looks like a repository.
    let as_git = repository.and_then(|end| {
        let inside = path.as_bytes().get(end..)?;
        let inside = inside.strip_prefix(b"/").unwrap_or(inside);
        protected::matches(&[b".git/", inside].concat(), object)
    });
    let protected = protected::matches(path.as_bytes(), object).or(as_git);
    let path = path.clone();
    Change { path, what, before, after, conflict: None, protected, leads_out: false }
}

/// Whether the names of a directory, with those that the host adds, are those of a repository.
pub(super) fn is_repository(names: &[Vec<u8>], host: Option<&OwnedFd>) -> bool {
    let concerns = |name: &Vec<u8>| {
        REPOSITORY_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    if !names.iter().any(concerns) {
        return false;
    }
    let mut all = names.to_vec();
    if let Some(host) = host {
        let has =
            |name: &&&str| Object::at(host, name.as_bytes()).is_ok_and(|object| object.is_some());
        all.extend(REPOSITORY_NAMES.iter().filter(has).map(|name| name.as_bytes().to_vec()));
    }
    protected::is_repository(all.iter().map(Vec::as_slice))
}

/// Whether a link leads out of the workspace, or may, by its text alone. A `..` after a name may follow another link first, so nobody knows where it leads.
pub(super) fn link_leads_out(path: &TreePath, target: &[u8]) -> bool {
    if target.first() == Some(&b'/') {
        return true;
    }
    let mut depth = path.ancestors().count();
    let mut named = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if named || depth == 0 => return true,
            b".." => depth -= 1,
            _ => named = true,
        }
    }
    false
}

const REPOSITORY_NAMES: [&str; 6] = ["HEAD", "objects", "refs", "commondir", "config", "hooks"];

#[cfg(test)]
mod tests;
