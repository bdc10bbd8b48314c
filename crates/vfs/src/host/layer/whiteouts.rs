//! What stands for a removed name in a layer of the kernel's: found, put in place, and replaced by what is made there.
//! Everything is made beside the layer and put in its place by one rename, so that a process that is killed leaves no name
//! that shows what was removed.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::super::listing::Ahead;
use super::super::{Host, Node, calls};
use super::{IS_OPAQUE, Layer, OPAQUE};
use crate::attributes::{Attributes, Kind};
use crate::caller::Caller;
use crate::engine::{Engine as _, Entry, Inode, New, Rename, SetXattr};
use crate::error::Result;
use crate::name::Name;

/// What is in a directory of a layer.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Names that are removed.
    pub(super) whiteouts: Vec<Vec<u8>>,
    /// Whether there is anything else.
    pub(super) has_files: bool,
}

/// Whether something stands for a removed name.
pub(super) fn is_one(attributes: &Attributes) -> bool {
    attributes.kind == Kind::CharacterDevice && attributes.device == 0
}

/// Everything in a directory.
pub(super) fn listed(directory: &Node) -> Result<Names> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let opened = calls::open_beneath(directory.descriptor.as_fd(), b".", flags)?;
    let mut names = Names::default();
    Ahead::default().list(&opened, 0, &mut |listed| {
        match (listed.name, listed.kind) {
            (b"." | b"..", _) => {}
            (name, Kind::CharacterDevice) => names.whiteouts.push(name.to_vec()),
            _ => names.has_files = true,
        }
        true
    })?;
    Ok(names)
}

