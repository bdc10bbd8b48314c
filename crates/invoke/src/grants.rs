//! Answers that a user wants to hold for later calls: one file in the state directory, which no cage can be
//! given. An answer is for one capability of one executor as it was, started as it was, and ends when it
//! expires or is revoked. Written whole and renamed into place, under a lock.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use audit::Event;
use cage::state::{Directory, StateError};
use plan::HostPath;
use policy::shown::shown;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::approval::record;
use crate::error::Failure;
use crate::files::hexadecimal;

#[cfg(test)]
mod tests;

/// The stored grants of one user.
#[derive(Clone, Debug)]
pub struct Store {
    state: HostPath,
}

/// A stored grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredGrant {
    /// By which it is revoked.
    pub id: String,
    /// The executor's name.
    pub executor: String,
    /// The digest of its manifest, code, command and surroundings: what is changed has to ask again.
    pub code_sha256: String,
    /// The capability.
    pub capability: String,
    /// What it is limited to, if it is.
    pub target: Option<String>,
    /// In seconds since 1970.
    pub granted_at: u64,
    /// In seconds since 1970; for good where none.
    pub expires_at: Option<u64>,
}

/// A grant that is to be stored, or looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGrant {
    /// The executor's name.
    pub executor: String,
    /// The digest of all that the answer is for.
    pub code_sha256: String,
    /// The capability.
    pub capability: String,
    /// What it is limited to, if it is.
    pub target: Option<String>,
    /// When it ends; never where none.
    pub until: Option<SystemTime>,
}

/// Why grants cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The kernel refused a step.
    #[error("{call} `{}`: {}", path.display(), std::io::Error::from(*.errno))]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The file does not hold grants, or somebody else could have written it.
    #[error("the stored grants in `{}` cannot be used: {why}; `stockade grants revoke --all` starts anew", shown(.path.display()))]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be recorded, so it was not done.
    #[error("{0}")]
    Record(Failure),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    grants: Vec<StoredGrant>,
}

impl Store {
    /// The grants kept in a state directory, which need not exist yet.
    pub fn open(state: &HostPath) -> Self {
        Self { state: state.clone() }
    }

    /// All of them, also those that have expired.
    pub fn list(&self) -> Result<Vec<StoredGrant>, StoreError> {
        if !self.state.as_path().exists() {
            return Ok(Vec::new());
        }
        self.read(&Directory::open(&self.state)?)
    }

    /// Whether one of them covers exactly this.
    pub fn has(&self, wanted: &NewGrant, now: SystemTime) -> Result<bool, StoreError> {
        let now = seconds(now);
        Ok(self.list()?.iter().any(|grant| grant.covers(wanted) && !grant.has_expired(now)))
    }

    /// Stores one, in place of others for the same.
    pub fn add(&self, new: &NewGrant) -> Result<(), StoreError> {
        let directory = Directory::open(&self.state)?;
        let _lock = self.lock(&directory)?;
        let now = seconds(SystemTime::now());
        let mut grants = self.read(&directory)?;
        grants.retain(|grant| !grant.covers(new) && !grant.has_expired(now));
        if grants.len() >= MOST_GRANTS {
            let why = format!("there are {MOST_GRANTS} grants already; revoke some");
            return Err(self.malformed(why));
        }
        grants.push(StoredGrant {
            id: self.new_id()?,
            executor: new.executor.clone(),
            code_sha256: new.code_sha256.clone(),
            capability: new.capability.clone(),
            target: new.target.clone(),
            granted_at: now,
            expires_at: new.until.map(seconds),
        });
        self.write(&directory, grants)
    }

    /// Takes back those that are chosen, and says which. That is on record first.
    pub fn revoke(
        &self,
        chosen: impl Fn(&StoredGrant) -> bool,
    ) -> Result<Vec<StoredGrant>, StoreError> {
        if !self.state.as_path().exists() {
            return Ok(Vec::new());
        }
        let directory = Directory::open(&self.state)?;
        let _lock = self.lock(&directory)?;
        let (revoked, kept): (Vec<_>, Vec<_>) =
            self.read(&directory)?.into_iter().partition(|grant| chosen(grant));
        if revoked.is_empty() {
            return Ok(revoked);
        }
        for grant in &revoked {
            let event = Event::GrantRevoked {
                executor: grant.executor.as_str().into(),
                capability: grant.capability.as_str().into(),
                target: grant.target.as_deref().unwrap_or_default().into(),
            };
            record(&self.state, event).map_err(StoreError::Record)?;
        }
        self.write(&directory, kept)?;
        Ok(revoked)
    }

