//! Who uses a session: one file for each, named after its process, with the namespace that the process
//! id is of, and locked as long as it lives.
//! The kernel gives the lock back whatever happens to the process, so nobody has to be trusted to
//! have cleaned up.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

#[cfg(test)]
mod tests;

/// This process's use of a session. Dropping it ends the use.
#[derive(Debug)]
pub(super) struct User {
    users: OwnedFd,
    name: String,
    _locked: OwnedFd,
}

impl User {
    /// Begins to use the session whose directory of users this is.
    pub(super) fn enter(users: OwnedFd) -> Result<Self, Errno> {
        let (process, namespace) = (rustix::process::getpid(), own_namespace());
        for number in 0_u32.. {
            let name = format!("{process}-{number}-{namespace}");
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match rustix::fs::openat(&users, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    lock(&file)?;
                    return Ok(Self { users, name, _locked: file });
                }
                // Another use by this process, or what one with the same number has left.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::MFILE)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // One that stays behind is not locked, and so counts for nothing.
        let _gone = rustix::fs::unlinkat(&self.users, &self.name, AtFlags::empty());
    }
}

/// The processes that use a session now.
pub(super) fn living(users: BorrowedFd<'_>) -> Result<Vec<Pid>, Errno> {
    let mut living = Vec::new();
    for name in names(users)? {
        let Some(process) = process_of(&name) else { continue };
        if is_locked(users, &name)? && !living.contains(&process) {
            living.push(process);
        }
    }
    Ok(living)
}

/// Removes the files of processes that are gone. Nobody may be about to enter the session meanwhile:
/// whoever does has a file for a moment before it is locked.
pub(super) fn forget_dead(users: BorrowedFd<'_>) -> Result<(), Errno> {
    for name in names(users)? {
        if process_of(&name).is_some() && !is_locked(users, &name)? {
            match rustix::fs::unlinkat(users, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
    Ok(())
}

/// Asks a process that uses a session to end. One in another process id namespace, as in a container,
/// cannot be asked: its number is another process's here.
pub(super) fn ask_to_end(process: Pid, users: BorrowedFd<'_>) {
    let Ok(handle) = rustix::process::pidfd_open(process, PidfdFlags::empty()) else { return };
    // Whoever still has the lock is the process that the handle was opened for, and not another
    // one with the same number.
    if lives_here(process, users).is_ok_and(|lives| lives) {
        let _gone = sys::signal::send_by_handle_with_word(
            handle.as_fd(),
            libc::SIGTERM,
            super::END_OF_SESSION,
        );
    }
}

/// Whether a process of this number, as it is counted here, uses the session.
fn lives_here(process: Pid, users: BorrowedFd<'_>) -> Result<bool, Errno> {
    let namespace = own_namespace();
    for name in names(users)? {
        let is_here = namespace != 0 && namespace_of(&name) == Some(namespace);
        if is_here && process_of(&name) == Some(process) && is_locked(users, &name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The process id namespace of this process; 0 if it cannot be found out.
fn own_namespace() -> u64 {
    rustix::fs::stat("/proc/self/ns/pid").map_or(0, |status| status.st_ino)
}

fn names(users: BorrowedFd<'_>) -> Result<Vec<String>, Errno> {
    rustix::fs::seek(users, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(users, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
    }
    Ok(names)
}

/// Whose file it is by its name.
fn process_of(name: &str) -> Option<Pid> {
    Pid::from_raw(name.split('-').next()?.parse().ok()?)
}

/// The namespace that this process's number is of, by the name of its file.
fn namespace_of(name: &str) -> Option<u64> {
    name.split('-').nth(2)?.parse().ok()
}

/// Waits for those who only look, which takes them a moment.
fn lock(file: &OwnedFd) -> Result<(), Errno> {
    loop {
        match rustix::fs::flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// Whether its process lives. Two who look at the same time must not take each other for it, so a
/// look is shared.
fn is_locked(users: BorrowedFd<'_>, name: &str) -> Result<bool, Errno> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(users, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(false),
        Err(errno) => return Err(errno),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(errno),
    }
}
