//! Requests about listings: names alone, or with what each leads to.

use rustix::io::Errno;
use vfs::{Handle, Kind, Name};

use super::names::errno;
use super::reply::{ENTRY_BYTES, Reply, listed_bytes};
use super::wire::{Request, opened};
use super::{Done, Fuse, Gained};

/// A name that was listed.
struct Listed {
    name: Box<[u8]>,
    number: u64,
    kind: Kind,
    cookie: u64,
}

impl Fuse {
    pub(super) fn open_directory(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let inode = self.inode(request.node);
        let handle = self.engine.open_directory(&self.caller(request), inode).map_err(errno)?;
        self.held.open(handle);
        let keeps = opened::KEEP_CACHE | opened::CACHE_DIRECTORY;
        reply.opened(handle.0, if self.is_alone() { keeps } else { 0 });
        Ok(Done::Reply(Gained { inode: None, handle: Some(handle) }))
    }

    pub(super) fn list(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let (handle, after, room) = read_request(request)?;
        let mut sink = |listed: &vfs::Listed<'_>| {
            if reply.length() + listed_bytes(listed.name.len()) > room {
                return false;
            }
            reply.listed(listed.number, listed.cookie, listed.kind, listed.name);
            true
        };
        self.engine.read_directory(handle, after, &mut sink).map_err(errno)?;
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn list_and_look_up(
        &self,
        request: &Request<'_>,
        reply: &mut Reply,
    ) -> Result<Done, Errno> {
        let (handle, after, room) = read_request(request)?;
        // An engine lists under a lock of the directory: nothing is looked up before it has ended.
        let mut all = Vec::new();
        let mut length = 0;
        let mut sink = |listed: &vfs::Listed<'_>| {
            length += ENTRY_BYTES + listed_bytes(listed.name.len());
            if length > room {
                return false;
            }
            let (name, number) = (listed.name.into(), listed.number);
            all.push(Listed { name, number, kind: listed.kind, cookie: listed.cookie });
            true
        };
        self.engine.read_directory(handle, after, &mut sink).map_err(errno)?;
        let (caller, parent) = (self.caller(request), self.inode(request.node));
        for Listed { name, number, kind, cookie } in all {
            // What the kernel has and keeps need not be looked up again; of a name that it lacks all the same, it asks. That of
            // a directory it takes for unknown when the mode changes, as `tar` does it with each.
            let is_kept = self.is_alone() && kind != Kind::Directory;
            let is_known = is_kept && self.held.has(number);
            let found = match Name::new(&name) {
                Ok(_) if is_known => None,
                Ok(name) => self.engine.lookup(&caller, parent, name).ok(),
                // `.` and `..`, which the kernel knows.
                Err(_) => None,
            };
            match found {
                Some(entry) => {
                    self.tell(request.node, &name, entry, reply);
                    let kind = entry.attributes.kind;
                    reply.listed(entry.attributes.number, cookie, kind, &name);
                }
                None => {
                    reply.bytes(&[0; ENTRY_BYTES]);
                    reply.listed(number, cookie, kind, &name);
                }
            }
        }
        Ok(Done::Reply(Gained::default()))
    }
}

fn read_request(request: &Request<'_>) -> Result<(Handle, u64, usize), Errno> {
    let mut body = request.body;
    let (handle, after, size) = (Handle(body.u64()?), body.u64()?, body.u32()?);
    Ok((handle, after, usize::try_from(size).map_err(|_| Errno::INVAL)?))
}
