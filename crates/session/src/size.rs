//! How much a session takes on the disk, for a list. Reads only, follows no link, stops at a bound.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::Sessions;
use crate::error::SessionError;
use crate::id::SessionId;

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// On the disk.
    pub bytes: u64,
    /// Whether there is more than was counted.
    pub is_partial: bool,
}

impl Sessions {
    /// How much a session takes with everything in it.
    pub fn size(&self, id: &SessionId) -> Result<Size, SessionError> {
        Ok(size_of(self.open_session(id)?))
    }
}

fn size_of(directory: OwnedFd) -> Size {
    let mut size = Size::default();
    let mut left = MOST_NAMES;
    let mut pending = vec![directory];
    while let Some(directory) = pending.pop() {
        // Each pending directory is open: a tree that is made to have many of them is counted in part.
        if add(&directory, &mut pending, &mut left, &mut size).is_err() {
            size.is_partial = true;
        }
    }
    size
}

fn add(
    directory: &OwnedFd,
    pending: &mut Vec<OwnedFd>,
    left: &mut usize,
    size: &mut Size,
) -> Result<(), Errno> {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 8192];
    let mut entries = rustix::fs::RawDir::new(directory.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        *left = left.checked_sub(1).ok_or(Errno::TOOBIG)?;
        let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let blocks = u64::try_from(status.st_blocks).unwrap_or_default();
        size.bytes = size.bytes.saturating_add(blocks.saturating_mul(512));
        if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
            if pending.len() >= MOST_OPEN {
                size.is_partial = true;
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
            match rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve) {
                Ok(below) => pending.push(below),
                Err(_) => size.is_partial = true,
            }
        }
    }
    Ok(())
}

const MOST_NAMES: usize = 200_000;
const MOST_OPEN: usize = 500;
