//! Records that stand once in every file of the log, such as what a cage of some hash is made of.
//! Which ones do is noted in empty files beside the log. A note that is lost costs a second record;
//! nothing is ever left out because of a note whose record is not durable.

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::AuditError;
use crate::text::Name;

/// A record that was added, and is to be noted when it is durable.
#[derive(Debug)]
#[must_use = "the record is added again if it is not noted"]
pub struct Once {
    pub(crate) file: u32,
    pub(crate) name: Name,
}

/// Whether a record of this name is noted for a file of the log.
pub(crate) fn is_noted(directory: &Directory, file: u32, name: &Name) -> Result<bool, AuditError> {
    let note = note(file, name);
    match rustix::fs::statat(&directory.descriptor, &note, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(directory.failed("fstatat", &note)(errno)),
    }
}

/// Notes a record, and forgets the notes for the file before: nothing is added to that any more.
pub(crate) fn keep(directory: &Directory, once: &Once) -> Result<(), AuditError> {
    let notes = notes(once.file);
    match rustix::fs::mkdirat(&directory.descriptor, &notes, Mode::RWXU) {
        Ok(()) => forget(directory, once.file.saturating_sub(1)),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(directory.failed("mkdir", &notes)(errno)),
    }
    let note = note(once.file, &once.name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&directory.descriptor, &note, flags, Mode::RUSR | Mode::WUSR)
        .map(drop)
        .map_err(directory.failed("open", &note))
}

/// Forgets the notes for a file that nothing is added to any more.
pub(crate) fn forget(directory: &Directory, file: u32) {
    // What cannot be removed is an empty file that nobody reads.
    let _left = std::fs::remove_dir_all(directory.path.join(notes(file)));
}

fn notes(file: u32) -> String {
    format!("noted-{file:06}")
}

/// Hashed, because a name may hold anything.
fn note(file: u32, name: &Name) -> String {
    format!("{}/{}", notes(file), crate::hash::Hash::of(name.as_str().as_bytes()))
}
