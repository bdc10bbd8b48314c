//! Answers as bytes, in the kernel's layout.

use rustix::io::Errno;
use vfs::{Attributes, Kind, Space, Timestamp};

/// An answer that is being written: the head comes first, and is filled in when all is there.
#[derive(Debug)]
pub(super) struct Reply {
    bytes: Vec<u8>,
    /// Whose everything is, whoever it belongs to.
    owner: Option<(u32, u32)>,
}

impl Reply {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; HEAD_BYTES], owner: None }
    }

    /// One in which everything belongs to this user and group, if to one.
    pub(super) fn showing(owner: Option<(u32, u32)>) -> Self {
        Self { owner, ..Self::new() }
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(HEAD_BYTES);
    }

    /// How much there is beside the head.
    pub(super) const fn length(&self) -> usize {
        self.bytes.len().saturating_sub(HEAD_BYTES)
    }

    pub(super) fn u16(&mut self, number: u16) -> &mut Self {
        self.bytes.extend_from_slice(&number.to_ne_bytes());
        self
    }

    pub(super) fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes.extend_from_slice(&number.to_ne_bytes());
        self
    }

    pub(super) fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes.extend_from_slice(&number.to_ne_bytes());
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// The whole answer to a request, `more` bytes of which come from elsewhere.
    pub(super) fn done(&mut self, unique: u64, more: usize) -> &[u8] {
        self.head(0, unique, more);
        &self.bytes
    }

    /// An error in place of an answer.
    pub(super) fn error(&mut self, unique: u64, errno: Errno) -> &[u8] {
        self.clear();
        self.head(-errno.raw_os_error(), unique, 0);
        &self.bytes
    }

    /// A message that is no answer.
    pub(super) fn message(&mut self, code: i32) -> &[u8] {
        self.head(code, 0, 0);
        &self.bytes
    }

    fn head(&mut self, error: i32, unique: u64, more: usize) {
        let length = u32::try_from(self.bytes.len() + more).unwrap_or(u32::MAX);
        let mut head = [0; HEAD_BYTES];
        let fields = [&length.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes()];
        for (to, from) in head.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        if let Some(start) = self.bytes.first_chunk_mut() {
            *start = head;
        }
    }

    /// What a name leads to, for so long.
    pub(super) fn entry(&mut self, node: u64, generation: u64, file: &Attributes, valid: Valid) {
        self.u64(node).u64(generation).u64(valid.name).u64(valid.attributes).u32(0).u32(0);
        self.attributes(file);
    }

    /// That a name leads nowhere, for so long.
    pub(super) fn nothing(&mut self, valid: Valid) {
        self.u64(0).u64(0).u64(valid.name).u64(0).u32(0).u32(0).bytes(&[0; ATTRIBUTE_BYTES]);
    }

    /// What is known of a file, for so long.
    pub(super) fn known(&mut self, file: &Attributes, valid: Valid) {
        self.u64(valid.attributes).u32(0).u32(0);
        self.attributes(file);
    }

    fn attributes(&mut self, file: &Attributes) {
        let times = [file.accessed, file.modified, file.changed];
        self.u64(file.number).u64(file.size).u64(file.blocks);
        for Timestamp { seconds, .. } in times {
            self.u64(seconds.cast_unsigned());
        }
        for Timestamp { nanoseconds, .. } in times {
            self.u32(nanoseconds);
        }
        let mode = type_bits(file.kind) | file.mode;
        let (uid, gid) = self.owner.unwrap_or((file.uid, file.gid));
        self.u32(mode).u32(file.links).u32(uid).u32(gid);
        self.u32(device(file.device)).u32(BLOCK_BYTES).u32(0);
    }

    /// A handle, and what the kernel does with it.
    pub(super) fn opened(&mut self, handle: u64, flags: u32) {
        self.u64(handle).u32(flags).u32(0);
    }

    /// One name of a listing, if it fits.
    pub(super) fn listed(&mut self, number: u64, cookie: u64, kind: Kind, name: &[u8]) {
        let length = u32::try_from(name.len()).unwrap_or_default();
        self.u64(number).u64(cookie).u32(length).u32(type_bits(kind) >> 12).bytes(name);
        let padding = name.len().next_multiple_of(8) - name.len();
        self.bytes([0_u8; 8].get(..padding).unwrap_or_default());
    }

    pub(super) fn space(&mut self, space: &Space) {
        self.u64(space.blocks).u64(space.free_blocks).u64(space.free_blocks);
        self.u64(space.inodes).u64(space.free_inodes);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let block = narrow(space.block_bytes);
        self.u32(block).u32(narrow(space.longest_name)).u32(block).u32(0).bytes(&[0; 24]);
    }
}

/// How many seconds the kernel need not ask again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Valid {
    pub(super) name: u64,
    pub(super) attributes: u64,
}

/// What a name takes in a listing, without and with what it leads to.
pub(super) const fn listed_bytes(name: usize) -> usize {
    LISTED_BYTES + name.next_multiple_of(8)
}

/// The bits of a mode that say what a file is.
pub(super) const fn type_bits(kind: Kind) -> u32 {
    match kind {
        Kind::Fifo => 0o010_000,
        Kind::CharacterDevice => 0o020_000,
        Kind::Directory => 0o040_000,
        Kind::BlockDevice => 0o060_000,
        Kind::File => 0o100_000,
        Kind::Link => 0o120_000,
        Kind::Socket => 0o140_000,
    }
}

/// A device in the kernel's own encoding.
fn device(device: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

pub(super) const ENTRY_BYTES: usize = 40 + ATTRIBUTE_BYTES;
const HEAD_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 88;
const LISTED_BYTES: usize = 24;
const BLOCK_BYTES: u32 = 4096;
