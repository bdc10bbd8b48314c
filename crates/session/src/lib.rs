//! Sessions: directories of the user's own that outlive a run. What a cage keeps in `/scratch` lies
//! in one, several runs can be in the same, and ending it ends them and removes everything.
//!
//! Nothing here looks at what programs have put into a session but to remove it. Each directory says
//! by itself whose it is and whether it is still needed, so what a killed process leaves is found
//! without any other record of it.
#![forbid(unsafe_code)]

mod areas;
mod beneath;
mod contents;
mod error;
mod id;
mod projects;
mod removal;
mod size;
mod users;

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use plan::HostPath;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

pub use areas::{Area, AreaKind, Areas, Roots, Use};
pub use contents::{Before, Contents};
pub use error::SessionError;
pub use id::{SessionId, SessionIdError};
pub use projects::{Project, Projects};
pub use size::Size;

use beneath::{DIRECTORY_FLAGS, check_ownership, has, make_file, open_below};
use users::User;

/// How long a program that was asked to end has for it.
pub const GRACE: Duration = Duration::from_secs(5);

/// The sessions of one user.
#[derive(Clone, Debug)]
pub struct Sessions(Arc<Store>);

#[derive(Debug)]
struct Store {
    directory: OwnedFd,
    path: HostPath,
    state: HostPath,
}

/// How long a session lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until somebody ends it.
    Kept,
    /// As long as the run that began it.
    OneRun,
    /// The same, unless a program changed something in a workspace of it: then until somebody ends it.
    IfChanged,
}

impl Life {
    /// The file in a session's directory that says it.
    fn mark(self) -> &'static str {
        match self {
            Self::Kept => KEPT,
            Self::OneRun => ONE_RUN,
            Self::IfChanged => IF_CHANGED,
        }
    }

    fn of(directory: &OwnedFd) -> Self {
        let said =
            [Self::OneRun, Self::IfChanged].into_iter().find(|life| has(directory, life.mark()));
        said.unwrap_or(Self::Kept)
    }
}

/// A session that this process is in. Dropping it leaves the session, which stays.
#[derive(Debug)]
pub struct Session {
    sessions: Sessions,
    id: SessionId,
    life: Life,
    is_new: bool,
    directory: OwnedFd,
    scratch: HostPath,
    user: User,
    held: Vec<Area>,
}

/// A session as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub id: SessionId,
    /// How long it lasts.
    pub life: Life,
    /// When it began.
    pub begun: SystemTime,
    /// When somebody last entered or left it.
    pub used: SystemTime,
    /// The processes that are in it.
    pub processes: Vec<Pid>,
    /// Whether somebody has begun to end it.
    pub ending: bool,
}

