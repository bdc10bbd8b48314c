//! Where an object is that a cage had a cover over, when the cage has ended. Looks at names and at
//! what they are; moves nothing.

use std::mem::MaybeUninit;

use plan::{HostPath, Source};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::Errno;

use super::sweep::QUARANTINED;

#[cfg(test)]
mod tests;

/// What has become of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It is where it was.
    Same,
    /// A sweep has renamed it: the one of another cage, whose run it had appeared in.
    SetAside(HostPath),
    /// There is nothing any more.
    Removed,
    /// Something else is in its place.
    Replaced,
}

/// Looks for an object where it was, and beside that.
pub fn whereabouts(object: &Source) -> Whereabouts {
    let is_it = |status: &Stat| (status.st_dev, status.st_ino) == (object.device, object.inode);
    match rustix::fs::lstat(object.path.as_path()) {
        Ok(status) if is_it(&status) => Whereabouts::Same,
        Err(Errno::NOENT | Errno::NOTDIR) => {
            set_aside(&object.path, &is_it).map_or(Whereabouts::Removed, Whereabouts::SetAside)
        }
        _ => Whereabouts::Replaced,
    }
}

fn set_aside(path: &HostPath, is_it: &dyn Fn(&Stat) -> bool) -> Option<HostPath> {
    let parent = path.parent()?;
    let begins = [path.file_name()?, QUARANTINED].concat();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let directory =
        rustix::fs::openat2(CWD, parent.as_path(), flags, Mode::empty(), resolve).ok()?;
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(&directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        if name.to_bytes().starts_with(&begins)
            && rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|status| is_it(&status))
        {
            return parent.join(name.to_bytes()).ok();
        }
    }
    None
}
