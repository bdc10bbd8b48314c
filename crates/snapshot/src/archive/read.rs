//! An archive into a tree. Everything in it is bounded, and nothing in it leads out of where it is put. It may come from
//! anybody.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use vfs::{LONGEST_NAME, LONGEST_PATH, Timestamp};

use super::header::Header;
use super::{BLOCK, MARKS, XATTR, fill};
use crate::error::{SnapshotError, text};
use crate::item::{Contents, Item, ItemKind, Sink, split};

/// How much an archive may have.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The bytes of all files together.
    pub most_bytes: u64,
    /// Files and directories.
    pub most_files: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { most_bytes: 64 << 30, most_files: 4 << 20 }
    }
}

/// Gives what an archive has to a sink.
///
/// # Errors
/// It is no archive, it has what is refused or too much, or what the sink refused.
pub fn from_archive(
    archive: &mut dyn Read,
    bounds: &Bounds,
    sink: &mut dyn Sink,
) -> Result<(), SnapshotError> {
    let mut reader =
        Reader { archive, at: 0, bounds: *bounds, bytes: 0, files: 0, directories: HashSet::new() };
    let mut extra = Extra::default();
    while let Some(header) = reader.header()? {
        match header.kind {
            b'x' => extra
                .take_records(&reader.small(header.size)?)
                .map_err(|why| reader.invalid(why))?,
            // What holds for all: comments of those who made it.
            b'g' => drop(reader.small(header.size)?),
            b'L' => extra.path = Some(until_nul(reader.small(header.size)?)),
            b'K' => extra.link = Some(until_nul(reader.small(header.size)?)),
            _ => reader.give(header, std::mem::take(&mut extra), sink)?,
        }
    }
    sink.finish()
}

struct Reader<'a> {
    archive: &'a mut dyn Read,
    at: u64,
    bounds: Bounds,
    bytes: u64,
    files: u64,
    /// Those that were given.
    directories: HashSet<Vec<u8>>,
}

/// What comes before a header and belongs to it.
#[derive(Default)]
struct Extra {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u64>,
    gid: Option<u64>,
    modified: Option<Timestamp>,
    xattrs: HashMap<Vec<u8>, Vec<u8>>,
    marks: Vec<Vec<u8>>,
}

