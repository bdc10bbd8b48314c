//! Requests of 9P2000 and 9P2000.L, from bytes. Every field is read, and nothing may be left over; what a field means is
//! for the session to judge.

use super::wire::{Body, kind};
use super::{Dialect, Malformed};

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the protocol's manual")]
pub enum Request<'a> {
    Version { most: u32, version: &'a [u8] },
    Authenticate,
    Attach { fid: u32, user: &'a [u8], tree: &'a [u8], uid: Option<u32> },
    Flush { tag: u16 },
    Walk { fid: u32, new_fid: u32, names: Vec<&'a [u8]> },
    Open { fid: u32, mode: u8 },
    Create { fid: u32, name: &'a [u8], permissions: u32, mode: u8 },
    Read { fid: u32, offset: u64, count: u32 },
    Write { fid: u32, offset: u64, data: &'a [u8] },
    Clunk { fid: u32 },
    Remove { fid: u32 },
    Stat { fid: u32 },
    ChangeStat { fid: u32, stat: ChangedStat<'a> },
    Space { fid: u32 },
    LinuxOpen { fid: u32, flags: u32 },
    LinuxCreate { fid: u32, name: &'a [u8], flags: u32, mode: u32, gid: u32 },
    MakeLink { fid: u32, name: &'a [u8], target: &'a [u8], gid: u32 },
    MakeNode { fid: u32, name: &'a [u8], mode: u32, gid: u32 },
    MakeDirectory { fid: u32, name: &'a [u8], mode: u32, gid: u32 },
    Rename { fid: u32, directory: u32, name: &'a [u8] },
    RenameAt { from: u32, name: &'a [u8], to: u32, new_name: &'a [u8] },
    UnlinkAt { directory: u32, name: &'a [u8], flags: u32 },
    Link { directory: u32, fid: u32, name: &'a [u8] },
    ReadLink { fid: u32 },
    Attributes { fid: u32 },
    Change { fid: u32, change: Changed },
    XattrWalk { fid: u32, new_fid: u32, name: &'a [u8] },
    XattrCreate { fid: u32, name: &'a [u8], size: u64, flags: u32 },
    List { fid: u32, offset: u64, count: u32 },
    Sync { fid: u32 },
    Lock { fid: u32, lock: Lock },
    TestLock { fid: u32, lock: Lock },
}

/// What a client of Linux wants to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the protocol's manual")]
pub struct Changed {
    pub valid: u32,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub accessed: (u64, u64),
    pub modified: (u64, u64),
}

/// What a client of Plan 9 wants to change; all bits of a field that stays are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the protocol's manual")]
pub struct ChangedStat<'a> {
    pub mode: u32,
    pub modified: u32,
    pub length: u64,
    pub name: &'a [u8],
}

/// A lock on a range; a length of 0 is up to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the protocol's manual")]
pub struct Lock {
    pub kind: u8,
    pub start: u64,
    pub length: u64,
    pub process: u32,
}

/// The kind and the tag of a message, and what comes after; `bytes` is a whole one.
pub(super) fn head(bytes: &[u8]) -> Result<(u8, u16, &[u8]), Malformed> {
    let mut body = Body(bytes);
    let length = body.u32()?;
    if usize::try_from(length) != Ok(bytes.len()) {
        return Err(Malformed);
    }
    let (kind, tag) = (body.u8()?, body.u16()?);
    Ok((kind, tag, body.0))
}

/// Reads what a kind of request has; none for a kind that the dialect does not have.
pub(super) fn read(
    dialect: Dialect,
    kind: u8,
    bytes: &[u8],
) -> Result<Option<Request<'_>>, Malformed> {
    let mut body = Body(bytes);
    let request = match common(dialect, kind, &mut body)? {
        Some(request) => Some(request),
        None if dialect == Dialect::Linux => linux(kind, &mut body)?,
        None => plan9(kind, &mut body)?,
    };
    // A kind that is unknown is told so, whatever is in it.
    if request.is_some() && !body.0.is_empty() { Err(Malformed) } else { Ok(request) }
}

fn common<'a>(
    dialect: Dialect,
    kind: u8,
    body: &mut Body<'a>,
) -> Result<Option<Request<'a>>, Malformed> {
    Ok(Some(match kind {
        kind::VERSION => Request::Version { most: body.u32()?, version: body.text()? },
        kind::AUTHENTICATE => {
            body.0 = &[];
            Request::Authenticate
        }
        kind::ATTACH => {
            let (fid, _authenticated) = (body.u32()?, body.u32()?);
            let (user, tree) = (body.text()?, body.text()?);
            let uid = if dialect == Dialect::Linux { Some(body.u32()?) } else { None };
            Request::Attach { fid, user, tree, uid }
        }
        kind::FLUSH => Request::Flush { tag: body.u16()? },
        kind::WALK => {
            let (fid, new_fid, count) = (body.u32()?, body.u32()?, body.u16()?);
            if count > MOST_NAMES {
                return Err(Malformed);
            }
            let names = (0..count).map(|_| body.text()).collect::<Result<_, _>>()?;
            Request::Walk { fid, new_fid, names }
        }
        kind::READ => Request::Read { fid: body.u32()?, offset: body.u64()?, count: body.u32()? },
        kind::WRITE => Request::Write { fid: body.u32()?, offset: body.u64()?, data: body.data()? },
        kind::CLUNK => Request::Clunk { fid: body.u32()? },
        kind::REMOVE => Request::Remove { fid: body.u32()? },
        _ => return Ok(None),
    }))
}

fn plan9<'a>(kind: u8, body: &mut Body<'a>) -> Result<Option<Request<'a>>, Malformed> {
    Ok(Some(match kind {
        kind::OPEN => Request::Open { fid: body.u32()?, mode: body.u8()? },
        kind::CREATE => Request::Create {
            fid: body.u32()?,
            name: body.text()?,
            permissions: body.u32()?,
            mode: body.u8()?,
        },
        kind::STAT => Request::Stat { fid: body.u32()? },
        kind::CHANGE_STAT => {
            let (fid, _length, _own_length) = (body.u32()?, body.u16()?, body.u16()?);
            // Its type and device, and what the server calls it.
            body.skip(2 + 4 + 13)?;
            let (mode, _accessed, modified) = (body.u32()?, body.u32()?, body.u32()?);
            let (length, name) = (body.u64()?, body.text()?);
            let _owners = [body.text()?, body.text()?, body.text()?];
            Request::ChangeStat { fid, stat: ChangedStat { mode, modified, length, name } }
        }
        _ => return Ok(None),
    }))
}

fn linux<'a>(kind: u8, body: &mut Body<'a>) -> Result<Option<Request<'a>>, Malformed> {
    Ok(Some(match kind {
        kind::SPACE => Request::Space { fid: body.u32()? },
        kind::LINUX_OPEN => Request::LinuxOpen { fid: body.u32()?, flags: body.u32()? },
        kind::LINUX_CREATE => Request::LinuxCreate {
            fid: body.u32()?,
            name: body.text()?,
            flags: body.u32()?,
            mode: body.u32()?,
            gid: body.u32()?,
        },
        kind::MAKE_LINK => Request::MakeLink {
            fid: body.u32()?,
            name: body.text()?,
            target: body.text()?,
            gid: body.u32()?,
        },
        kind::MAKE_NODE => {
            let (fid, name, mode) = (body.u32()?, body.text()?, body.u32()?);
            body.skip(8)?;
            Request::MakeNode { fid, name, mode, gid: body.u32()? }
        }
        kind::MAKE_DIRECTORY => Request::MakeDirectory {
            fid: body.u32()?,
            name: body.text()?,
            mode: body.u32()?,
            gid: body.u32()?,
        },
        kind::RENAME => {
            Request::Rename { fid: body.u32()?, directory: body.u32()?, name: body.text()? }
        }
        kind::RENAME_AT => Request::RenameAt {
            from: body.u32()?,
            name: body.text()?,
            to: body.u32()?,
            new_name: body.text()?,
        },
        kind::UNLINK_AT => {
            Request::UnlinkAt { directory: body.u32()?, name: body.text()?, flags: body.u32()? }
        }
        kind::LINK => {
            Request::Link { directory: body.u32()?, fid: body.u32()?, name: body.text()? }
        }
        kind::READ_LINK => Request::ReadLink { fid: body.u32()? },
        kind::ATTRIBUTES => {
            let fid = body.u32()?;
            body.skip(8)?;
            Request::Attributes { fid }
        }
        kind::CHANGE => {
            let (fid, valid, mode) = (body.u32()?, body.u32()?, body.u32()?);
            let (uid, gid, size) = (body.u32()?, body.u32()?, body.u64()?);
            let accessed = (body.u64()?, body.u64()?);
            let modified = (body.u64()?, body.u64()?);
            let change = Changed { valid, mode, uid, gid, size, accessed, modified };
            Request::Change { fid, change }
        }
        kind::XATTR_WALK => {
            Request::XattrWalk { fid: body.u32()?, new_fid: body.u32()?, name: body.text()? }
        }
        kind::XATTR_CREATE => Request::XattrCreate {
            fid: body.u32()?,
            name: body.text()?,
            size: body.u64()?,
            flags: body.u32()?,
        },
        kind::LIST => Request::List { fid: body.u32()?, offset: body.u64()?, count: body.u32()? },
        kind::SYNC => {
            let fid = body.u32()?;
            // Newer clients say here whether times matter.
            body.0 = &[];
            Request::Sync { fid }
        }
        kind::LOCK => {
            let (fid, kind, _flags) = (body.u32()?, body.u8()?, body.u32()?);
            Request::Lock { fid, lock: lock(kind, body)? }
        }
        kind::TEST_LOCK => {
            let (fid, kind) = (body.u32()?, body.u8()?);
            Request::TestLock { fid, lock: lock(kind, body)? }
        }
        _ => return Ok(None),
    }))
}

fn lock(kind: u8, body: &mut Body<'_>) -> Result<Lock, Malformed> {
    let (start, length, process) = (body.u64()?, body.u64()?, body.u32()?);
    let _client = body.text()?;
    Ok(Lock { kind, start, length, process })
}

/// As the protocol has it.
const MOST_NAMES: u16 = 16;
