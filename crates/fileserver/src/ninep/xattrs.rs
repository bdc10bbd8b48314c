//! Extended attributes: a fid that is read or written as a file would be, and takes effect when it is given back.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{At, Follow, SetXattr};

use super::wire::Reply;
use super::{Fid, Session, errno};

/// What a fid has become.
#[derive(Debug)]
pub(super) enum XattrUse {
    Read(Vec<u8>),
    Write { name: Vec<u8>, value: Vec<u8>, size: usize, how: SetXattr },
}

impl XattrUse {
    pub(super) fn read(&self, offset: u64, room: usize) -> Result<&[u8], Errno> {
        let Self::Read(value) = self else { return Err(Errno::BADF) };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(value.len());
        let to = from.saturating_add(room).min(value.len());
        Ok(value.get(from..to).unwrap_or_default())
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        let Self::Write { value, size, .. } = self else { return Err(Errno::BADF) };
        if usize::try_from(offset) != Ok(value.len()) || value.len() + data.len() > *size {
            return Err(Errno::INVAL);
        }
        value.extend_from_slice(data);
        Ok(data.len())
    }
}

impl Session {
    pub(super) fn xattr_walk(
        &mut self,
        fid: u32,
        new_fid: u32,
        name: &[u8],
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let from = self.fid(fid)?;
        let (caller, at) = (&from.caller, At::Itself(&from.held));
        let value = if name.is_empty() {
            let names = self.files.xattrs(caller, at, b"", Follow::No).map_err(errno)?;
            names.into_iter().flat_map(|name| [name, vec![0]].concat()).collect()
        } else {
            self.files.xattr(caller, at, b"", Follow::No, name).map_err(errno)?
        };
        let size = value.len() as u64;
        let mut new = Fid::new(from.caller.clone(), Arc::clone(&from.held), None);
        new.xattr = Some(XattrUse::Read(value));
        self.put(new_fid, new)?;
        Ok(reply.u64(size))
    }

    pub(super) fn xattr_create(
        &mut self,
        fid: u32,
        name: &[u8],
        (size, flags): (u64, u32),
        reply: Reply,
    ) -> Result<Reply, Errno> {
        let how = match flags {
            0 => SetXattr::Any,
            1 => SetXattr::Create,
            2 => SetXattr::Replace,
            _ => return Err(Errno::INVAL),
        };
        let size = usize::try_from(size).ok().filter(|size| *size <= LONGEST_VALUE);
        let size = size.ok_or(Errno::TOOBIG)?;
        let fid = self.fid_mut(fid)?;
        if fid.open.is_some() || fid.xattr.is_some() {
            return Err(Errno::BADF);
        }
        fid.xattr = Some(XattrUse::Write { name: name.to_vec(), value: Vec::new(), size, how });
        Ok(reply)
    }

    /// Does what a fid was written for, now that it is given back. Nothing at all is a removal.
    pub(super) fn finish_xattr(&self, fid: &mut Fid) -> Result<(), Errno> {
        let Some(XattrUse::Write { name, value, size, how }) = fid.xattr.take() else {
            return Ok(());
        };
        let (caller, at) = (&fid.caller, At::Itself(&fid.held));
        if value.len() != size {
            return Err(Errno::INVAL);
        }
        if size == 0 && how == SetXattr::Replace {
            return self.files.remove_xattr(caller, at, b"", Follow::No, &name).map_err(errno);
        }
        let target = (at, &b""[..], Follow::No);
        self.files.set_xattr(caller, target, (&name, &value), how).map_err(errno)
    }
}

const LONGEST_VALUE: usize = 64 << 10;
