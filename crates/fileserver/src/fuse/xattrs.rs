//! Requests about extended attributes: of the families `user` and `trusted` alone, as others mean something to a kernel
//! that keeps them itself.

use rustix::io::Errno;
use vfs::SetXattr;

use super::names::errno;
use super::reply::Reply;
use super::wire::Request;
use super::{Done, Fuse, Gained};

impl Fuse {
    pub(super) fn xattr(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let room = body.u32()?;
        body.skip(4)?;
        let name = checked(body.text()?)?;
        let value = self.engine.xattr(&self.caller(request), self.inode(request.node), name);
        fill(reply, &value.map_err(errno)?, room)
    }

    pub(super) fn xattrs(&self, request: &Request<'_>, reply: &mut Reply) -> Result<Done, Errno> {
        let mut body = request.body;
        let room = body.u32()?;
        let caller = self.caller(request);
        let names = self.engine.xattrs(&caller, self.inode(request.node)).map_err(errno)?;
        let mut list = Vec::new();
        for name in names {
            if checked(&name).is_ok() && (caller.is_root() || !name.starts_with(TRUSTED)) {
                list.extend_from_slice(&name);
                list.push(0);
            }
        }
        fill(reply, &list, room)
    }

    pub(super) fn set_xattr(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let (size, how) = (body.u32()?, body.u32()?);
        let name = checked(body.text()?)?;
        let value = body.bytes(size)?;
        let how = match how {
            0 => SetXattr::Any,
            CREATE => SetXattr::Create,
            REPLACE => SetXattr::Replace,
            _ => return Err(Errno::INVAL),
        };
        let (caller, inode) = (self.caller(request), self.inode(request.node));
        self.engine.set_xattr(&caller, inode, name, value, how).map_err(errno)?;
        Ok(Done::Reply(Gained::default()))
    }

    pub(super) fn remove_xattr(&self, request: &Request<'_>) -> Result<Done, Errno> {
        let mut body = request.body;
        let name = checked(body.text()?)?;
        let (caller, inode) = (self.caller(request), self.inode(request.node));
        self.engine.remove_xattr(&caller, inode, name).map_err(errno)?;
        Ok(Done::Reply(Gained::default()))
    }
}

/// A name of a family that engines keep.
fn checked(name: &[u8]) -> Result<&[u8], Errno> {
    let families = [USER, TRUSTED];
    let suffix = families.into_iter().find_map(|family| name.strip_prefix(family));
    match suffix {
        None => Err(Errno::OPNOTSUPP),
        Some(b"") => Err(Errno::INVAL),
        Some(_) => Ok(name),
    }
}

/// Answers with a value, or with its length where no room is offered.
fn fill(reply: &mut Reply, value: &[u8], room: u32) -> Result<Done, Errno> {
    let length = u32::try_from(value.len()).map_err(|_| Errno::TOOBIG)?;
    if room == 0 {
        reply.u32(length).u32(0);
    } else if length > room {
        return Err(Errno::RANGE);
    } else {
        reply.bytes(value);
    }
    Ok(Done::Reply(Gained::default()))
}

const USER: &[u8] = b"user.";
const TRUSTED: &[u8] = b"trusted.";
const CREATE: u32 = 1;
const REPLACE: u32 = 2;
