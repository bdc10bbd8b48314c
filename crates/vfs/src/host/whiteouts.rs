//! The marks of an overlay in the form of the kernel's own, as it has them where a user mounts it: a name that is hidden is
//! a character device of number 0, which anybody may make, and a directory that hides what lies below it has an attribute.
//! An overlay never shows either, and refuses to make them for a guest.

use std::os::fd::AsFd as _;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::calls::{self, open_beneath};
use super::listing::Ahead;
use super::{Host, Node};
use crate::attributes::Kind;
use crate::engine::{Inode, SetXattr};
use crate::error::Result;

impl Host {
    pub(super) fn has_whiteout(&self, directory: Inode, name: &[u8]) -> Result<bool> {
        let node = self.directory(directory)?;
        if !name.is_empty() {
            return is_whiteout(&node, name);
        }
        match calls::xattr(&node.descriptor, OPAQUE) {
            Ok(value) => Ok(value == SET),
            // A file system without attributes has none of ours.
            Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn set_whiteout(&self, directory: Inode, name: &[u8]) -> Result<()> {
        let node = self.directory(directory)?;
        if name.is_empty() {
            return calls::set_xattr(&node.descriptor, OPAQUE, SET, SetXattr::Any);
        }
        let kind = FileType::CharacterDevice;
        match rustix::fs::mknodat(&node.descriptor, name, kind, Mode::empty(), 0) {
            Err(Errno::EXIST) if is_whiteout(&node, name)? => Ok(()),
            made => Ok(made?),
        }
    }

    pub(super) fn clear_whiteout(&self, directory: Inode, name: &[u8]) -> Result<()> {
        let node = self.directory(directory)?;
        if name.is_empty() {
            return match calls::remove_xattr(&node.descriptor, OPAQUE) {
                Err(error) if error.errno == Errno::NODATA => Ok(()),
                removed => removed,
            };
        }
        if !is_whiteout(&node, name)? {
            return Ok(());
        }
        Ok(rustix::fs::unlinkat(&node.descriptor, name, AtFlags::empty())?)
    }

    /// All names of a directory that are hidden, and the mark of one that hides what lies below it.
    pub(super) fn whiteouts(&self, directory: Inode) -> Result<Vec<Vec<u8>>> {
        let node = self.directory(directory)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = open_beneath(node.descriptor.as_fd(), b".", flags)?;
        let mut names = Vec::new();
        Ahead::default().list(&opened, 0, &mut |listed| {
            if listed.kind == Kind::CharacterDevice {
                names.push(listed.name.to_vec());
            }
            true
        })?;
        let mut all = Vec::new();
        for name in names {
            if is_whiteout(&node, &name)? {
                all.push(name);
            }
        }
        if self.has_whiteout(directory, b"")? {
            all.push(Vec::new());
        }
        Ok(all)
    }

    /// An empty note says that something was copied, and not from where: the kernel follows none that it has not made.
    pub(super) fn note_origin(&self, file: Inode) -> Result<()> {
        let node = self.node(file)?;
        match node.kind {
            Kind::File | Kind::Directory => {}
            // The kernel gives others no attributes of a user.
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::CharacterDevice | Kind::BlockDevice => {
                return Ok(());
            }
        }
        calls::set_xattr(&node.descriptor, ORIGIN, b"", SetXattr::Any)
    }
}

fn is_whiteout(directory: &Node, name: &[u8]) -> Result<bool> {
    match rustix::fs::statat(&directory.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(Stat { st_mode, st_rdev, .. }) => {
            Ok(FileType::from_raw_mode(st_mode) == FileType::CharacterDevice && st_rdev == 0)
        }
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

const OPAQUE: &[u8] = b"user.overlay.opaque";
const ORIGIN: &[u8] = b"user.overlay.origin";
const SET: &[u8] = b"y";
