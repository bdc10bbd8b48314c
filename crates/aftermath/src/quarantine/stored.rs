//! What was set aside and is still there, and what becomes of it on the user's word: put back, or removed. The
//! record knows what was set aside; a program in a cage can write no record. Reaches files over no link, and
//! replaces nothing: what is in the way is exchanged for it.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use audit::{Event, Filter, ReadError, Reader, RecordError, Timestamp};
use plan::HostPath;
use policy::protected::{Object, holding};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::sweep::{COMPANIONS, QUARANTINED, move_companions};

/// Something that was set aside and is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it was.
    pub path: HostPath,
    /// Where it is now.
    pub moved_to: HostPath,
    /// The start that it came from.
    pub invocation: String,
    /// When it was set aside.
    pub time: Timestamp,
    /// Why.
    pub details: String,
}

/// What was set aside cannot be put back or removed.
#[derive(Debug, thiserror::Error)]
#[error("{call} of `{path}` failed")]
pub struct RestoreError {
    call: &'static str,
    path: HostPath,
    #[source]
    errno: Errno,
}

/// Reads a record for what was set aside and is still there, in the order in which that happened.
pub fn stored(log: &Path) -> Result<Vec<Stored>, ReadError> {
    let reader = match Reader::open(log) {
        Err(ReadError::NoLog(_)) => return Ok(Vec::new()),
        opened => opened?,
    };
    let filter = Filter { event: Some("quarantine.finding".to_owned()), ..Filter::default() };
    let mut found: BTreeMap<HostPath, (u64, Stored)> = BTreeMap::new();
    for record in reader.records(filter) {
        let record = match record {
            Ok(record) => record,
            Err(RecordError::Damaged { .. }) => continue,
            Err(RecordError::Unreadable(_)) => break,
        };
        let (sequence, time) = (record.sequence, record.time);
        let Some(Event::QuarantineFinding {
            invocation_id,
            path,
            moved_to: Some(moved_to),
            details,
        }) = record.event()
        else {
            continue;
        };
        let place = |text: audit::Text| {
            let text = text.unescape();
            HostPath::new(text.bytes).ok().filter(|_| text.omitted == 0)
        };
        let (Some(path), Some(moved_to)) = (place(path), place(moved_to)) else { continue };
        let is_set_aside = moved_to
            .file_name()
            .is_some_and(|name| name.windows(QUARANTINED.len()).any(|part| part == QUARANTINED));
        if is_set_aside && rustix::fs::lstat(moved_to.as_path()).is_ok() {
            let (invocation, details) =
                (invocation_id.as_str().to_owned(), details.as_str().to_owned());
            let one = Stored { path, moved_to: moved_to.clone(), invocation, time, details };
            found.insert(moved_to, (sequence, one));
        }
    }
    let mut found: Vec<(u64, Stored)> = found.into_values().collect();
    found.sort_by_key(|(sequence, _)| *sequence);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

impl Stored {
    /// What will run it where it was.
    pub fn runs_by(&self, home: Option<&HostPath>) -> &'static str {
        let entry = holding(home, &self.path, Object::Any);
        entry.map_or("Git, whose configuration leads there", |entry| entry.runs_by)
    }

    /// Puts it back. Says whether something was in its place, which is now where this one was.
    pub fn restore(&self) -> Result<bool, RestoreError> {
        let (from, to) = (parent(&self.moved_to)?, parent(&self.path)?);
        let (old, new) = (name(&self.moved_to)?, name(&self.path)?);
        let renamed = rustix::fs::renameat_with(&from, &*old, &to, &*new, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => {
                move_companions((&from, old.to_bytes()), (&to, new.to_bytes()));
                Ok(false)
            }
            Err(Errno::EXIST) => {
                rustix::fs::renameat_with(&from, &*old, &to, &*new, RenameFlags::EXCHANGE)
                    .map(|()| true)
                    .map_err(|errno| failed("rename", &self.moved_to, errno))
            }
            Err(errno) => Err(failed("rename", &self.moved_to, errno)),
        }
    }

    /// Removes it, with all that is in it.
    pub fn drop_it(&self) -> Result<(), RestoreError> {
        let above = parent(&self.moved_to)?;
        let name = name(&self.moved_to)?;
        for end in COMPANIONS {
            let beside = [name.to_bytes(), end].concat();
            let _none = rustix::fs::unlinkat(&above, &*beside, AtFlags::empty());
        }
        let removed =
            rustix::fs::statat(&above, &*name, AtFlags::SYMLINK_NOFOLLOW).and_then(|found| {
                match FileType::from_raw_mode(found.st_mode) {
                    FileType::Directory => sys::wipe::wipe(above.as_fd(), &name),
                    _ => rustix::fs::unlinkat(&above, &*name, AtFlags::empty()),
                }
            });
        removed.map_err(|errno| failed("remove", &self.moved_to, errno))
    }
}

fn parent(path: &HostPath) -> Result<OwnedFd, RestoreError> {
    let above = path.parent().ok_or_else(|| failed("open", path, Errno::INVAL))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(CWD, above.as_path(), flags, Mode::empty(), resolve)
        .map_err(|errno| failed("open", &above, errno))
}

fn name(path: &HostPath) -> Result<CString, RestoreError> {
    let name = path.file_name().and_then(|name| CString::new(name).ok());
    name.ok_or_else(|| failed("open", path, Errno::INVAL))
}

fn failed(call: &'static str, path: &HostPath, errno: Errno) -> RestoreError {
    RestoreError { call, path: path.clone(), errno }
}
