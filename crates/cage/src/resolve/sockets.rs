//! Unix sockets at the top of granted directories. A read-only mount does not keep anybody from
//! connecting, so each is hidden as a secret is: it is a door to whoever listens on it. Looks at
//! names and kinds; never connects.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use plan::HostPath;
use policy::FsAccess;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};

use super::sources::Sources;
use super::{Found, ResolveError, Stage};

#[cfg(test)]
mod tests;

/// Finds the sockets that a grant would show and that no rule names.
pub(super) fn find(stage: &Stage<'_>, sources: &mut Sources) -> Result<Vec<Found>, ResolveError> {
    let mut found: Vec<Found> = Vec::new();
    let shown = stage
        .rules
        .iter()
        .filter(|placed| placed.rule.access > FsAccess::Hide && placed.status.is_directory());
    for grant in shown {
        // A directory that the caller may not list is no less closed for its cage.
        let Ok(directory) = open_to_list(&grant.rule.path) else { continue };
        for name in sockets_in(&directory) {
            let Ok(path) = grant.rule.path.join(name) else { continue };
            let named = stage.access.exactly(&path).is_some();
            let known = found.iter().any(|socket| socket.path == path);
            if named || known {
                continue;
            }
            // One that is gone by now needs no cover.
            let Ok(opened) = stage.opener.without_links(&path) else { continue };
            if opened.status.file_type == FileType::Socket {
                found.push(stage.found(opened, KNOWN_AS, sources)?);
            }
        }
    }
    Ok(found)
}

fn open_to_list(path: &HostPath) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn sockets_in(directory: &OwnedFd) -> Vec<Vec<u8>> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut sockets = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        let file_type = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |status| FileType::from_raw_mode(status.st_mode))
            }
            known => known,
        };
        if file_type == FileType::Socket {
            sockets.push(entry.file_name().to_bytes().to_vec());
        }
    }
    sockets
}

const KNOWN_AS: &str = "a unix socket";
