//! A walk over all files below a directory, in breadth and within a bound, never through a link. Asks for the
//! status of a file only where somebody wants it.

use std::collections::{HashSet, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use plan::HostPath;
use rustix::fs::{AtFlags, FileType, RawDir};

use super::super::Stage;
use super::super::open::{Status, kind_of};

/// There was more than may be read.
pub(super) struct Incomplete;

pub(super) struct Walk<'a> {
    stage: &'a Stage<'a>,
    root: &'a HostPath,
    names_left: &'a mut usize,
}

/// A file in an open directory.
pub(super) struct Entry<'a> {
    directory: &'a OwnedFd,
    above: &'a HostPath,
    name: &'a std::ffi::CStr,
    inode: u64,
    /// Whether names have the numbers of what they name.
    is_numbered: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(stage: &'a Stage<'a>, root: &'a HostPath, names_left: &'a mut usize) -> Self {
        Self { stage, root, names_left }
    }

    /// What the root is, if that is a file and no directory.
    pub(super) fn single_file(&self) -> Option<Status> {
        let opened = self.stage.opener.without_links(self.root).ok()?;
        opened.status.is_regular_file().then_some(opened.status)
    }

    /// Calls a function for each file until it says that it is enough. Directories that the caller may not
    /// list are as closed to its cage.
    pub(super) fn each_file(
        &mut self,
        enter: impl Fn(&HostPath) -> bool,
        mut look: impl FnMut(&Entry<'_>) -> bool,
    ) -> Result<(), Incomplete> {
        let mut waiting = VecDeque::from([self.root.clone()]);
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        while let Some(path) = waiting.pop_front() {
            crate::progress::at(&path);
            let Ok(directory) = self.stage.opener.open_to_list(&path) else { continue };
            let is_numbered = numbers_names(&directory);
            let mut entries = RawDir::new(&directory, &mut buffer);
            while let Some(Ok(entry)) = entries.next() {
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                *self.names_left = self.names_left.checked_sub(1).ok_or(Incomplete)?;
                match kind_of(&directory, &entry) {
                    FileType::Directory => {
                        let found = path.join(name.to_bytes()).ok();
                        waiting.extend(found.filter(|found| enter(found)));
                    }
                    FileType::RegularFile => {
                        let inode = entry.ino();
                        let (directory, above) = (&directory, &path);
                        if !look(&Entry { directory, above, name, inode, is_numbered }) {
                            return Ok(());
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Entry<'_> {
    pub(super) fn path(&self) -> Option<HostPath> {
        self.above.join(self.name.to_bytes()).ok()
    }

    pub(super) fn status(&self) -> Option<Status> {
        let status =
            rustix::fs::statat(self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let status = Status::from(&status);
        status.is_regular_file().then_some(status)
    }

    /// Whether it may be what has this number.
    pub(super) fn may_be(&self, inode: u64) -> bool {
        !self.is_numbered || self.inode == inode
    }

    pub(super) fn may_be_one_of(&self, inodes: &HashSet<u64>) -> bool {
        !self.is_numbered || inodes.contains(&self.inode)
    }
}

/// Whether a directory's list tells the numbers that its files have. Layered and foreign file systems may tell
/// others.
fn numbers_names(directory: &OwnedFd) -> bool {
    let Ok(file_system) = rustix::fs::fstatfs(directory) else { return false };
    // Narrower on some architectures, and signed.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let magic = file_system.f_type as u32;
    NUMBERING.contains(&magic)
}

/// Ext, XFS, Btrfs, tmpfs, F2FS, ZFS, bcachefs, ramfs; as in statfs(2).
const NUMBERING: [u32; 8] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0xF2F5_2010,
    0x2FC1_2FC1,
    0xCA45_1A4E,
    0x8584_58F6,
];
