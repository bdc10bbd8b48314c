//! The head: a signed statement of how far the log was durable at some moment. It is what shows that
//! the end of a log was cut off. Two slots in one small file, written in turn: whatever moment the
//! power fails in, one of them is whole.
//!
//! Always behind what is durable, never ahead: an old head protects less, one ahead of the log would
//! accuse it falsely. So it needs no `fsync` of its own.

use std::os::fd::OwnedFd;

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::directory::{Directory, file_name, number_of};
use crate::error::AuditError;
use crate::hash::Hash;
use crate::key::{Key, is_signed};
use crate::time::Timestamp;

/// How far the log is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The number of the last record.
    pub(crate) sequence: u64,
    /// Its hash.
    pub(crate) hash: Hash,
    /// The number of the file that it is in.
    pub(crate) file: u32,
    /// Where the file ends behind it.
    pub(crate) offset: u64,
}

/// The statement, as it is written. Also what is exported as an anchor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    v: u32,
    seq: u64,
    hash: String,
    file: String,
    offset: u64,
    time: String,
    public_key: String,
    signature: String,
}

impl Head {
    /// States how far the log is durable.
    pub(crate) fn sign(reached: &Reached, key: &Key) -> Self {
        let mut head = Self {
            v: 1,
            seq: reached.sequence,
            hash: reached.hash.to_string(),
            file: file_name(reached.file),
            offset: reached.offset,
            time: Timestamp::now().to_string(),
            public_key: key.public(),
            signature: String::new(),
        };
        head.signature = key.sign(&head.message());
        head
    }

    /// What it states; none for one that is not in the form of a head.
    pub(crate) fn reached(&self) -> Option<Reached> {
        let (hash, file) = (Hash::parse(&self.hash)?, number_of(&self.file)?);
        let known = self.v == 1;
        known.then_some(Reached { sequence: self.seq, hash, file, offset: self.offset })
    }

    /// Whether its own key has signed it.
    pub fn is_genuine(&self) -> bool {
        is_signed(&self.public_key, &self.message(), &self.signature)
    }

    /// Whether a key has signed it. A signature of a message is always the same, so the owner of the
    /// key needs not do more than sign again.
    pub(crate) fn is_signed_with(&self, key: &Key) -> bool {
        self.public_key == key.public() && self.signature == key.sign(&self.message())
    }

    /// The key that signed it.
    pub fn public_key(&self) -> &str {
        &self.public_key
    }

    /// The number of the last record that it covers.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    /// When it was signed.
    pub fn time(&self) -> &str {
        &self.time
    }

    fn message(&self) -> String {
        let Self { v, seq, hash, file, offset, time, .. } = self;
        format!("stockade audit head {v}\n{seq}\n{hash}\n{file}\n{offset}\n{time}\n")
    }
}

/// The file of the head.
#[derive(Debug)]
pub(crate) struct HeadFile {
    file: OwnedFd,
}

/// What the two slots hold.
#[derive(Debug)]
pub(crate) struct Slots {
    /// The later one; none if neither can be read.
    pub(crate) head: Option<Head>,
    /// Where the next one goes.
    next: u64,
}

impl HeadFile {
    /// Opens the file, if there is one.
    pub(crate) fn open(directory: &Directory, access: OFlags) -> Result<Option<Self>, AuditError> {
        let file = directory.file_if_any(HEAD_FILE, access)?;
        Ok(file.map(|file| Self { file }))
    }

    /// Reads both slots.
    pub(crate) fn read(&self, directory: &Directory) -> Result<Slots, AuditError> {
        let mut bytes = [0_u8; 2 * SLOT];
        let count =
            read_at(&self.file, &mut bytes, 0).map_err(directory.failed("read", HEAD_FILE))?;
        Ok(Slots::parse(bytes.get(..count).unwrap_or_default()))
    }

    /// Puts a head in the place of the earlier one.
    pub(crate) fn write(
        &self,
        directory: &Directory,
        slots: &Slots,
        head: &Head,
    ) -> Result<(), AuditError> {
        let slot = encode(head)?;
        let written = rustix::io::pwrite(&self.file, &slot, slots.next * SLOT as u64)
            .map_err(directory.failed("write", HEAD_FILE))?;
        if written < slot.len() {
            return Err(directory.failed("write", HEAD_FILE)(Errno::NOSPC));
        }
        Ok(())
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&self, directory: &Directory) -> Result<(), AuditError> {
        rustix::fs::fdatasync(&self.file).map_err(directory.failed("fdatasync", HEAD_FILE))
    }

    /// Makes the file with its first head, durably.
    pub(crate) fn make(directory: &Directory, head: &Head) -> Result<(), AuditError> {
        directory.make_file(HEAD_FILE, &encode(head)?)
    }
}

impl Slots {
    /// Reads the bytes of a head file.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut slots = bytes.chunks(SLOT).map(|slot| {
            let head: Head = serde_json::from_slice(slot).ok()?;
            head.reached().is_some().then_some(head)
        });
        let (first, second) = (slots.next().flatten(), slots.next().flatten());
        let number = |head: &Option<Head>| head.as_ref().map(Head::sequence);
        let (head, next) = if number(&first) > number(&second) { (first, 1) } else { (second, 0) };
        Self { head, next }
    }
}

/// Reads as much as there is.
pub(crate) fn read_at(file: &OwnedFd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

fn encode(head: &Head) -> Result<Vec<u8>, AuditError> {
    let mut bytes =
        serde_json::to_vec(head).map_err(|error| AuditError::Unwritable(error.to_string()))?;
    if bytes.len() >= SLOT {
        return Err(AuditError::TooLong { bytes: bytes.len() });
    }
    bytes.resize(SLOT - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

pub(crate) const HEAD_FILE: &str = "head";

/// As long as a head can be, and no longer than what a disk writes at once.
const SLOT: usize = 512;
