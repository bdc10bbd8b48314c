//! One pack of objects (gitformat-pack(5)): finds an object by its name in the index of version 2, and puts it
//! together from what differs from others. The bytes may be a caged program's: whatever they are, reading ends
//! and nothing panics. What is read counts only if it is what its name says, which is judged by whoever asks.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use rustix::fs::{Mode, OFlags, RawDir, ResolveFlags};

use super::objects::{ID_BYTES, Id, Kind, Object, inflate, open_file, read_at};

/// A pack and its index, open.
#[derive(Debug, Default)]
pub(super) struct Pack {
    files: Option<Files>,
    /// How many objects begin with each byte or a smaller one.
    fan_out: Vec<u32>,
    /// What was put together already, by its place.
    known: HashMap<u64, Object>,
    known_bytes: usize,
}

#[derive(Debug)]
struct Files {
    index: OwnedFd,
    pack: OwnedFd,
    pack_bytes: u64,
}

/// What an entry of a pack begins with.
enum Entry {
    Whole(Kind),
    /// It differs from the one that begins so many bytes before.
    DiffersFromPlace(u64),
    DiffersFromId(Id),
}

impl Pack {
    /// All packs of a directory of objects.
    pub(super) fn all_in(objects: &OwnedFd) -> Vec<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let Ok(directory) =
            rustix::fs::openat2(objects.as_fd(), "pack", flags, Mode::empty(), resolve)
        else {
            return Vec::new();
        };
        let mut buffer = [std::mem::MaybeUninit::uninit(); 8 * 1024];
        let mut names = RawDir::new(&directory, &mut buffer);
        let mut packs = Vec::new();
        while let Some(Ok(name)) = names.next() {
            let Ok(name) = name.file_name().to_str() else { continue };
            let Some(stem) = name.strip_suffix(".idx") else { continue };
            packs.extend(Self::open(&directory, stem));
            if packs.len() == MOST_PACKS {
                break;
            }
        }
        packs
    }

    fn open(directory: &OwnedFd, stem: &str) -> Option<Self> {
        let (index, _) = open_file(directory, &format!("{stem}.idx"))?;
        let (pack, pack_bytes) = open_file(directory, &format!("{stem}.pack"))?;
        let head = read_at(&index, 0, HEADER_BYTES + FAN_OUT_BYTES)?;
        let (header, fan_out) = head.split_at_checked(HEADER_BYTES)?;
        if header != MAGIC {
            return None;
        }
        let (counts, _) = fan_out.as_chunks::<4>();
        let fan_out = counts.iter().map(|count| u32::from_be_bytes(*count)).collect();
        let files = Some(Files { index, pack, pack_bytes });
        Some(Self { files, fan_out, known: HashMap::new(), known_bytes: 0 })
    }

    /// Where an object begins.
    pub(super) fn find(&self, id: Id) -> Option<u64> {
        let index = &self.files.as_ref()?.index;
        let first = usize::from(*id.0.first()?);
        let before = first.checked_sub(1).and_then(|before| self.fan_out.get(before));
        let mut low = u64::from(before.copied().unwrap_or(0));
        let mut high = u64::from(*self.fan_out.get(first)?);
        let count = u64::from(*self.fan_out.last()?);
        let names = (HEADER_BYTES + FAN_OUT_BYTES) as u64;
        while low < high {
            let middle = low.midpoint(high);
            let name = read_at(index, names + middle * ID_BYTES as u64, ID_BYTES)?;
            match name.as_slice().cmp(id.0.as_slice()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let offsets = names + count * (ID_BYTES as u64 + CHECKSUM_BYTES);
                    let offset = number(&read_at(index, offsets + middle * 4, 4)?)?;
                    if offset & LARGE == 0 {
                        return Some(offset);
                    }
                    let large = offsets + count * 4 + (offset & !LARGE) * 8;
                    return number(&read_at(index, large, 8)?);
                }
            }
        }
        None
    }

    /// Puts the object together that begins at a place. Gives itself back, so that whoever finds a base by its
    /// name may look for it anywhere else meanwhile.
    pub(super) fn read(
        mut self,
        offset: u64,
        most: usize,
        base_of: &mut dyn FnMut(Id) -> Option<Object>,
    ) -> (Self, Option<Object>) {
        let found = self.put_together(offset, most, base_of);
        (self, found)
    }

    fn put_together(
        &mut self,
        offset: u64,
        most: usize,
        base_of: &mut dyn FnMut(Id) -> Option<Object>,
    ) -> Option<Object> {
        let mut differences = Vec::new();
        let mut difference_bytes = 0;
        let mut at = offset;
        let (kind, mut bytes) = loop {
            if let Some((kind, bytes)) = self.known.get(&at) {
                break (*kind, Rc::clone(bytes));
            }
            let (entry, length, data) = self.entry(at)?;
            // What leads in a circle ends here too.
            difference_bytes += length;
            if length > most || difference_bytes > 2 * most || differences.len() >= MOST_DIFFERENCES
            {
                return None;
            }
            let contents = inflate(&self.compressed(data, length)?, length)?;
            match entry {
                Entry::Whole(kind) => {
                    let bytes: Rc<[u8]> = contents.into();
                    self.remember(at, (kind, Rc::clone(&bytes)));
                    break (kind, bytes);
                }
                Entry::DiffersFromPlace(before) => {
                    differences.push((at, contents));
                    at = at.checked_sub(before).filter(|_| before > 0)?;
                }
                Entry::DiffersFromId(id) => {
                    differences.push((at, contents));
                    match self.find(id) {
                        Some(base) => at = base,
                        None => break base_of(id)?,
                    }
                }
            }
        };
        while let Some((place, difference)) = differences.pop() {
            bytes = apply(&bytes, &difference, most)?.into();
            self.remember(place, (kind, Rc::clone(&bytes)));
        }
        Some((kind, bytes))
    }

    /// What begins at a place: what it is, its length, and where its data begin.
    fn entry(&self, at: u64) -> Option<(Entry, usize, u64)> {
        let head = read_at(&self.files.as_ref()?.pack, at, MOST_HEAD_BYTES)?;
        let mut bytes = head.iter().copied();
        let mut byte = bytes.next()?;
        let code = (byte >> 4) & 7;
        let (mut length, mut shift) = (u64::from(byte & 15), 4);
        let mut used = 1;
        while byte & 0x80 != 0 {
            byte = bytes.next()?;
            length |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 60)?;
            shift += 7;
            used += 1;
        }
        let entry = match code {
            1 => Entry::Whole(Kind::Commit),
            2 => Entry::Whole(Kind::Tree),
            3 => Entry::Whole(Kind::Blob),
            4 => Entry::Whole(Kind::Tag),
            6 => {
                let mut byte = bytes.next()?;
                let mut before = u64::from(byte & 0x7f);
                used += 1;
                while byte & 0x80 != 0 {
                    byte = bytes.next()?;
                    before = before.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
                    used += 1;
                }
                Entry::DiffersFromPlace(before)
            }
            7 => {
                let id = Id::of_bytes(head.get(used..used + ID_BYTES)?)?;
                used += ID_BYTES;
                Entry::DiffersFromId(id)
            }
            _ => return None,
        };
        Some((entry, usize::try_from(length).ok()?, at.checked_add(used as u64)?))
    }

    /// The bytes in which so many are compressed: what cannot be compressed takes a little more.
    fn compressed(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        let files = self.files.as_ref()?;
        let left = usize::try_from(files.pack_bytes.checked_sub(at)?).unwrap_or(usize::MAX);
        read_at(&files.pack, at, left.min(length + length / 512 + 64))
    }

    fn remember(&mut self, at: u64, object: Object) {
        if self.known_bytes > MOST_KNOWN_BYTES {
            self.known.clear();
            self.known_bytes = 0;
        }
        self.known_bytes += object.1.len();
        self.known.insert(at, object);
    }
}

