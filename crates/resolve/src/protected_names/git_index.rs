//! The names in an index of Git (gitformat-index(5), versions 2 to 4). The bytes may be a caged
//! program's: whatever they are, reading ends and nothing panics. Stricter than Git where Git itself can
//! be led to read one file in two ways, so that nothing is in an index which is not seen here. Never
//! touches a file.

#[cfg(test)]
mod tests;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file or a link.
    File,
    /// A commit of another repository, which is expected to lie there.
    Gitlink,
    /// A directory that is not written out (a sparse index).
    Directory,
}

/// Which object an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Its mode, as in a tree.
    pub mode: u32,
    /// Its name.
    pub name: &'a [u8],
}

/// How long the names of objects are, which the index itself does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectNames {
    /// 20 bytes.
    Sha1,
    /// 32 bytes.
    Sha256,
}

/// Whether the entries are all that Git takes this index for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// They are.
    Whole,
    /// Another file has more of them (a split index).
    Split,
    /// Some of them stand for whole directories (a sparse index).
    Sparse,
}

/// Not an index that Git writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an index that Git writes")]
pub struct Damaged;

/// Reads an index, entry by entry.
///
/// `look` is called for each entry that comes before the first flaw, so what it was shown counts only if
/// this returns an extent.
pub fn read(
    bytes: &[u8],
    names: ObjectNames,
    mut look: impl FnMut(&[u8], Kind, Stored<'_>),
) -> Result<Extent, Damaged> {
    let index = Index::new(bytes, names).ok_or(Damaged)?;
    let (mut has_unnamed, mut has_directory) = (false, false);
    let end = index
        .each_entry(|entry| {
            has_unnamed |= entry.path.is_empty();
            has_directory |= entry.kind == Kind::Directory;
            look(entry.path, entry.kind, entry.stored);
            Some(())
        })
        .ok_or(Damaged)?;
    let extent = index.extensions(end).ok_or(Damaged)?;
    match extent {
        // An entry without a name changes one of the other file.
        Extent::Whole | Extent::Sparse if has_unnamed => Err(Damaged),
        Extent::Whole if has_directory => Ok(Extent::Sparse),
        extent => Ok(extent),
    }
}

struct Index<'bytes> {
    /// All but the hash at the end.
    bytes: &'bytes [u8],
    version: u32,
    count: u32,
    hash_bytes: usize,
}

struct Entry<'a> {
    /// Where it begins.
    offset: usize,
    path: &'a [u8],
    kind: Kind,
    stored: Stored<'a>,
    /// Whether its path is written out, and not what differs from the one before.
    is_written_out: bool,
}

impl<'bytes> Index<'bytes> {
    fn new(bytes: &'bytes [u8], names: ObjectNames) -> Option<Self> {
        let hash_bytes = match names {
            ObjectNames::Sha1 => 20,
            ObjectNames::Sha256 => 32,
        };
        let bytes = bytes.get(..bytes.len().checked_sub(hash_bytes)?)?;
        let version = number(bytes, 4)?;
        let is_known = bytes.starts_with(b"DIRC") && (2..=4).contains(&version);
        is_known.then_some(Self { bytes, version, count: number(bytes, 8)?, hash_bytes })
    }

