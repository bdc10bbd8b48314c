//! Tar archives, as POSIX has them (pax), with extended attributes as GNU tar and others write them.

use std::io::Read;

mod header;
mod read;
mod write;

pub use read::{Bounds, from_archive};
pub use write::IntoArchive;

/// Reads until the buffer is full or everything was read.
pub(crate) fn fill<'a>(from: &mut dyn Read, buffer: &'a mut [u8]) -> std::io::Result<&'a [u8]> {
    let mut done = 0;
    while let Some(place) = buffer.get_mut(done..).filter(|place| !place.is_empty()) {
        match from.read(place) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(buffer.get(..done).unwrap_or_default())
}

/// The unit of an archive.
const BLOCK: usize = 512;
const XATTR: &[u8] = b"SCHILY.xattr.";
/// Ours: the marks of a directory in an upper layer, a slash after each.
const MARKS: &[u8] = b"STOCKADE.marks";