impl Reader<'_> {
    /// The next header; none at the end.
    fn header(&mut self) -> Result<Option<Header>, SnapshotError> {
        let mut block = [0; BLOCK];
        self.exactly(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        Header::read(&block).map(Some).map_err(|why| self.invalid(why))
    }

    fn exactly(&mut self, place: &mut [u8]) -> Result<(), SnapshotError> {
        let wanted = place.len();
        let failed = |source| SnapshotError::Archive { action: "read", source };
        let count = fill(self.archive, place).map_err(failed)?.len();
        self.at += count as u64;
        if count == wanted { Ok(()) } else { Err(self.invalid("it ends too early")) }
    }

    /// What belongs to a header and is kept in memory.
    fn small(&mut self, size: u64) -> Result<Vec<u8>, SnapshotError> {
        if size > MOST_SMALL {
            return Err(self.invalid("a header says more than a mebibyte about a file"));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        self.exactly(&mut bytes)?;
        self.skip_padding(size)?;
        Ok(bytes)
    }

    fn skip_padding(&mut self, size: u64) -> Result<(), SnapshotError> {
        let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        let mut rest = vec![0; if over == 0 { 0 } else { BLOCK - over }];
        self.exactly(&mut rest)
    }

    fn give(
        &mut self,
        header: Header,
        extra: Extra,
        sink: &mut dyn Sink,
    ) -> Result<(), SnapshotError> {
        let named = extra.path.unwrap_or(header.name);
        let refused = |why| SnapshotError::Refused { path: text(&named), why };
        let path = below(&named).map_err(refused)?;
        let link = extra.link.unwrap_or(header.link);
        let size = extra.size.unwrap_or(header.size);
        let kind = match header.kind {
            b'5' => ItemKind::Directory,
            // Before there was a kind for them, directories were files with a slash.
            0 | b'0' | b'7' if named.ends_with(b"/") => ItemKind::Directory,
            0 | b'0' | b'7' => ItemKind::File(size),
            b'1' => ItemKind::HardLink(
                below(&link).map_err(|_| refused("a further name of a file outside"))?,
            ),
            b'2' if (1..=LONGEST_PATH).contains(&link.len()) => ItemKind::Link(link),
            b'2' => return Err(refused("a link to nothing")),
            b'3' if header.device == (0, 0) => ItemKind::Whiteout,
            b'3' | b'4' => return Err(refused("a device")),
            b'6' => ItemKind::Fifo,
            b'S' => return Err(refused("a sparse file in GNU's own format")),
            _ => return Err(refused("something of an unknown kind")),
        };
        let is_directory = kind == ItemKind::Directory;
        if path.is_empty() && !is_directory {
            return Err(refused("a file without a name"));
        }
        self.count(&kind)?;
        self.give_missing(&path, sink)?;
        let id = |extra: Option<u64>, plain| u32::try_from(extra.unwrap_or(plain)).ok();
        let (uid, gid) = (id(extra.uid, header.uid), id(extra.gid, header.gid));
        let plain = Timestamp { seconds: header.modified, nanoseconds: 0 };
        let item = Item {
            kind,
            // Whoever wrote the archive gives nobody a program with another's rights.
            mode: u32::try_from(header.mode & 0o1777).unwrap_or_default(),
            uid: uid.ok_or_else(|| refused("a file of an owner that no system has"))?,
            gid: gid.ok_or_else(|| refused("a file of a group that no system has"))?,
            modified: extra.modified.unwrap_or(plain),
            xattrs: extra.xattrs.into_iter().collect(),
            marks: extra.marks,
            path,
        };
        let ItemKind::File(size) = item.kind else {
            if is_directory {
                self.directories.insert(item.path.clone());
            }
            return sink.put(&item, &mut std::io::Empty::default());
        };
        let mut contents = Counted { inner: &mut *self.archive, left: size };
        let put = sink.put(&item, &mut contents);
        let left = contents.left;
        self.at += size - left;
        put?;
        if left > 0 {
            return Err(self.invalid("it ends too early"));
        }
        self.skip_padding(size)
    }

    fn count(&mut self, kind: &ItemKind) -> Result<(), SnapshotError> {
        self.files += 1;
        if let ItemKind::File(size) = kind {
            self.bytes = self.bytes.saturating_add(*size);
        }
        let Bounds { most_bytes, most_files } = self.bounds;
        if self.files > most_files {
            return Err(SnapshotError::TooMuch { what: "files", most: most_files });
        }
        if self.bytes > most_bytes {
            return Err(SnapshotError::TooMuch { what: "bytes", most: most_bytes });
        }
        Ok(())
    }

    /// Directories that the archive does not have before what is in them.
    fn give_missing(&mut self, path: &[u8], sink: &mut dyn Sink) -> Result<(), SnapshotError> {
        let mut missing = Vec::new();
        let mut at = split(path).0;
        while !at.is_empty() && !self.directories.contains(at) {
            missing.push(at.to_vec());
            at = split(at).0;
        }
        for path in missing.into_iter().rev() {
            let item = Item {
                kind: ItemKind::Directory,
                mode: 0o755,
                uid: 0,
                gid: 0,
                modified: Timestamp::default(),
                xattrs: Vec::new(),
                marks: Vec::new(),
                path: path.clone(),
            };
            self.count(&item.kind)?;
            sink.put(&item, &mut std::io::Empty::default())?;
            self.directories.insert(path);
        }
        Ok(())
    }

    fn invalid(&self, why: &'static str) -> SnapshotError {
        SnapshotError::Invalid { at: self.at, why }
    }
}

impl Extra {
    fn take_records(&mut self, mut bytes: &[u8]) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            let wrong = "a record about a file is not as long as it says";
            let space = bytes.iter().position(|byte| *byte == b' ').ok_or(wrong)?;
            let length = digits(bytes.get(..space).unwrap_or_default()).ok_or(wrong)?;
            let length = usize::try_from(length).map_err(|_| wrong)?;
            let record = bytes.get(space + 1..length).ok_or(wrong)?;
            let record = record.strip_suffix(b"\n").ok_or(wrong)?;
            bytes = bytes.get(length..).ok_or(wrong)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or(wrong)?;
            let (key, value) = record.split_at(equals);
            self.take_record(key, value.get(1..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn take_record(&mut self, key: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let number = || digits(value).ok_or("a record about a file has no number");
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(number()?),
            b"uid" => self.uid = Some(number()?),
            b"gid" => self.gid = Some(number()?),
            b"mtime" => self.modified = Some(time(value).ok_or("a record has no time")?),
            MARKS => {
                let marks = value.strip_suffix(b"/").ok_or("a record has no marks")?;
                self.marks = marks.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
            }
            _ if key.starts_with(b"GNU.sparse.") => {
                return Err("a sparse file, in GNU's own format");
            }
            _ => {
                // Others than the user's mean something to a system that this is not.
                if let Some(name) = key.strip_prefix(XATTR)
                    && name.starts_with(b"user.")
                    && name.len() <= LONGEST_NAME
                {
                    self.xattrs.insert(name.to_vec(), value.to_vec());
                }
            }
        }
        Ok(())
    }
}

/// A path of an archive, as one below the root: refused where it could lead out.
fn below(named: &[u8]) -> Result<Vec<u8>, &'static str> {
    if named.starts_with(b"/") {
        return Err("an absolute name");
    }
    let mut path = Vec::new();
    for name in named.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => continue,
            b".." => return Err("a name with `..`"),
            _ if name.contains(&0) => return Err("a name with NUL"),
            _ if name.len() > LONGEST_NAME => return Err("a name that is too long"),
            _ => {}
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    if path.len() > LONGEST_PATH { Err("a name that is too long") } else { Ok(path) }
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    bytes
}

fn digits(bytes: &[u8]) -> Option<u64> {
    let is_number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(bytes).ok().filter(|_| is_number)?.parse().ok()
}

/// Digits, perhaps with a sign, a point and more digits.
fn time(bytes: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let seconds = i64::try_from(digits(whole.as_bytes())?).ok()?;
    let part: String = part.chars().chain("000000000".chars()).take(9).collect();
    let part = u32::try_from(digits(part.as_bytes())?).ok()?;
    Some(match (is_negative, part) {
        (false, nanoseconds) => Timestamp { seconds, nanoseconds },
        (true, 0) => Timestamp { seconds: -seconds, nanoseconds: 0 },
        (true, part) => Timestamp { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - part },
    })
}

impl Contents for Counted<'_> {}

/// As much of an archive as belongs to one file.
struct Counted<'a> {
    inner: &'a mut dyn Read,
    left: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let count = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// What is kept in memory of one header.
const MOST_SMALL: u64 = 1 << 20;
