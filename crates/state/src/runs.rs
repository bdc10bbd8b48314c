//! The cages of `stockade run`, as a list in the state directory: one file for each, locked by its supervisor as
//! long as that lives. So `ps` and `kill` need no daemon, and what a killed supervisor left is recognised and removed.
//! Nothing depends on the list: a run that cannot be put into it runs all the same.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use serde_json::Value;

use crate::{Directory, Locations};

/// A run that is in the list. Dropping it takes it out.
#[derive(Debug)]
pub struct Registered {
    directory: OwnedFd,
    name: String,
    /// Holds the lock.
    _file: File,
}

/// A run whose supervisor is alive.
#[derive(Debug)]
pub struct Running {
    /// The start's name.
    pub id: String,
    /// As the daemon describes its cages.
    pub shown: Value,
    /// The supervisor. It cannot be another process by now.
    pub supervisor: OwnedFd,
}

impl Registered {
    /// Puts a run of this process into the list, with what is shown of it.
    pub fn new(locations: &Locations, id: &str, shown: &Value) -> Option<Self> {
        // Whoever is last takes the directory away, which may be between two steps here.
        (0..MOST_TRIES).find_map(|_| Self::begin(locations, format!("{id}{ENDING}"), shown))
    }

    fn begin(locations: &Locations, name: String, shown: &Value) -> Option<Self> {
        let directory = open(locations, Missing::Make)?;
        // What killed runs left goes with the next one.
        let _alive = entries(directory.as_fd());
        // It has no name until it is locked and whole, so that a killed start leaves none that nobody can judge.
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&directory, ".", flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(file.ok()?);
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        file.write_all(shown.to_string().as_bytes()).ok()?;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        let follow = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(rustix::fs::CWD, unnamed, &directory, name.as_str(), follow).ok()?;
        Some(Self { directory, name, _file: file })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _gone = rustix::fs::unlinkat(&self.directory, self.name.as_str(), AtFlags::empty());
        // Refused as long as there is another one in it.
        if let Ok(state) =
            rustix::fs::openat(&self.directory, "..", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        {
            let _still_used = rustix::fs::unlinkat(&state, DIRECTORY, AtFlags::REMOVEDIR);
        }
    }
}

/// Every run whose supervisor is alive, oldest first. Removes what is left of others.
pub fn list(locations: &Locations) -> Vec<Running> {
    let Some(directory) = open(locations, Missing::Leave) else { return Vec::new() };
    entries(directory.as_fd())
}

fn entries(directory: BorrowedFd<'_>) -> Vec<Running> {
    let mut buffer = [MaybeUninit::uninit(); 8 * 1024];
    let mut names = Vec::new();
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_str().ok().map(str::to_owned);
        names.extend(name.filter(|name| name.ends_with(ENDING)));
    }
    // They begin with their time.
    names.sort();
    names.iter().filter_map(|name| look(directory, name)).collect()
}

/// The runs with this id, or whose ids begin so.
pub fn find(locations: &Locations, id: &str) -> Vec<Running> {
    let wanted = id.to_ascii_uppercase();
    list(locations).into_iter().filter(|run| run.id.starts_with(&wanted)).collect()
}

/// One entry, if its supervisor lives.
fn look(directory: impl AsFd, name: &str) -> Option<Running> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&directory, name, flags, Mode::empty()).ok()?);
    if !is_locked(&file) {
        let _gone = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
        return None;
    }
    let mut text = String::new();
    (&mut file).take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let shown: Value = serde_json::from_str(&text).ok()?;
    let pid = i32::try_from(shown.get("pid")?.as_i64()?).ok().and_then(Pid::from_raw)?;
    let supervisor = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // Who held the lock until now is the process that the handle is of.
    let id = name.strip_suffix(ENDING)?.to_owned();
    is_locked(&file).then_some(Running { id, shown, supervisor })
}

fn is_locked(file: &File) -> bool {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _unlocked = rustix::fs::flock(file, FlockOperation::Unlock);
            false
        }
        Err(errno) => errno == Errno::WOULDBLOCK,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

fn open(locations: &Locations, missing: Missing) -> Option<OwnedFd> {
    let state = locations.state.as_ref()?;
    if missing == Missing::Leave && !state.as_path().join(DIRECTORY).is_dir() {
        return None;
    }
    let state = Directory::open(state).ok()?;
    match rustix::fs::mkdirat(&state, DIRECTORY, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(_) => return None,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&state, DIRECTORY, flags, Mode::empty()).ok()
}

const DIRECTORY: &str = "runs";
const ENDING: &str = ".json";
const MOST_TRIES: u32 = 3;
const MOST_BYTES: u64 = 1 << 20;