/// What differs from a base, put together with it.
fn apply(base: &[u8], difference: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut rest = difference.iter().copied();
    let base_length = varint(&mut rest)?;
    let length = varint(&mut rest).filter(|length| *length <= most)?;
    if base_length != base.len() {
        return None;
    }
    let mut whole = Vec::with_capacity(length.min(most));
    while let Some(code) = rest.next() {
        if code & 0x80 != 0 {
            let mut part = |bits: std::ops::Range<u8>| {
                let mut value = 0_usize;
                for (position, bit) in bits.enumerate() {
                    if code & (1 << bit) != 0 {
                        value |= usize::from(rest.next()?) << (8 * position);
                    }
                }
                Some(value)
            };
            let (from, count) = (part(0..4)?, part(4..7)?);
            let count = if count == 0 { 0x1_0000 } else { count };
            whole.extend_from_slice(base.get(from..from.checked_add(count)?)?);
        } else if code != 0 {
            for _ in 0..code {
                whole.push(rest.next()?);
            }
        } else {
            return None;
        }
        if whole.len() > length {
            return None;
        }
    }
    (whole.len() == length).then_some(whole)
}

fn varint(bytes: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let (mut value, mut shift) = (0_usize, 0);
    loop {
        let byte = bytes.next()?;
        value |= usize::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 56)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

fn number(bytes: &[u8]) -> Option<u64> {
    (!bytes.is_empty()).then(|| bytes.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
}

const MAGIC: [u8; HEADER_BYTES] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const HEADER_BYTES: usize = 8;
const FAN_OUT_BYTES: usize = 256 * 4;
const CHECKSUM_BYTES: u64 = 4;
/// An offset with this bit is one in the table of large ones.
const LARGE: u64 = 0x8000_0000;
/// Length, kind and base.
const MOST_HEAD_BYTES: usize = 64;
const MOST_PACKS: usize = 256;
/// Git makes chains of 50, and of 4095 at most.
const MOST_DIFFERENCES: usize = 4096;
const MOST_KNOWN_BYTES: usize = 32 << 20;
