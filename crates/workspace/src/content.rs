//! Contents of files: compared, hashed, and read where they are small enough to be text. Never maps a file into
//! memory, because whoever wrote it may cut it short, and never reads more than it says.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt as _;

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::beneath;

/// Whether two regular files of one name have the same bytes. A host file that its own user cannot read is not
/// the same as anything.
pub(crate) fn is_same(
    one: BorrowedFd<'_>,
    other: BorrowedFd<'_>,
    name: &[u8],
) -> Result<bool, Errno> {
    let (one, object) = beneath::open_file(one, name)?;
    let other = match beneath::open_file(other, name) {
        Err(Errno::ACCESS | Errno::PERM) => return Ok(false),
        other => other?.0,
    };
    let (one, other) = (File::from(one), File::from(other));
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut at = 0;
    while at < object.size {
        // What is a hole in both is the same: a file can say that it is larger than anything that can be read.
        at = data_from(&one, at, object.size)?.min(data_from(&other, at, object.size)?);
        let length = fill(&one, &mut left, at)?;
        if fill(&other, &mut right, at)? != length || left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        if length == 0 {
            break;
        }
        at = at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
    Ok(true)
}

/// The hash of a regular file.
pub(crate) fn hash(directory: BorrowedFd<'_>, name: &[u8]) -> Result<[u8; 32], Errno> {
    let file = File::from(beneath::open_file(directory, name)?.0);
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut at = 0_u64;
    loop {
        let length = fill(&file, &mut chunk, at)?;
        at = at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        hasher.update(chunk.get(..length).unwrap_or_default());
        if length < CHUNK {
            return Ok(hasher.finalize().into());
        }
    }
}

/// The bytes of a regular file; none where there are more than `most`.
pub(crate) fn whole(
    directory: BorrowedFd<'_>,
    name: &[u8],
    most: u64,
) -> Result<Option<Vec<u8>>, Errno> {
    let (file, object) = beneath::open_file(directory, name)?;
    if object.size > most {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(object.size).unwrap_or_default());
    let mut limited = File::from(file).take(most + 1);
    limited.read_to_end(&mut bytes).map_err(|error| errno_of(&error))?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok((length <= most).then_some(bytes))
}

/// Whether bytes are shown as text, by the rule of Git.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    !bytes.get(..8000).unwrap_or(bytes).contains(&0)
}

/// Where a file has data again, from a place on; its end if there is none.
fn data_from(file: &File, at: u64, size: u64) -> Result<u64, Errno> {
    match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(data) => Ok(data),
        Err(Errno::NXIO) => Ok(size),
        // A file system that does not tell holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(at),
        Err(errno) => Err(errno),
    }
}

/// Reads from a place until the buffer is full or the file ends.
fn fill(file: &File, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let place = at.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match file.read_at(rest, place) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(errno_of(&error)),
        }
    }
    Ok(filled)
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The most bytes of a file that is shown and merged as text.
pub(crate) const MOST_TEXT: u64 = 4 * 1024 * 1024;

const CHUNK: usize = 64 * 1024;
