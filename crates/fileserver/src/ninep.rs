//! 9P: a file system for anybody who speaks 9P2000.L, as the kernel's client does, or 9P2000, as Plan 9's programs do.
//!
//! [`Session`] is one connection without any I/O: a message in, a message out. [`NinepServer`] gives connections of a
//! socket to sessions. No kernel stands in between here, so that every request is judged by the rules of
//! [`vfs::FileSystem`] for the one who asks. How many files a client may hold and how long a message may be is bounded.

use std::collections::HashMap;
use std::sync::Arc;

use rustix::io::Errno;
use vfs::{At, Caller, FileSystem, Follow, OpenFile, OpenFlags};

mod attributes;
mod files;
mod message;
mod names;
mod server;
mod wire;
mod xattrs;

pub use message::Request;
pub use server::{NinepServer, ServeError};
use wire::{Qid, Reply};
use xattrs::XattrUse;

#[cfg(test)]
mod tests;

/// Bytes that are no message. Nothing more can be understood on such a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that is no message of 9P")]
pub struct Malformed;

/// Which of the two protocols is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// 9P2000.L
    Linux,
    /// 9P2000
    Plan9,
}

/// Who a client acts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// This one, whatever it says.
    Fixed(Caller),
    /// Whoever it says: for a client that may be everybody here anyway.
    Asked,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    files: FileSystem,
    identity: Identity,
    dialect: Option<Dialect>,
    most: u32,
    fids: HashMap<u32, Fid>,
    /// Tells its locks from those of others.
    number: u32,
}

/// A file that a client holds by a number of its own.
#[derive(Debug)]
struct Fid {
    caller: Caller,
    held: Arc<OpenFile>,
    /// The directory and the name by which it was found.
    place: Option<(Arc<OpenFile>, Vec<u8>)>,
    open: Option<OpenFile>,
    xattr: Option<XattrUse>,
    /// Where a listing of Plan 9's form is.
    listed: u64,
}

impl Session {
    /// A connection that nothing was said on yet. The number tells it from others of the same file system.
    pub fn new(files: FileSystem, identity: Identity, number: u32) -> Self {
        Self { files, identity, dialect: None, most: MOST_BYTES, fids: HashMap::new(), number }
    }

    /// How long a message may be.
    pub const fn most_bytes(&self) -> u32 {
        self.most
    }

