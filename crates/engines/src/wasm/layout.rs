//! How WASI preview 1 lays out what it tells of files: records of bytes, as `witx` has them.

use vfs::{Attributes, Kind, Timestamp};

pub(super) const UNKNOWN: u8 = 0;
pub(super) const CHARACTER_DEVICE: u8 = 2;
pub(super) const DIRECTORY: u8 = 3;

/// `filetype`
pub(super) const fn file_type(kind: Kind) -> u8 {
    match kind {
        Kind::Fifo => UNKNOWN,
        Kind::BlockDevice => 1,
        Kind::CharacterDevice => CHARACTER_DEVICE,
        Kind::Directory => DIRECTORY,
        Kind::File => 4,
        Kind::Socket => 6,
        Kind::Link => 7,
    }
}

/// `filestat`
pub(super) fn file_stat(file: &Attributes) -> [u8; 64] {
    let mut record = [0; 64];
    // The device is one for all: a world has one file system.
    set(&mut record, 0, &1_u64.to_le_bytes());
    set(&mut record, 8, &file.number.to_le_bytes());
    set(&mut record, 16, &[file_type(file.kind)]);
    set(&mut record, 24, &u64::from(file.links).to_le_bytes());
    set(&mut record, 32, &file.size.to_le_bytes());
    for (at, time) in [(40, file.accessed), (48, file.modified), (56, file.changed)] {
        set(&mut record, at, &nanoseconds(time).to_le_bytes());
    }
    record
}

/// `filestat` of a stream.
pub(super) fn stream_stat(file_type: u8) -> [u8; 64] {
    let mut record = [0; 64];
    set(&mut record, 16, &[file_type]);
    set(&mut record, 24, &1_u64.to_le_bytes());
    record
}

/// `fdstat`
pub(super) fn descriptor_stat(file_type: u8, flags: u16, rights: u64, inheriting: u64) -> [u8; 24] {
    let mut record = [0; 24];
    set(&mut record, 0, &[file_type]);
    set(&mut record, 2, &flags.to_le_bytes());
    set(&mut record, 8, &rights.to_le_bytes());
    set(&mut record, 16, &inheriting.to_le_bytes());
    record
}

/// `dirent`, which the name follows.
pub(super) fn entry(next: u64, number: u64, name_length: u32, kind: Kind) -> [u8; 24] {
    let mut record = [0; 24];
    set(&mut record, 0, &next.to_le_bytes());
    set(&mut record, 8, &number.to_le_bytes());
    set(&mut record, 16, &name_length.to_le_bytes());
    set(&mut record, 20, &[file_type(kind)]);
    record
}

/// `event`
pub(super) fn event(user_data: u64, error: u16, kind: u8, bytes: u64, flags: u16) -> [u8; 32] {
    let mut record = [0; 32];
    set(&mut record, 0, &user_data.to_le_bytes());
    set(&mut record, 8, &error.to_le_bytes());
    set(&mut record, 10, &[kind]);
    set(&mut record, 16, &bytes.to_le_bytes());
    set(&mut record, 24, &flags.to_le_bytes());
    record
}

/// A moment since 1970; what was before is its beginning, since WASI has no sign.
pub(super) fn nanoseconds(time: Timestamp) -> u64 {
    let seconds = u64::try_from(time.seconds).unwrap_or_default();
    seconds.saturating_mul(NANOSECONDS).saturating_add(u64::from(time.nanoseconds))
}

/// The same, the other way.
pub(super) fn timestamp(nanoseconds: u64) -> Timestamp {
    Timestamp {
        seconds: i64::try_from(nanoseconds / NANOSECONDS).unwrap_or(i64::MAX),
        nanoseconds: u32::try_from(nanoseconds % NANOSECONDS).unwrap_or_default(),
    }
}

fn set(record: &mut [u8], at: usize, value: &[u8]) {
    if let Some(field) = record.get_mut(at..at + value.len()) {
        field.copy_from_slice(value);
    }
}

const NANOSECONDS: u64 = 1_000_000_000;
