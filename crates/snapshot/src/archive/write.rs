//! A tree into an archive. What is no part of a tar archive is left out: sockets.

use std::io::Write;

use super::header::Header;
use super::{BLOCK, Bounds, MARKS, XATTR};
use crate::error::SnapshotError;
use crate::item::{Contents, Item, ItemKind, Sink};

/// Writes an archive.
pub struct IntoArchive<'a> {
    out: &'a mut dyn Write,
    /// The bytes of all files so far: holes count, as an archive has them as zeros.
    bytes: u64,
}

impl<'a> IntoArchive<'a> {
    /// To this.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, bytes: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let failed = |source| SnapshotError::Archive { action: "write", source };
        self.out.write_all(bytes).map_err(failed)
    }

    /// Zeros up to the next block.
    fn pad(&mut self, size: u64) -> Result<(), SnapshotError> {
        let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        let zeros = [0; BLOCK];
        let count = if over == 0 { 0 } else { BLOCK - over };
        self.write(zeros.get(..count).unwrap_or_default())
    }

    /// The header before the header, for what that has no room for.
    fn write_records(&mut self, records: &[u8]) -> Result<(), SnapshotError> {
        if records.is_empty() {
            return Ok(());
        }
        let header = Header {
            name: b"pax".to_vec(),
            mode: 0o644,
            uid: 0,
            gid: 0,
            size: records.len() as u64,
            modified: 0,
            kind: b'x',
            link: Vec::new(),
            device: (0, 0),
        };
        self.write(&header.write())?;
        self.write(records)?;
        self.pad(records.len() as u64)
    }
}

impl Sink for IntoArchive<'_> {
    fn put(&mut self, item: &Item, contents: &mut dyn Contents) -> Result<(), SnapshotError> {
        let (kind, link, size) = match &item.kind {
            ItemKind::Directory => (b'5', &b""[..], 0),
            ItemKind::File(size) => (b'0', &b""[..], *size),
            ItemKind::Link(target) => (b'2', &target[..], 0),
            ItemKind::HardLink(first) => (b'1', &first[..], 0),
            ItemKind::Fifo => (b'6', &b""[..], 0),
            ItemKind::Whiteout => (b'3', &b""[..], 0),
            ItemKind::Socket => return Ok(()),
        };
        self.bytes = self.bytes.saturating_add(size);
        let Bounds { most_bytes, .. } = Bounds::default();
        if self.bytes > most_bytes {
            return Err(SnapshotError::TooMuch { what: "bytes", most: most_bytes });
        }
        // Every name begins so, and none can be taken for an option or an absolute one.
        let name = [&b"./"[..], &item.path].concat();
        let link = if kind == b'1' { [&b"./"[..], link].concat() } else { link.to_vec() };
        let header = Header {
            name,
            mode: u64::from(item.mode),
            uid: u64::from(item.uid),
            gid: u64::from(item.gid),
            size,
            modified: item.modified.seconds,
            kind,
            link,
            device: (0, 0),
        };
        self.write_records(&records(&header, item))?;
        self.write(&header.write())?;
        let mut left = size;
        let mut buffer = vec![0; BUFFER];
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER);
            let place = buffer.get_mut(..most).unwrap_or_default();
            let bytes = super::fill(contents, place)
                .map_err(|source| SnapshotError::Archive { action: "fill", source })?;
            if bytes.is_empty() {
                let source = std::io::ErrorKind::UnexpectedEof.into();
                return Err(SnapshotError::Archive { action: "fill", source });
            }
            self.write(bytes)?;
            left -= bytes.len() as u64;
        }
        self.pad(size)
    }

    fn finish(&mut self) -> Result<(), SnapshotError> {
        self.write(&[0; 2 * BLOCK])?;
        let failed = |source| SnapshotError::Archive { action: "write", source };
        self.out.flush().map_err(failed)
    }
}

/// What a header has no room for.
fn records(header: &Header, item: &Item) -> Vec<u8> {
    let mut all = Vec::new();
    let mut put = |key: &[u8], value: &[u8]| all.extend_from_slice(&record(key, value));
    if header.name.len() > 100 {
        put(b"path", &header.name);
    }
    if header.link.len() > 100 {
        put(b"linkpath", &header.link);
    }
    if header.size > LARGEST {
        put(b"size", header.size.to_string().as_bytes());
    }
    for (key, number) in [(&b"uid"[..], header.uid), (b"gid", header.gid)] {
        if number > LARGEST_ID {
            put(key, number.to_string().as_bytes());
        }
    }
    let time = item.modified;
    if time.nanoseconds != 0
        || !(0..=LARGEST).contains(&u64::try_from(time.seconds).unwrap_or(u64::MAX))
    {
        put(b"mtime", decimal(time.seconds, time.nanoseconds).as_bytes());
    }
    for (name, value) in &item.xattrs {
        put(&[XATTR, name].concat(), value);
    }
    if !item.marks.is_empty() {
        let marks: Vec<u8> =
            item.marks.iter().flat_map(|mark| [&mark[..], b"/"].concat()).collect();
        put(MARKS, &marks);
    }
    all
}

/// A time as digits: what comes after the point counts from zero, as the rest does.
fn decimal(seconds: i64, nanoseconds: u32) -> String {
    let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let sign = if all < 0 { "-" } else { "" };
    let all = all.unsigned_abs();
    format!("{sign}{}.{:09}", all / 1_000_000_000, all % 1_000_000_000)
}

/// A record says how long it is, its own length included.
fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

/// What eleven octal digits hold.
const LARGEST: u64 = 0o777_7777_7777;
/// What seven do.
const LARGEST_ID: u64 = 0o777_7777;
const BUFFER: usize = 256 << 10;