    /// Takes all of them back, also where the file cannot be read, and says which they were. That is on record
    /// first.
    pub fn revoke_all(&self) -> Result<Vec<StoredGrant>, StoreError> {
        match self.revoke(|_| true) {
            Err(StoreError::Malformed { .. } | StoreError::Kernel { .. }) => {}
            done => return done,
        }
        let directory = Directory::open(&self.state)?;
        let _lock = self.lock(&directory)?;
        let (executor, capability) = (EVERY.into(), EVERY.into());
        let event = Event::GrantRevoked { executor, capability, target: "".into() };
        record(&self.state, event).map_err(StoreError::Record)?;
        self.write(&directory, Vec::new())?;
        Ok(Vec::new())
    }

    fn lock(&self, directory: &Directory) -> Result<OwnedFd, StoreError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(directory, LOCK_NAME, flags, OWNER_ALONE);
        let lock = lock.map_err(self.failed("open", LOCK_NAME))?;
        loop {
            match rustix::fs::flock(lock.as_fd(), FlockOperation::LockExclusive) {
                Err(Errno::INTR) => continue,
                locked => break locked.map_err(self.failed("flock", LOCK_NAME))?,
            }
        }
        Ok(lock)
    }

    fn read(&self, directory: &Directory) -> Result<Vec<StoredGrant>, StoreError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(directory, FILE_NAME, flags, Mode::empty()) {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(self.failed("open", FILE_NAME)(errno)),
        };
        let status = rustix::fs::fstat(&file).map_err(self.failed("fstat", FILE_NAME))?;
        let is_own = status.st_uid == rustix::process::geteuid().as_raw();
        if !is_own || status.st_mode & WRITABLE_BY_OTHERS != 0 {
            return Err(self.malformed("somebody else owns it or may write to it".to_owned()));
        }
        let mut text = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut text);
        read.map_err(|error| self.malformed(error.to_string()))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(self.malformed(format!("it is larger than {MOST_BYTES} bytes")));
        }
        let contents: Contents =
            serde_json::from_slice(&text).map_err(|error| self.malformed(error.to_string()))?;
        if contents.version != VERSION {
            return Err(self.malformed(format!("its version is {}", contents.version)));
        }
        Ok(contents.grants)
    }

    /// Writes beside the file and renames over it: a reader sees the old one or the new one.
    fn write(&self, directory: &Directory, grants: Vec<StoredGrant>) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(&Contents { version: VERSION, grants })
            .map_err(|error| self.malformed(error.to_string()))?;
        text.push(b'\n');
        // What a killed predecessor left: the lock is held.
        match rustix::fs::unlinkat(directory, NEW_NAME, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(self.failed("unlink", NEW_NAME)(errno)),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, NEW_NAME, flags, OWNER_ALONE);
        let mut file = std::fs::File::from(file.map_err(self.failed("create", NEW_NAME))?);
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        written.map_err(|error| {
            self.failed("write", NEW_NAME)(Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        rustix::fs::renameat(directory, NEW_NAME, directory, FILE_NAME)
            .map_err(self.failed("rename", FILE_NAME))?;
        rustix::fs::fsync(directory).map_err(self.failed("fsync", ""))
    }

    fn new_id(&self) -> Result<String, StoreError> {
        let mut bytes = [0; 6];
        let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        got.map_err(self.failed("getrandom", ""))?;
        Ok(hexadecimal(&bytes))
    }

    fn malformed(&self, why: String) -> StoreError {
        StoreError::Malformed { path: self.state.as_path().join(FILE_NAME), why }
    }

    fn failed(&self, call: &'static str, name: &str) -> impl FnOnce(Errno) -> StoreError + use<> {
        let path = self.state.as_path().join(name);
        move |errno| StoreError::Kernel { call, path, errno }
    }
}

impl StoredGrant {
    /// Whether it has ended by a moment, in seconds since 1970.
    pub fn has_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    fn covers(&self, wanted: &NewGrant) -> bool {
        self.executor == wanted.executor
            && self.code_sha256 == wanted.code_sha256
            && self.capability == wanted.capability
            && self.target == wanted.target
    }
}

fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// On record for grants that nobody could read.
const EVERY: &str = "*";

const FILE_NAME: &str = "grants.json";
const NEW_NAME: &str = ".grants.json.new";
const LOCK_NAME: &str = "grants.lock";
const VERSION: u32 = 1;
const MOST_BYTES: u64 = 1 << 20;
const MOST_GRANTS: usize = 1000;
const OWNER_ALONE: Mode = Mode::RUSR.union(Mode::WUSR);
const WRITABLE_BY_OTHERS: u32 = 0o022;