impl Layer {
    pub(super) fn is_whiteout(&self, directory: Inode, name: Name<'_>) -> Result<bool> {
        let node = self.host.directory(directory)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        match rustix::fs::statat(&node.descriptor, name.as_bytes(), flags) {
            Ok(found) => Ok(is_one(&calls::attributes(&found))),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn is_opaque(&self, directory: Inode) -> Result<bool> {
        match self.host.xattr(&Caller::root(), directory, OPAQUE) {
            Ok(value) => Ok(value == IS_OPAQUE),
            Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Hides a name, in place of what has it.
    pub(super) fn put_whiteout(
        &self,
        directory: &Node,
        name: Name<'_>,
        replaced: Option<Kind>,
    ) -> Result<()> {
        let staging = self.staging()?;
        let staged = self.next_name();
        let device = FileType::CharacterDevice;
        rustix::fs::mknodat(&staging.descriptor, &staged, device, Mode::empty(), 0)?;
        let put = self.give_to_owner(&staging, &staged, directory).and_then(|()| {
            let replaced = replaced.map(|kind| kind == Kind::Directory);
            put_in_place(&staging, staged.as_bytes(), directory, name, replaced)
        });
        if put.is_err() {
            let _left = rustix::fs::unlinkat(&staging.descriptor, &staged, AtFlags::empty());
        }
        put
    }

    /// The kernel refuses to remove in a cage what belongs to nobody there.
    fn give_to_owner(&self, staging: &Node, staged: &str, directory: &Node) -> Result<()> {
        let wanted = Host::attributes_of(directory)?;
        let is_own = wanted.uid == rustix::process::geteuid().as_raw();
        if is_own || !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(wanted.uid), Gid::from_raw(wanted.gid));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::chownat(&staging.descriptor, staged, Some(uid), Some(gid), flags)?)
    }

    /// Makes something under a name that is hidden. A directory shows nothing of what was removed.
    pub(super) fn make_over(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let staging = self.staging.ok_or(Errno::ROFS)?;
        let (staged, directory) = (self.next_name(), self.host.directory(parent)?);
        let staged = Name::new(staged.as_bytes())?;
        let made = self.host.make(caller, staging, staged, new, mode)?;
        let is_directory = new.kind() == Kind::Directory;
        let put = (|| {
            if is_directory {
                let root = Caller::root();
                self.host.set_xattr(&root, made.inode, OPAQUE, IS_OPAQUE, SetXattr::Any)?;
            }
            self.replace_whiteout(staged, made.inode, &directory, name)
        })();
        if let Err(error) = put {
            let _left = self.host.remove(caller, staging, staged, made.inode);
            self.host.forget(made.inode, 1);
            return Err(error);
        }
        Ok(made)
    }

    /// Gives a file a name that is hidden.
    pub(super) fn link_over(
        &self,
        caller: &Caller,
        inode: Inode,
        parent: Inode,
        name: Name<'_>,
    ) -> Result<Entry> {
        let staging = self.staging.ok_or(Errno::ROFS)?;
        let (staged, directory) = (self.next_name(), self.host.directory(parent)?);
        let staged = Name::new(staged.as_bytes())?;
        let linked = self.host.link(caller, inode, staging, staged)?;
        if let Err(error) = self.replace_whiteout(staged, inode, &directory, name) {
            let _left = self.host.remove(caller, staging, staged, inode);
            self.host.forget(linked.inode, 1);
            return Err(error);
        }
        Ok(linked)
    }

    fn replace_whiteout(
        &self,
        staged: Name<'_>,
        made: Inode,
        directory: &Arc<Node>,
        name: Name<'_>,
    ) -> Result<()> {
        let (staging, node) = (self.staging()?, self.host.node(made)?);
        swap(&staging, staged.as_bytes(), directory, name)?;
        if node.kind == Kind::Directory {
            self.host.adopt(&node, directory);
        }
        let left = rustix::fs::unlinkat(&staging.descriptor, staged.as_bytes(), AtFlags::empty());
        Ok(left?)
    }

    /// Renames to a name that is hidden. The old name is left hidden if it is to be.
    pub(super) fn move_over(&self, rename: &Rename<'_>) -> Result<()> {
        let (from, to) = (self.host.directory(rename.from)?, self.host.directory(rename.to)?);
        let moved = self.host.check(&from, rename.name, rename.moved)?;
        swap(&from, rename.name.as_bytes(), &to, rename.new_name)?;
        if moved.kind == Kind::Directory {
            self.host.adopt(&moved, &to);
        }
        let key = (rename.from, rename.name.as_bytes().into());
        if self.waiting().remove(&key) {
            return Ok(());
        }
        Ok(rustix::fs::unlinkat(&from.descriptor, rename.name.as_bytes(), AtFlags::empty())?)
    }

    /// Removes what is noted in a directory that has nothing else, so that it can be removed.
    pub(super) fn empty(&self, directory: &Node) -> Result<()> {
        let names = listed(directory)?;
        if names.has_files {
            return Err(Errno::NOTEMPTY.into());
        }
        for name in names.whiteouts {
            rustix::fs::unlinkat(&directory.descriptor, &name, AtFlags::empty())?;
        }
        Ok(())
    }

    fn staging(&self) -> Result<Arc<Node>> {
        self.host.directory(self.staging.ok_or(Errno::ROFS)?)
    }
}

/// Puts what is made under a name: that nothing has, or something that is no directory, or a directory without names.
fn put_in_place(
    staging: &Node,
    staged: &[u8],
    directory: &Node,
    name: Name<'_>,
    replaced: Option<bool>,
) -> Result<()> {
    let rename = |flags| {
        let (from, to) = (&staging.descriptor, &directory.descriptor);
        rustix::fs::renameat_with(from, staged, to, name.as_bytes(), flags)
    };
    match replaced {
        None => Ok(rename(RenameFlags::NOREPLACE)?),
        Some(false) => Ok(rename(RenameFlags::empty())?),
        Some(true) => {
            rename(RenameFlags::EXCHANGE)?;
            Ok(rustix::fs::unlinkat(&staging.descriptor, staged, AtFlags::REMOVEDIR)?)
        }
    }
}

/// Exchanges two names, whatever they lead to.
fn swap(from: &Node, name: &[u8], to: &Node, new_name: Name<'_>) -> Result<()> {
    let (from, to) = (&from.descriptor, &to.descriptor);
    let flags = RenameFlags::EXCHANGE;
    Ok(rustix::fs::renameat_with(from, name, to, new_name.as_bytes(), flags)?)
}
