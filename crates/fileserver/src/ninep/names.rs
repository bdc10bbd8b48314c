//! Making, renaming, linking and removing names.

use rustix::io::Errno;
use vfs::{At, Caller, Existing, Follow, New, OpenFile, Removal, Replace};

use super::wire::Reply;
use super::{Fid, Identity, Session, checked, errno};

impl Session {
    /// Whoever makes something, in the group that a client names if it may be anybody.
    pub(super) fn maker(&self, fid: &Fid, gid: u32) -> Caller {
        let is_trusted = self.identity == Identity::Asked;
        let gid = if is_trusted || fid.caller.is_in(gid) { gid } else { fid.caller.gid };
        Caller { gid, ..fid.caller.clone() }
    }

    pub(super) fn make(
        &self,
        fid: u32,
        name: &[u8],
        new: New<'_>,
        (mode, gid): (u32, u32),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let fid = self.fid(fid)?;
        let (name, caller) = (checked(name)?, self.maker(fid, gid));
        let at = At::Directory(&fid.held);
        self.files.make(&caller, at, name, new, mode & 0o7777).map_err(errno)?;
        Ok(reply.qid(self.step(&fid.caller, &fid.held, name)?.1))
    }

    pub(super) fn make_node(
        &self,
        fid: u32,
        name: &[u8],
        (mode, gid): (u32, u32),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let new = match mode & 0o170_000 {
            0 | 0o100_000 => New::File,
            0o010_000 => New::Fifo,
            0o140_000 => New::Socket,
            _ => return Err(Errno::PERM),
        };
        self.make(fid, name, new, (mode, gid), reply)
    }

    pub(super) fn link(
        &self,
        directory: u32,
        fid: u32,
        name: &[u8],
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let (directory, file) = (self.fid(directory)?, self.fid(fid)?);
        let at = At::Directory(&directory.held);
        let existing = Existing::Open(&file.held);
        self.files.link(&directory.caller, existing, at, checked(name)?).map_err(errno)?;
        Ok(reply)
    }

    pub(super) fn read_link(&self, fid: u32, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fid(fid)?;
        let target = self.files.read_link(&fid.caller, At::Itself(&fid.held), b"");
        Ok(reply.text(&target.map_err(errno)?))
    }

    pub(super) fn rename(
        &mut self,
        number: u32,
        directory: u32,
        new_name: &[u8],
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let (fid, to) = (self.fid(number)?, self.fid(directory)?);
        let (from, name) = fid.place.clone().ok_or(Errno::BUSY)?;
        let to = std::sync::Arc::clone(&to.held);
        self.move_name(&fid.caller, (&from, &name), (&to, new_name), Replace::Yes)?;
        self.fid_mut(number)?.place = Some((to, new_name.to_vec()));
        Ok(reply)
    }

    pub(super) fn rename_at(
        &self,
        (from, name): (u32, &[u8]),
        (to, new_name): (u32, &[u8]),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let (from, to) = (self.fid(from)?, self.fid(to)?);
        let (old, new) = ((&*from.held, name), (&*to.held, new_name));
        self.move_name(&from.caller, old, new, Replace::Yes)?;
        Ok(reply)
    }

    pub(super) fn move_name(
        &self,
        caller: &Caller,
        (from, name): (&OpenFile, &[u8]),
        (to, new_name): (&OpenFile, &[u8]),
        replace: Replace,
    ) -> Result<(), Errno> {
        let old = (At::Directory(from), checked(name)?);
        let new = (At::Directory(to), checked(new_name)?);
        self.files.rename(caller, old, new, replace).map_err(errno)
    }

    pub(super) fn unlink_at(
        &self,
        directory: u32,
        name: &[u8],
        flags: u32,
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let fid = self.fid(directory)?;
        let what = if flags & REMOVE_DIRECTORY == 0 { Removal::File } else { Removal::Directory };
        let at = At::Directory(&fid.held);
        self.files.remove(&fid.caller, at, checked(name)?, what).map_err(errno)?;
        Ok(reply)
    }

    /// Removes what a fid was walked to, if that is still there, and gives the fid back in any case.
    pub(super) fn remove(&mut self, number: u32, reply: Reply) -> Result<Reply, Errno> {
        let fid = self.fids.remove(&number).ok_or(Errno::BADF)?;
        let (directory, name) = fid.place.as_ref().ok_or(Errno::BUSY)?;
        let at = At::Directory(directory);
        let found = self.files.stat(&fid.caller, at, name, Follow::No).map_err(errno)?;
        let held = self.files.stat(&fid.caller, At::Itself(&fid.held), b"", Follow::No);
        if held.map_err(errno)?.number != found.number {
            return Err(Errno::NOENT);
        }
        let is_directory = found.kind == vfs::Kind::Directory;
        let what = if is_directory { Removal::Directory } else { Removal::File };
        self.files.remove(&fid.caller, at, name, what).map_err(errno)?;
        Ok(reply)
    }
}

const REMOVE_DIRECTORY: u32 = 0x200;