impl Sessions {
    /// The sessions kept in a state directory, which is the user's alone.
    pub fn open(state: &HostPath) -> Result<Self, SessionError> {
        let path = state.join(DIRECTORY).map_err(|_| SessionError::Kernel {
            call: "open",
            path: state.as_path().to_owned(),
            source: Errno::NAMETOOLONG,
        })?;
        let failed = |call| SessionError::kernel(call, path.as_path());
        match rustix::fs::mkdir(path.as_path(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("mkdir")(errno)),
        }
        let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
        let directory =
            rustix::fs::open(path.as_path(), flags, Mode::empty()).map_err(failed("open"))?;
        check_ownership(&directory, &path)?;
        // Where it really is: nothing on the way may be a link when a cage is given a part of it.
        let real = std::fs::canonicalize(path.as_path()).map_err(|error| {
            failed("canonicalize")(Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        let path = HostPath::new(real.into_os_string())
            .map_err(|_| failed("canonicalize")(Errno::NAMETOOLONG))?;
        Ok(Self(Arc::new(Store { directory, path, state: state.clone() })))
    }

    /// The state directory that they are kept in.
    pub fn state(&self) -> &HostPath {
        &self.0.state
    }

    /// Enters a session that is kept until somebody ends it, and begins it where it does not exist.
    pub fn enter(&self, id: &SessionId) -> Result<Session, SessionError> {
        self.enter_as(id, Life::Kept)
    }

    /// Begins a session for a single run.
    pub fn begin_for_one_run(&self) -> Result<Session, SessionError> {
        let id = SessionId::generate().map_err(self.failed("getrandom", ""))?;
        self.enter_as(&id, Life::OneRun)
    }

    /// Begins a session that is kept if a program changes something in a workspace of it. Its name begins with a
    /// word, as far as that can be a part of one.
    pub fn begin_for_changes(&self, word: &str) -> Result<Session, SessionError> {
        loop {
            let id = SessionId::generate_with(word).map_err(self.failed("getrandom", ""))?;
            let session = self.enter_as(&id, Life::IfChanged)?;
            if session.is_new {
                return Ok(session);
            }
        }
    }

    /// What a session is now.
    pub fn look(&self, id: &SessionId) -> Result<Listed, SessionError> {
        self.look_at(id)
    }

    /// The areas of a session, to be looked at by somebody who is not in it.
    pub fn areas(&self, id: &SessionId) -> Result<Vec<Area>, SessionError> {
        let directory = self.open_session(id)?;
        self.areas_below(id, &directory)?.list()
    }

    /// What programs have at `/scratch`, open for somebody who is not in the session.
    pub fn open_scratch(&self, id: &SessionId) -> Result<OwnedFd, SessionError> {
        let directory = self.open_session(id)?;
        open_below(&directory, SCRATCH).map_err(self.failed("open", id.as_str()))
    }

    fn areas_below(&self, id: &SessionId, directory: &OwnedFd) -> Result<Areas, SessionError> {
        let path =
            self.path_of(id).map_err(|_| self.failed("open", id.as_str())(Errno::NAMETOOLONG))?;
        Areas::below(directory, &path)
    }

    /// Every session there is, by name.
    pub fn list(&self) -> Result<Vec<Listed>, SessionError> {
        let mut listed = Vec::new();
        for name in self.names()? {
            let Ok(id) = SessionId::parse(&name) else { continue };
            match self.look_at(&id) {
                Ok(session) => listed.push(session),
                // It has ended meanwhile.
                Err(SessionError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        listed.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(listed)
    }

    /// Ends a session: asks the processes in it to end, waits for them, and removes everything.
    /// Returns how many there were.
    pub fn end(&self, id: &SessionId) -> Result<usize, SessionError> {
        let asked = self.ask_users_to_end(id)?;
        let deadline = Instant::now() + GRACE + MARGIN;
        loop {
            let lock = self.lock(FlockOperation::LockExclusive)?;
            let users = self.look_at(id)?.processes;
            if users.is_empty() {
                let gone = self.set_aside(id)?;
                drop(lock);
                self.wipe(gone)?;
                return Ok(asked);
            }
            drop(lock);
            if Instant::now() >= deadline {
                let processes = users.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
                return Err(SessionError::InUse { id: id.clone(), processes });
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Removes what nobody needs any more: sessions of a single run whose process is gone, those
    /// that somebody was ending, what a killed process had begun to make or to remove, and that it
    /// was in a session which stays. Returns which sessions; what cannot be removed is left for the next time.
    pub fn sweep(&self) -> Result<Vec<SessionId>, SessionError> {
        let Some(lock) = self.try_lock()? else { return Ok(Vec::new()) };
        let (mut swept, mut gone) = (Vec::new(), Vec::new());
        for name in self.names()? {
            match SessionId::parse(&name) {
                Err(_) if name.starts_with(NEW) || name.starts_with(ENDED) => gone.extend(
                    // Somebody is at work on one that is locked.
                    self.lock_remains(&name).unwrap_or_default(),
                ),
                Err(_) => {}
                Ok(id) => {
                    let Ok(session) = self.look_at(&id) else { continue };
                    if session.processes.is_empty() && self.is_unneeded(&session) {
                        gone.push(self.set_aside(&id)?);
                        swept.push(id);
                    } else {
                        self.forget_dead_users(&id)?;
                    }
                }
            }
        }
        drop(lock);
        for remains in gone {
            self.wipe(remains)?;
        }
        Ok(swept)
    }

    fn enter_as(&self, id: &SessionId, life: Life) -> Result<Session, SessionError> {
        let _lock = self.lock(FlockOperation::LockShared)?;
        let is_new = self.make(id, life)?;
        let directory = self.open_session(id)?;
        let life = if is_new { life } else { Life::of(&directory) };
        if life == Life::OneRun && !is_new {
            return Err(SessionError::OfOneRun(id.clone()));
        }
        if has(&directory, ENDING) {
            return Err(SessionError::Ending(id.clone()));
        }
        let users = open_below(&directory, USERS).map_err(self.failed("open", id.as_str()))?;
        let user = User::enter(users).map_err(self.failed("lock", id.as_str()))?;
        let scratch = self.path_of(id).and_then(|path| path.join(SCRATCH));
        let scratch = scratch.map_err(|_| self.failed("open", id.as_str())(Errno::NAMETOOLONG))?;
        let (sessions, id) = (self.clone(), id.clone());
        Ok(Session { sessions, id, life, is_new, directory, scratch, user, held: Vec::new() })
    }

    /// Makes a session whole before it has its name. Returns whether it was not there.
    fn make(&self, id: &SessionId, life: Life) -> Result<bool, SessionError> {
        let store = &self.0.directory;
        if rustix::fs::statat(store, id.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(false);
        }
        let unlike_all = SessionId::generate().map_err(self.failed("getrandom", ""))?;
        let name = format!("{NEW}{unlike_all}");
        let failed = |call| self.failed(call, &name);
        rustix::fs::mkdirat(store, &name, Mode::RWXU).map_err(failed("mkdir"))?;
        let new = open_below(store, &name).map_err(failed("open"))?;
        let fill = || -> Result<(), Errno> {
            rustix::fs::mkdirat(&new, SCRATCH, Mode::RWXU)?;
            rustix::fs::mkdirat(&new, USERS, Mode::RWXU)?;
            make_file(&new, life.mark())?;
            rustix::fs::renameat(store, &name, store, id.as_str())
        };
        match fill() {
            Ok(()) => Ok(true),
            Err(errno) => {
                self.wipe_name(&name)?;
                match errno {
                    // Another process was faster.
                    Errno::EXIST | Errno::NOTEMPTY => Ok(false),
                    errno => Err(failed("make")(errno)),
                }
            }
        }
    }

    fn ask_users_to_end(&self, id: &SessionId) -> Result<usize, SessionError> {
        let _lock = self.lock(FlockOperation::LockExclusive)?;
        let session = self.look_at(id)?;
        let directory = self.open_session(id)?;
        let failed = |call| self.failed(call, id.as_str());
        make_file(&directory, ENDING).map_err(failed("mark"))?;
        let users = open_below(&directory, USERS).map_err(failed("open"))?;
        for process in &session.processes {
            users::ask_to_end(*process, users.as_fd());
        }
        Ok(session.processes.len())
    }

    /// Under the exclusive lock: whoever enters has the shared one until its file is locked.
    fn forget_dead_users(&self, id: &SessionId) -> Result<(), SessionError> {
        let directory = self.open_session(id)?;
        let users = open_below(&directory, USERS).map_err(self.failed("open", id.as_str()))?;
        users::forget_dead(users.as_fd()).map_err(self.failed("remove", id.as_str()))
    }

    fn look_at(&self, id: &SessionId) -> Result<Listed, SessionError> {
        let directory = self.open_session(id)?;
        let failed = |call| self.failed(call, id.as_str());
        let users = match open_below(&directory, USERS) {
            Ok(users) => users,
            Err(errno) => return Err(failed("open")(errno)),
        };
        let life = Life::of(&directory);
        let status = rustix::fs::statat(&directory, life.mark(), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(failed("stat"))?;
        // Names come and go in it with those who enter and leave.
        let used = rustix::fs::fstat(&users).map_err(failed("fstat"))?.st_mtime;
        let since_1970 = |seconds: i64| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
        };
        Ok(Listed {
            id: id.clone(),
            life,
            begun: since_1970(status.st_mtime),
            used: since_1970(used),
            processes: users::living(users.as_fd()).map_err(failed("read"))?,
            ending: has(&directory, ENDING),
        })
    }

    fn open_session(&self, id: &SessionId) -> Result<OwnedFd, SessionError> {
        match open_below(&self.0.directory, id.as_str()) {
            Ok(directory) => Ok(directory),
            Err(Errno::NOENT) => Err(SessionError::NotFound(id.clone())),
            Err(errno) => Err(self.failed("open", id.as_str())(errno)),
        }
    }

    /// Holds back whoever wants to do something about sessions that does not go together with what
    /// the holder does: entering goes with entering, ending with nothing.
    fn lock(&self, operation: FlockOperation) -> Result<OwnedFd, SessionError> {
        let file = self.lock_file()?;
        loop {
            match rustix::fs::flock(&file, operation) {
                Ok(()) => return Ok(file),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.failed("lock", LOCK)(errno)),
            }
        }
    }

    fn try_lock(&self) -> Result<Option<OwnedFd>, SessionError> {
        let file = self.lock_file()?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(errno) => Err(self.failed("lock", LOCK)(errno)),
        }
    }

    fn lock_file(&self) -> Result<OwnedFd, SessionError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.0.directory, LOCK, flags, mode);
        file.map_err(self.failed("open", LOCK))
    }

    fn names(&self) -> Result<Vec<String>, SessionError> {
        beneath::names(&self.0.directory).map_err(self.failed("read", ""))
    }

    fn path_of(&self, id: &SessionId) -> Result<HostPath, plan::PathError> {
        self.0.path.join(id.as_str())
    }

    fn failed(&self, call: &'static str, name: &str) -> impl FnOnce(Errno) -> SessionError + use<> {
        SessionError::kernel(call, &self.0.path.as_path().join(name))
    }
}

impl Session {
    /// Its name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// How long it lasts.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Whether it began when this process entered it.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// What the programs of its cages have at `/scratch`.
    pub fn scratch(&self) -> &HostPath {
        &self.scratch
    }

    /// Whether somebody has begun to end it, and so wants its programs to end.
    pub fn is_ending(&self) -> bool {
        has(&self.directory, ENDING)
    }

    /// Keeps an area in use for as long as this process is in the session.
    pub fn hold(&mut self, area: Area) {
        self.held.push(area);
    }

    /// The areas that are kept in use.
    pub fn held(&self) -> &[Area] {
        &self.held
    }

    /// The directories of its own that it has for paths of the host.
    pub fn areas(&self) -> Result<Areas, SessionError> {
        self.sessions.areas_below(&self.id, &self.directory)
    }

    /// Leaves the session. One that nobody needs any more ends with that; whether it does is returned.
    pub fn leave(self) -> Result<bool, SessionError> {
        let Self { sessions, id, life, user, held, .. } = self;
        held.iter().for_each(Area::release);
        if life == Life::Kept {
            return Ok(false);
        }
        let lock = sessions.lock(FlockOperation::LockExclusive)?;
        drop(user);
        let session = sessions.look_at(&id)?;
        if !session.processes.is_empty() || !sessions.is_unneeded(&session) {
            return Ok(false);
        }
        let gone = sessions.set_aside(&id)?;
        drop(lock);
        sessions.wipe(gone)?;
        Ok(true)
    }
}

/// The word that comes with a `SIGTERM` to the processes in a session that is being ended. A process with
/// programs in several sessions is not to end by it, whether there is still one of that session or not.
pub const END_OF_SESSION: i32 = 0x5e55;

const DIRECTORY: &str = "sessions";
const SCRATCH: &str = "scratch";
const USERS: &str = "users";
const KEPT: &str = "kept";
const ONE_RUN: &str = "one-run";
const IF_CHANGED: &str = "if-changed";
const ENDING: &str = "ending";

/// No session's name begins with a dot, so none of these can be one.
const LOCK: &str = ".lock";
const NEW: &str = ".new-";
const ENDED: &str = ".ended-";

/// How much longer than its program may take to end a supervisor is waited for.
const MARGIN: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