    /// Answers one whole message.
    pub fn answer(&mut self, message: &[u8]) -> Result<Vec<u8>, Malformed> {
        let (kind, tag, rest) = message::head(message)?;
        // Before a version is agreed on only that can be asked for, and it is the same in both.
        let dialect = self.dialect.unwrap_or(Dialect::Linux);
        let refused = |errno: Errno| {
            let text = std::io::Error::from(errno).to_string();
            Reply::error(dialect, tag, errno.raw_os_error(), &text).done()
        };
        let request = match message::read(dialect, kind, rest) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(refused(Errno::OPNOTSUPP)),
            Err(Malformed) => return Ok(refused(Errno::PROTO)),
        };
        if self.dialect.is_none() && !matches!(request, Request::Version { .. }) {
            return Ok(refused(Errno::PROTO));
        }
        let reply = Reply::new(kind.wrapping_add(1), tag);
        Ok(self.perform(&request, reply).map_or_else(refused, Reply::done))
    }

    fn perform(&mut self, request: &Request<'_>, reply: Reply) -> Result<Reply, Errno> {
        match *request {
            Request::Version { most, version } => self.version(most, version, reply),
            // Nobody has to: so clients understand this answer.
            Request::Authenticate => Err(Errno::NOENT),
            Request::Attach { fid, user, tree, uid } => self.attach(fid, (user, uid), tree, reply),
            // Requests are answered in order: what was asked before is done.
            Request::Flush { .. } => Ok(reply),
            Request::Walk { fid, new_fid, ref names } => self.walk(fid, new_fid, names, reply),
            Request::Clunk { fid } => self.clunk(fid, reply),
            Request::Open { fid, mode } => self.plan9_open(fid, mode, reply),
            Request::Create { fid, name, permissions, mode } => {
                self.plan9_create(fid, name, (permissions, mode), reply)
            }
            Request::Read { fid, offset, count } => self.read(fid, offset, count, reply),
            Request::Write { fid, offset, data } => self.write(fid, offset, data, reply),
            Request::Remove { fid } => self.remove(fid, reply),
            Request::Stat { fid } => self.stat(fid, reply),
            Request::ChangeStat { fid, stat } => self.change_stat(fid, &stat, reply),
            Request::Space { fid } => self.space(fid, reply),
            Request::LinuxOpen { fid, flags } => self.open(fid, flags, reply),
            Request::LinuxCreate { fid, name, flags, mode, gid } => {
                self.create(fid, name, (flags, mode, gid), reply)
            }
            Request::MakeLink { fid, name, target, gid } => {
                self.make(fid, name, vfs::New::Link(target), (0o777, gid), reply)
            }
            Request::MakeNode { fid, name, mode, gid } => {
                self.make_node(fid, name, (mode, gid), reply)
            }
            Request::MakeDirectory { fid, name, mode, gid } => {
                self.make(fid, name, vfs::New::Directory, (mode, gid), reply)
            }
            Request::Rename { fid, directory, name } => self.rename(fid, directory, name, reply),
            Request::RenameAt { from, name, to, new_name } => {
                self.rename_at((from, name), (to, new_name), reply)
            }
            Request::UnlinkAt { directory, name, flags } => {
                self.unlink_at(directory, name, flags, reply)
            }
            Request::Link { directory, fid, name } => self.link(directory, fid, name, reply),
            Request::ReadLink { fid } => self.read_link(fid, reply),
            Request::Attributes { fid } => self.attributes(fid, reply),
            Request::Change { fid, change } => self.change(fid, &change, reply),
            Request::XattrWalk { fid, new_fid, name } => self.xattr_walk(fid, new_fid, name, reply),
            Request::XattrCreate { fid, name, size, flags } => {
                self.xattr_create(fid, name, (size, flags), reply)
            }
            Request::List { fid, offset, count } => self.list(fid, offset, count, reply),
            Request::Sync { fid } => self.sync(fid, reply),
            Request::Lock { fid, lock } => self.lock(fid, &lock, reply),
            Request::TestLock { fid, lock } => self.test_lock(fid, &lock, reply),
        }
    }

    fn version(&mut self, most: u32, version: &[u8], reply: Reply) -> Result<Reply, Errno> {
        // Whatever was held by an earlier version is given back.
        self.fids.clear();
        self.dialect = None;
        if most < LEAST_BYTES {
            return Err(Errno::INVAL);
        }
        self.most = most.min(MOST_BYTES);
        let (dialect, name): (_, &[u8]) = match version {
            b"9P2000.L" => (Some(Dialect::Linux), b"9P2000.L"),
            _ if version.starts_with(b"9P2000") => (Some(Dialect::Plan9), b"9P2000"),
            _ => (None, b"unknown"),
        };
        self.dialect = dialect;
        Ok(reply.u32(self.most).text(name))
    }

    fn attach(
        &mut self,
        fid: u32,
        (user, uid): (&[u8], Option<u32>),
        tree: &[u8],
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let caller = match &self.identity {
            Identity::Fixed(caller) => caller.clone(),
            Identity::Asked => {
                let named = std::str::from_utf8(user).ok().and_then(|user| user.parse().ok());
                let uid = uid.filter(|uid| *uid != NO_NUMBER).or(named).unwrap_or(NOBODY);
                Caller::of(uid, uid)
            }
        };
        let caller = Caller { umask: 0, ..caller };
        let path = if tree.is_empty() { b"/" } else { tree };
        let flags = OpenFlags { path: true, no_follow: true, ..OpenFlags::READ };
        let held = self.files.open(&caller, At::Root, path, flags, 0).map_err(errno)?;
        let qid = self.qid(&caller, &held)?;
        self.put(fid, Fid::new(caller, Arc::new(held), None))?;
        Ok(reply.qid(qid))
    }

    fn walk(
        &mut self,
        fid: u32,
        new_fid: u32,
        names: &[&[u8]],
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let from = self.fid(fid)?;
        if from.open.is_some() || (new_fid != fid && self.fids.contains_key(&new_fid)) {
            return Err(Errno::BADF);
        }
        let caller = from.caller.clone();
        let (mut held, mut place) = (Arc::clone(&from.held), from.place.clone());
        let mut qids = Vec::with_capacity(names.len());
        for name in names {
            let found = self.step(&caller, &held, name);
            match found {
                Ok((next, qid)) => {
                    let name = (*name != b"..").then(|| (Arc::clone(&held), name.to_vec()));
                    (held, place) = (Arc::new(next), name);
                    qids.push(qid);
                }
                // The first one alone is an error; else the client is told how far it went.
                Err(errno) if qids.is_empty() => return Err(errno),
                Err(_) => break,
            }
        }
        if qids.len() == names.len() {
            if new_fid == fid {
                self.fids.remove(&fid);
            }
            self.put(new_fid, Fid::new(caller, held, place))?;
        }
        let count = u16::try_from(qids.len()).map_err(|_| Errno::PROTO)?;
        Ok(qids.into_iter().fold(reply.u16(count), Reply::qid))
    }

    fn step(
        &self,
        caller: &Caller,
        from: &OpenFile,
        name: &[u8],
    ) -> Result<(OpenFile, Qid), Errno> {
        if name != b".." {
            checked(name)?;
        }
        let flags = OpenFlags { path: true, no_follow: true, ..OpenFlags::READ };
        let found = self.files.open(caller, At::Directory(from), name, flags, 0).map_err(errno)?;
        let qid = self.qid(caller, &found)?;
        Ok((found, qid))
    }

    fn clunk(&mut self, fid: u32, reply: Reply) -> Result<Reply, Errno> {
        let mut gone = self.fids.remove(&fid).ok_or(Errno::BADF)?;
        if let Some(open) = gone.open.take() {
            open.close(&self.locker(&gone.caller, 0)).map_err(errno)?;
        }
        self.finish_xattr(&mut gone)?;
        Ok(reply)
    }

    fn fid(&self, fid: u32) -> Result<&Fid, Errno> {
        self.fids.get(&fid).ok_or(Errno::BADF)
    }

    fn fid_mut(&mut self, fid: u32) -> Result<&mut Fid, Errno> {
        self.fids.get_mut(&fid).ok_or(Errno::BADF)
    }

    fn put(&mut self, number: u32, fid: Fid) -> Result<(), Errno> {
        if number == NO_NUMBER {
            return Err(Errno::BADF);
        }
        if self.fids.len() >= MOST_FIDS {
            return Err(Errno::MFILE);
        }
        match self.fids.entry(number) {
            std::collections::hash_map::Entry::Occupied(_) => Err(Errno::BADF),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(fid);
                Ok(())
            }
        }
    }

    /// What a file is called on the wire: by its own number, and by the file system of a tree that it is in.
    fn qid(&self, caller: &Caller, file: &OpenFile) -> Result<Qid, Errno> {
        let found = self.files.stat(caller, At::Itself(file), b"", Follow::No).map_err(errno)?;
        Ok(attributes::qid(file.inode(), &found))
    }

    /// Who holds a lock: a process of one client, as far as others can tell.
    fn locker(&self, caller: &Caller, process: u32) -> Caller {
        Caller { pid: process ^ self.number.rotate_left(16), ..caller.clone() }
    }

    /// The longest data of one answer.
    fn room(&self, wanted: u32) -> usize {
        usize::try_from(wanted.min(self.most.saturating_sub(OVERHEAD))).unwrap_or_default()
    }
}

impl Fid {
    const fn new(
        caller: Caller,
        held: Arc<OpenFile>,
        place: Option<(Arc<OpenFile>, Vec<u8>)>,
    ) -> Self {
        Self { caller, held, place, open: None, xattr: None, listed: 0 }
    }
}

/// A name in a directory, as a client may send it.
fn checked(name: &[u8]) -> Result<&[u8], Errno> {
    match name {
        b"" => Err(Errno::NOENT),
        b"." | b".." => Err(Errno::EXIST),
        name if name.contains(&b'/') || name.contains(&0) => Err(Errno::INVAL),
        name => Ok(name),
    }
}

fn errno(error: vfs::Error) -> Errno {
    error.errno
}

const MOST_BYTES: u32 = 512 << 10;
const LEAST_BYTES: u32 = 4096;
/// What surrounds data in a message.
const OVERHEAD: u32 = 24;
/// Files that one client holds.
const MOST_FIDS: usize = 16_384;
const NO_NUMBER: u32 = u32::MAX;
const NOBODY: u32 = 65_534;
