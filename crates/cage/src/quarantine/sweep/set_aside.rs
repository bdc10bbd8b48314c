//! Renames what has appeared, in place: nothing is removed, nothing replaced, and nothing runs it by its new name.

use plan::HostPath;
use rustix::fs::{Mode, RenameFlags};
use rustix::io::Errno;

use super::{Judged, Listing, MOST_ATTEMPTS, Name, Suspect, Sweep};
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
                self.findings.tell(Finding::Quarantined { path: path.clone(), moved_to, entry });
                Judged::Moved
            }
            Err(errno) => {
                self.findings.tell(Finding::NotMoved { path: path.clone(), entry, errno });
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
    fn rename(
        &self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
    ) -> Result<HostPath, Errno> {
        let parent = path.parent().ok_or(Errno::INVAL)?;
        for attempt in 0..MOST_ATTEMPTS {
            let new_name = quarantined_name(&name.bytes, self.suffix, attempt);
            let renamed = rustix::fs::renameat_with(
                listing.descriptor,
                name.bytes.as_slice(),
                listing.descriptor,
                new_name.as_slice(),
                RenameFlags::NOREPLACE,
            );
            match renamed {
                Ok(()) => return parent.join(new_name).map_err(|_| Errno::NAMETOOLONG),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }
}

/// A name that no pattern of the table matches and that fits into a directory entry.
fn quarantined_name(name: &[u8], suffix: &str, attempt: usize) -> Vec<u8> {
    let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
    let end = [QUARANTINED, suffix.as_bytes(), number.as_bytes()].concat();
    let kept = name.len().min(MOST_NAME_BYTES.saturating_sub(end.len()));
    [name.get(..kept).unwrap_or_default(), &end].concat()
}

/// What comes between a name and the suffix where it was set aside.
pub(in crate::quarantine) const QUARANTINED: &[u8] = b".quarantined-";

/// NAME_MAX of the kernel.
const MOST_NAME_BYTES: usize = 255;
