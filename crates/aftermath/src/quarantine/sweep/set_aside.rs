//! Renames what has appeared, in place: nothing is removed, nothing of anybody's replaced, and nothing runs it
//! by its new name. Where the program left no room for that, it takes every permission away instead.

use std::os::fd::{AsRawFd as _, OwnedFd};

use plan::HostPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::directory::MOST_ATTEMPTS;
use super::judge::{Judged, Suspect};
use super::{Listing, Name, Sweep};
use crate::quarantine::Finding;

impl Sweep<'_> {
    /// Renames what has appeared.
    pub(super) fn set_aside(&mut self, listing: &Listing<'_>, suspect: &Suspect<'_>) -> Judged {
        let Suspect { name, path, entry, .. } = *suspect;
        let renamed = match self.rename(listing, name, path) {
            Err(Errno::ACCESS) => self.rename_in_closed(listing, name, path),
            other => other,
        };
        match renamed {
            Ok(moved_to) => {
                self.report(Finding::Quarantined { path: path.clone(), moved_to, entry });
                Judged::Moved
            }
            Err(errno @ (Errno::NOSPC | Errno::DQUOT))
                if close(listing.descriptor, name).is_ok() =>
            {
                self.report(Finding::Closed { path: path.clone(), entry, errno });
                Judged::Moved
            }
            Err(errno) => {
                self.report(Finding::NotMoved { path: path.clone(), entry, errno });
                Judged::Stays
            }
        }
    }

    /// Renames in a directory that the program closed for writing before it ended.
    fn rename_in_closed(
        &self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
    ) -> Result<HostPath, Errno> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(listing.descriptor)?.st_mode);
        rustix::fs::fchmod(listing.descriptor, mode | Mode::RWXU)?;
        let renamed = self.rename(listing, name, path);
        rustix::fs::fchmod(listing.descriptor, mode)?;
        renamed
    }

    /// Renames without replacing anything, in the directory that the descriptor refers to.
    pub(super) fn rename(
        &self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
    ) -> Result<HostPath, Errno> {
        let parent = path.parent().ok_or(Errno::INVAL)?;
        for attempt in 0..MOST_ATTEMPTS {
            let new_name = quarantined_name(&name.bytes, self.suffix, attempt);
            let directory = listing.descriptor;
            let (old, new) = (name.bytes.as_slice(), new_name.as_slice());
            let flags = RenameFlags::NOREPLACE;
            let renamed = match rustix::fs::renameat_with(directory, old, directory, new, flags) {
                Err(Errno::INVAL) => rename_onto_own(directory, name, new),
                other => other,
            };
            match renamed {
                Ok(()) => {
                    if name.file_type == FileType::RegularFile {
                        move_companions((directory, old), (directory, new));
                    }
                    return parent.join(new_name).map_err(|_| Errno::NAMETOOLONG);
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }
}

/// Takes every permission from what cannot be renamed, which needs no room on a disk that the program has
/// filled. A link has none, and root needs none.
fn close(directory: &OwnedFd, name: &Name) -> Result<(), Errno> {
    if name.file_type == FileType::Symlink || rustix::process::geteuid().is_root() {
        return Err(Errno::PERM);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let object = rustix::fs::openat(directory, name.bytes.as_slice(), flags, Mode::empty())?;
    // A descriptor for reference cannot change what it refers to; its name in `/proc` can.
    rustix::fs::chmod(format!("/proc/self/fd/{}", object.as_raw_fd()), Mode::empty())
}

/// The same where the file system cannot be asked not to replace anything: what is replaced is an empty
/// object that this process has made.
fn rename_onto_own(directory: &OwnedFd, name: &Name, new: &[u8]) -> Result<(), Errno> {
    let is_directory = name.file_type == FileType::Directory;
    if is_directory {
        rustix::fs::mkdirat(directory, new, Mode::RWXU)?;
    } else {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(directory, new, flags, Mode::RUSR)?;
    }
    rustix::fs::renameat(directory, name.bytes.as_slice(), directory, new).inspect_err(|_| {
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        // It is ours and empty, and what could not be renamed is told.
        let _left = rustix::fs::unlinkat(directory, new, flags);
    })
}

/// Files that SQLite has beside a database go where it goes: it is whole only with them.
pub(in crate::quarantine) fn move_companions(
    (from, old): (&OwnedFd, &[u8]),
    (to, new): (&OwnedFd, &[u8]),
) {
    for end in COMPANIONS {
        let (old, new) = ([old, end].concat(), [new, end].concat());
        // One that is not there, or that is in the way, runs nothing where it is.
        let _left = rustix::fs::renameat_with(from, &*old, to, &*new, RenameFlags::NOREPLACE);
    }
}

/// A name that no pattern of the table matches and that fits into a directory entry.
pub(super) fn quarantined_name(name: &[u8], suffix: &str, attempt: usize) -> Vec<u8> {
    let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
    let end = [QUARANTINED, suffix.as_bytes(), number.as_bytes()].concat();
    let kept = name.len().min(MOST_NAME_BYTES.saturating_sub(end.len()));
    [name.get(..kept).unwrap_or_default(), &end].concat()
}

/// What comes between a name and the suffix where it was set aside.
pub(in crate::quarantine) const QUARANTINED: &[u8] = b".quarantined-";

/// How the names of files end that SQLite makes beside a database.
pub(in crate::quarantine) const COMPANIONS: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];

/// NAME_MAX of the kernel.
const MOST_NAME_BYTES: usize = 255;
