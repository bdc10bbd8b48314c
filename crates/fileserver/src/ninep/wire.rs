//! 9P on the wire: numbers from their lowest byte on, texts behind their length. Reads what anybody may have sent, and
//! trusts none of it; does no I/O.

use super::{Dialect, Malformed};

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a>(pub(super) &'a [u8]);

impl<'a> Body<'a> {
    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.take().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.u16()?;
        self.bytes(usize::from(length))
    }

    /// Data behind its length.
    pub(super) fn data(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.u32()?;
        self.bytes(usize::try_from(length).map_err(|_| Malformed)?)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.bytes(count).map(drop)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn take<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }
}

/// A message that is being written; its length is filled in at the end.
#[derive(Debug)]
pub(super) struct Reply {
    bytes: Vec<u8>,
}

impl Reply {
    pub(super) fn new(kind: u8, tag: u16) -> Self {
        let mut bytes = vec![0; 4];
        bytes.push(kind);
        bytes.extend_from_slice(&tag.to_le_bytes());
        Self { bytes }
    }

    pub(super) fn error(dialect: Dialect, tag: u16, errno: i32, text: &str) -> Self {
        match dialect {
            Dialect::Linux => Self::new(kind::LINUX_ERROR, tag).u32(errno.cast_unsigned()),
            Dialect::Plan9 => Self::new(kind::ERROR, tag).text(text.as_bytes()),
        }
    }

    pub(super) fn u8(mut self, number: u8) -> Self {
        self.bytes.push(number);
        self
    }

    pub(super) fn u16(mut self, number: u16) -> Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, number: u32) -> Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, number: u64) -> Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A text, cut where its length would not be told.
    pub(super) fn text(self, text: &[u8]) -> Self {
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        let mut new = self.u16(length);
        new.bytes.extend_from_slice(text.get(..usize::from(length)).unwrap_or_default());
        new
    }

    pub(super) fn qid(self, qid: Qid) -> Self {
        self.u8(qid.kind).u32(qid.version).u64(qid.path)
    }

    /// Data behind its length.
    pub(super) fn data(self, data: &[u8]) -> Self {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let mut new = self.u32(length);
        new.bytes.extend_from_slice(data);
        new
    }

    pub(super) fn done(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        if let Some(start) = self.bytes.first_chunk_mut() {
            *start = length.to_le_bytes();
        }
        self.bytes
    }
}

/// What a server calls a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Qid {
    pub(super) kind: u8,
    pub(super) version: u32,
    pub(super) path: u64,
}

impl Qid {
    pub(super) const BYTES: usize = 13;
    pub(super) const DIRECTORY: u8 = 0x80;
    pub(super) const LINK: u8 = 0x02;

    pub(super) fn append(self, to: &mut Vec<u8>) {
        to.push(self.kind);
        to.extend_from_slice(&self.version.to_le_bytes());
        to.extend_from_slice(&self.path.to_le_bytes());
    }
}

/// The kinds of requests; an answer is one more.
pub(super) mod kind {
    pub(in crate::ninep) const LINUX_ERROR: u8 = 7;
    pub(in crate::ninep) const SPACE: u8 = 8;
    pub(in crate::ninep) const LINUX_OPEN: u8 = 12;
    pub(in crate::ninep) const LINUX_CREATE: u8 = 14;
    pub(in crate::ninep) const MAKE_LINK: u8 = 16;
    pub(in crate::ninep) const MAKE_NODE: u8 = 18;
    pub(in crate::ninep) const RENAME: u8 = 20;
    pub(in crate::ninep) const READ_LINK: u8 = 22;
    pub(in crate::ninep) const ATTRIBUTES: u8 = 24;
    pub(in crate::ninep) const CHANGE: u8 = 26;
    pub(in crate::ninep) const XATTR_WALK: u8 = 30;
    pub(in crate::ninep) const XATTR_CREATE: u8 = 32;
    pub(in crate::ninep) const LIST: u8 = 40;
    pub(in crate::ninep) const SYNC: u8 = 50;
    pub(in crate::ninep) const LOCK: u8 = 52;
    pub(in crate::ninep) const TEST_LOCK: u8 = 54;
    pub(in crate::ninep) const LINK: u8 = 70;
    pub(in crate::ninep) const MAKE_DIRECTORY: u8 = 72;
    pub(in crate::ninep) const RENAME_AT: u8 = 74;
    pub(in crate::ninep) const UNLINK_AT: u8 = 76;
    pub(in crate::ninep) const VERSION: u8 = 100;
    pub(in crate::ninep) const AUTHENTICATE: u8 = 102;
    pub(in crate::ninep) const ATTACH: u8 = 104;
    pub(in crate::ninep) const ERROR: u8 = 107;
    pub(in crate::ninep) const FLUSH: u8 = 108;
    pub(in crate::ninep) const WALK: u8 = 110;
    pub(in crate::ninep) const OPEN: u8 = 112;
    pub(in crate::ninep) const CREATE: u8 = 114;
    pub(in crate::ninep) const READ: u8 = 116;
    pub(in crate::ninep) const WRITE: u8 = 118;
    pub(in crate::ninep) const CLUNK: u8 = 120;
    pub(in crate::ninep) const REMOVE: u8 = 122;
    pub(in crate::ninep) const STAT: u8 = 124;
    pub(in crate::ninep) const CHANGE_STAT: u8 = 126;
}
