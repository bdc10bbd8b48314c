//! Reads `/etc/ld.so.cache`, the loader's own list of where libraries are. Bounded; a cache that is
//! damaged or of an unknown format is treated as empty, as the loader itself does.

#[cfg(test)]
mod tests;

/// The bytes of a cache file.
#[derive(Default)]
pub(super) struct LibraryCache {
    bytes: Vec<u8>,
    /// Where the current format's header begins: behind the old format's list, if that is there.
    start: usize,
    count: usize,
}

impl LibraryCache {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let Some(start) = find(&bytes, MAGIC) else {
            return Self::default();
        };
        let header = bytes.get(start..).unwrap_or_default();
        let Some(count) = u32_at(header, MAGIC.len()) else {
            return Self::default();
        };
        let room = header.len().saturating_sub(HEADER_BYTES) / ENTRY_BYTES;
        Self { start, count: count.min(room), bytes }
    }

    /// Every path that the cache has for a library's name, best first as the cache orders them.
    pub(super) fn paths<'a>(&'a self, library: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        let table = self.bytes.get(self.start..).unwrap_or_default();
        (0..self.count).filter_map(move |position| {
            let entry = table.get(HEADER_BYTES + position * ENTRY_BYTES..)?;
            let flags = u32_at(entry, 0)?;
            let name = string_at(table, u32_at(entry, 4)?)?;
            (name == library && flags & FLAG_TYPE_MASK == FLAG_ELF_LIBC6)
                .then(|| string_at(table, u32_at(entry, 8)?))
                .flatten()
        })
    }
}

/// The old format's header, if present, comes first and the new one is aligned behind it, so the
/// magic is looked for near the beginning.
fn find(bytes: &[u8], magic: &[u8]) -> Option<usize> {
    if bytes.starts_with(magic) {
        return Some(0);
    }
    if !bytes.starts_with(OLD_MAGIC) {
        return None;
    }
    bytes.windows(magic.len()).position(|window| window == magic)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_ne_bytes(*four)).ok()
}

fn string_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.split(|byte| *byte == 0).next()
}

/// `struct cache_file_new` of the GNU C library: magic and version, two counts, flags, padding.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const HEADER_BYTES: usize = 48;
/// `struct file_entry_new`: flags, name, path, version, capabilities.
const ENTRY_BYTES: usize = 24;
/// The low byte tells which C library; the next one, which word size, the reader sees by itself.
const FLAG_TYPE_MASK: usize = 0xff;
const FLAG_ELF_LIBC6: usize = 3;