    /// Where the entries end, if all of them can be read and `look` finds nothing wrong with them.
    fn each_entry(&self, mut look: impl FnMut(&Entry<'_>) -> Option<()>) -> Option<usize> {
        let mut path = Vec::new();
        let mut offset = HEADER_BYTES;
        // Short entries can stand for long paths: whoever looks at these must not have to pay for that.
        let mut path_bytes_left = self.bytes.len().saturating_mul(MOST_PATH_BYTES_FOR_A_BYTE);
        for _ in 0..self.count {
            let mode = number(self.bytes, offset + MODE_OFFSET)?;
            let flags_at = offset + STATUS_BYTES + self.hash_bytes;
            let flags = half(self.bytes, flags_at)?;
            let is_extended = flags & EXTENDED != 0;
            if is_extended && self.version < 3 {
                return None;
            }
            let mut at = flags_at + if is_extended { 4 } else { 2 };
            let mut kept = 0;
            if self.version == 4 {
                let (dropped, length) = self.varint(at)?;
                at += length;
                kept = path.len().checked_sub(dropped)?;
            }
            let is_written_out = kept == 0;
            path.truncate(kept);
            let rest = self.bytes.get(at..)?;
            let end = rest.iter().take(MOST_PATH_BYTES).position(|byte| *byte == 0)?;
            path.extend_from_slice(rest.get(..end)?);
            // Git believes the length where there is one, and the zero at the end where there is none.
            let told = usize::from(flags & LENGTH);
            let is_told =
                if told < usize::from(LENGTH) { told == path.len() } else { path.len() >= told };
            if !is_told || path.len() > MOST_PATH_BYTES {
                return None;
            }
            path_bytes_left = path_bytes_left.checked_sub(path.len())?;
            let kind = kind_of(mode)?;
            let name = self.bytes.get(offset + STATUS_BYTES..flags_at)?;
            let stored = Stored { mode, name };
            look(&Entry { offset, path: &path, kind, stored, is_written_out })?;
            let next = at + end + 1;
            offset = if self.version == 4 { next } else { self.padded(offset, next)? };
        }
        Some(offset)
    }

    /// Up to seven more zeros fill an entry to a multiple of eight bytes.
    fn padded(&self, begin: usize, end: usize) -> Option<usize> {
        let next = begin + (end - begin).next_multiple_of(8);
        let padding = self.bytes.get(end..next)?;
        padding.iter().all(|byte| *byte == 0).then_some(next)
    }

    /// How many bytes of the path before are dropped, and how long that number is.
    fn varint(&self, at: usize) -> Option<(usize, usize)> {
        let mut value = 0_usize;
        for (position, byte) in self.bytes.get(at..)?.iter().take(MOST_VARINT_BYTES).enumerate() {
            value = (value << 7) | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Some((value, position + 1));
            }
            value += 1;
        }
        None
    }

    /// What the extensions say of the entries, which end where these begin.
    fn extensions(&self, begin: usize) -> Option<Extent> {
        let mut extent = Extent::Whole;
        let mut at = begin;
        while at < self.bytes.len() {
            let name = self.bytes.get(at..at.checked_add(4)?)?;
            let length = usize::try_from(number(self.bytes, at + 4)?).ok()?;
            let from = at + 8;
            let data = self.bytes.get(from..from.checked_add(length)?)?;
            match name {
                b"link" => extent = Extent::Split,
                b"sdir" if extent == Extent::Whole => extent = Extent::Sparse,
                b"sdir" => {}
                // Where Git looks for the next one, and for entries, when it reads with several threads.
                b"EOIE" => (usize::try_from(number(data, 0)?).ok()? == begin).then_some(())?,
                b"IEOT" => self.check_blocks(data)?,
                // Git passes over those that it does not know if they begin with a capital letter.
                [b'A'..=b'Z', ..] => {}
                _ => return None,
            }
            at = from + length;
        }
        Some(extent)
    }

    /// A table of offsets at which threads of Git begin to read: it must say what is there.
    fn check_blocks(&self, table: &[u8]) -> Option<()> {
        let (blocks, rest) = table.get(4..)?.as_chunks::<8>();
        if number(table, 0)? != 1 || !rest.is_empty() {
            return None;
        }
        let mut blocks = blocks.iter();
        let mut left = 0;
        self.each_entry(|entry| {
            if left == 0 {
                let block = blocks.next()?;
                let offset = usize::try_from(number(block, 0)?).ok()?;
                left = number(block, 4)?;
                // A thread knows no path before its first.
                (offset == entry.offset && entry.is_written_out).then_some(())?;
            }
            left = left.checked_sub(1)?;
            Some(())
        })?;
        (left == 0 && blocks.next().is_none()).then_some(())
    }
}

fn kind_of(mode: u32) -> Option<Kind> {
    match mode & TYPE {
        0o100_000 | 0o120_000 => Some(Kind::File),
        0o160_000 => Some(Kind::Gitlink),
        0o040_000 => Some(Kind::Directory),
        _ => None,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    Some(u32::from_be_bytes(bytes.get(at..end)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let end = at.checked_add(2)?;
    Some(u16::from_be_bytes(bytes.get(at..end)?.try_into().ok()?))
}

const HEADER_BYTES: usize = 12;
/// Times, device, inode, mode, owner and size.
const STATUS_BYTES: usize = 40;
const MODE_OFFSET: usize = 24;
const TYPE: u32 = 0o170_000;
const EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0fff;
/// As many as the kernel takes.
const MOST_PATH_BYTES: usize = 4096;
/// An entry has 62 bytes and what its path does not share with the one before: paths of a thousand bytes are no
/// project's.
const MOST_PATH_BYTES_FOR_A_BYTE: usize = 16;
/// No path is longer than four of them say.
const MOST_VARINT_BYTES: usize = 4;
