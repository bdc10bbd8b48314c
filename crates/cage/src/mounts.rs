//! The supervisor's side of mounts that a process of ours serves: starts one process for each, hands it the descriptor on
//! which the kernel asks, hears when it ends, and waits for what is late. Never sees a byte of a file.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use credentials::Stores;
use fileserver::control::{COMMAND, Channel, Order, ServerReport, Task, TaskSource};
use jail::Child;
use plan::{
    Bind, BindPurpose, GuestPath, HostPath, Mapping, MountOp, Plan, RemoteStore, Served,
    ServedFrom, SourceIndex,
};
use policy::Limits;
use policy::shown::shown;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};
use sys::channel::Waiting;
use sys::exec::CStringArray;
use sys::spawn::Program;

use crate::outcome::SpawnError;

/// To be called first of all by a program that answers to [`COMMAND`]: only then it can be started anew to serve mounts.
pub fn this_program_serves_mounts() {
    SERVES.store(true, Ordering::Relaxed);
}

static SERVES: AtomicBool = AtomicBool::new(false);

/// The processes that serve the mounts of one cage. Dropping it waits until what was written is where it belongs, for
/// some time, and ends them.
#[derive(Debug, Default)]
pub(crate) struct FileServers {
    all: Vec<FileServer>,
    /// What was lost so far.
    lost: Mutex<Vec<LostMount>>,
}

/// One that is gone although its cage is not, or that could not bring everything where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostMount {
    /// Which mount.
    pub(crate) at: GuestPath,
    /// Why, as far as the process could say.
    pub(crate) reason: String,
}

#[derive(Debug)]
struct FileServer {
    at: GuestPath,
    /// Whose credential it needs, and what is configured about that.
    store: Option<(RemoteStore, Stores)>,
    control: Channel,
    pidfd: OwnedFd,
    /// Whether it has said all.
    is_silent: Mutex<bool>,
    /// Whether it was told to serve, and can have anything that has to arrive somewhere.
    has_begun: AtomicBool,
    /// Whether it was ended because it did not end.
    was_given_up: AtomicBool,
}

impl FileServers {
    /// Starts a process for each mount of a Plan that needs one. They jail themselves and open what they serve while the
    /// cage is being built.
    pub(crate) fn start(plan: &Plan, sources: &[OwnedFd]) -> Result<Self, SpawnError> {
        let served = plan.walls.mounts.iter().filter_map(MountOp::served_outside);
        let all = served.map(|served| FileServer::start(plan, served, sources));
        Ok(Self { all: all.collect::<Result<_, _>>()?, lost: Mutex::default() })
    }

    /// Hands over what pid 1 made. When this returns, all of them serve.
    pub(crate) fn serve(&self, child: &mut Child) -> Result<(), SpawnError> {
        let devices = child.take_files()?;
        if devices.len() != self.all.len() {
            return Err(jail::StartError::Vanished.into());
        }
        let device_of = |server: &FileServer| {
            // Pid 1 mounts what is in its own memory before what is in the host's directories.
            let device = devices.iter().find(|(at, _)| *at == server.at);
            device.map(|(_, device)| device).ok_or(jail::StartError::Vanished)
        };
        for server in &self.all {
            let device = device_of(server)?;
            let keys = match &server.store {
                Some((store, stores)) => stores.keys(store).map_err(|why| server.problem(why))?,
                None => fileserver::control::Keys::None,
            };
            server.has_begun.store(true, Ordering::Relaxed);
            let sent = server.control.send(&Order::Serve(keys), &[device.as_fd()]);
            // One that is gone has said why.
            let _said_below = sent;
        }
        // Nobody else may hold them: the kernel notices that a server is gone by its device.
        drop(devices);
        let end = Instant::now() + PATIENCE;
        self.all.iter().try_for_each(|server| server.wait_until_serving(end))
    }

    /// Readable when [`Self::lost`] has something to tell.
    pub(crate) fn events(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.all.iter().filter(|server| !server.is_silent()).map(|server| server.control.as_fd())
    }

    /// Those that have ended since this was last asked.
    pub(crate) fn lost(&self) -> Vec<LostMount> {
        let new: Vec<LostMount> = self.all.iter().filter_map(FileServer::heard_end).collect();
        self.all_lost().extend(new.iter().cloned());
        new
    }

    /// Waits until what was written is where it belongs, for some time: for when the cage is gone, and with it the mounts.
    /// Returns what is lost and was not returned before.
    pub(crate) fn finish(&self) -> Vec<LostMount> {
        let end = Instant::now() + LATE;
        self.all.iter().for_each(|server| server.finish(end));
        self.lost()
    }

    /// Everything that was lost, as a person is told it.
    pub(crate) fn told(&self) -> Vec<String> {
        let sentence = |lost: &LostMount| {
            format!("the mount on `{}`: {}", shown(&lost.at), shown(&lost.reason))
        };
        self.all_lost().iter().map(sentence).collect()
    }

    fn all_lost(&self) -> MutexGuard<'_, Vec<LostMount>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl FileServer {
    fn start(plan: &Plan, served: &Served, sources: &[OwnedFd]) -> Result<Self, SpawnError> {
        let at = served.at.clone();
        let failed = |errno: Errno| problem(&at, std::io::Error::from(errno));
        if !SERVES.load(Ordering::Relaxed) {
            return Err(problem(
                &at,
                "only the program `stockade` can serve it; start it with that",
            ));
        }
        let mut asked = None;
        let found = |index: SourceIndex| {
            let (opened, source) = (sources.get(index.position()), plan.source(index));
            let (opened, source) = opened.zip(source).ok_or_else(|| failed(Errno::BADF))?;
            Ok::<_, SpawnError>((opened, source.path.clone()))
        };
        let (from, directories) = match &served.from {
            ServedFrom::Store { directory, name } => {
                let (opened, directory) = found(*directory)?;
                (TaskSource::Store { directory, name: name.clone() }, vec![opened])
            }
            ServedFrom::Layers(layers) => {
                let (below, lower) = found(layers.lower)?;
                let (above, area) = found(layers.area)?;
                let (hidden, read_only) = (layers.hidden.clone(), layers.read_only.clone());
                let lower_owner = match layers.mapping {
                    Mapping::Plain => None,
                    Mapping::Owner { uid, gid } => Some((uid, gid)),
                };
                let from = TaskSource::Layers { lower, lower_owner, area, hidden, read_only };
                (from, vec![below, above])
            }
            ServedFrom::Remote(store) => {
                // Before anything is started: what is missing is known by now.
                let stores = Stores::of_this_process().map_err(|why| problem(&at, why))?;
                stores.check(store).map_err(|why| problem(&at, why))?;
                let files = stores.files(store).map_err(|why| problem(&at, why))?;
                if let Some(seen) = files.iter().find(|path| is_shown(plan, path)) {
                    let seen = shown(seen.display());
                    return Err(problem(
                        &at,
                        format!(
                            "the cage could read its credential in `{seen}`: keep it beside your configuration, or hide it"
                        ),
                    ));
                }
                let source = stores.source(store);
                asked = Some((store.clone(), stores));
                (source, Vec::new())
            }
            // By a process of the cage's own.
            ServedFrom::Inside(_) => return Err(failed(Errno::INVAL)),
        };
        let identity = &plan.walls.identity;
        let most_mb = plan.walls.limits.workspace_mb.unwrap_or(Limits::WORKSPACE_MB);
        let task = Task {
            from,
            access: served.access,
            uid: identity.uid,
            gid: identity.gid,
            most_bytes: most_mb.saturating_mul(1 << 20),
        };
        let (control, theirs) = Channel::pair().map_err(failed)?;
        let pid = spawn(theirs.as_fd()).map_err(failed)?;
        drop(theirs);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(failed)?;
        let server = Self {
            at: at.clone(),
            store: asked,
            control,
            pidfd,
            is_silent: Mutex::default(),
            has_begun: AtomicBool::default(),
            was_given_up: AtomicBool::default(),
        };
        let directories: Vec<BorrowedFd<'_>> = directories.into_iter().map(AsFd::as_fd).collect();
        let order = Order::Prepare(Box::new(task));
        server.control.send(&order, &directories).map_err(failed)?;
        Ok(server)
    }

    fn wait_until_serving(&self, end: Instant) -> Result<(), SpawnError> {
        loop {
            self.wait_readable(end).map_err(|errno| match errno {
                Errno::TIMEDOUT => self.problem("it did not answer in time"),
                errno => self.problem(std::io::Error::from(errno)),
            })?;
            match self.control.receive(Waiting::Refused) {
                Ok(Some((ServerReport::Serving, _))) => return Ok(()),
                Ok(Some((ServerReport::Failed { reason }, _))) => return Err(self.problem(reason)),
                Ok(Some((ServerReport::Ended { .. }, _)) | None) => {
                    return Err(self.problem("the process that serves it ended without a word"));
                }
                Err(Errno::AGAIN) => {}
                Err(errno) => return Err(self.problem(std::io::Error::from(errno))),
            }
        }
    }

    /// Whether it has ended, and why, once.
    fn heard_end(&self) -> Option<LostMount> {
        let mut is_silent = self.is_silent.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_silent {
            return None;
        }
        let reason = match self.control.receive(Waiting::Refused) {
            Err(Errno::AGAIN) => return None,
            Ok(Some((ServerReport::Failed { reason }, _))) => reason,
            Ok(Some((ServerReport::Ended { fault: Some(fault) }, _))) => fault,
            // The mount is gone with its cage, as it should be.
            Ok(Some(_)) => {
                *is_silent = true;
                return None;
            }
            Ok(None) | Err(_) if self.was_given_up.load(Ordering::Relaxed) => format!(
                "what was written last may not be there: it took longer than {} seconds",
                LATE.as_secs()
            ),
            Ok(None) | Err(_) => "the process that served it has ended".to_owned(),
        };
        *is_silent = true;
        Some(LostMount { at: self.at.clone(), reason })
    }

    fn is_silent(&self) -> bool {
        *self.is_silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mount goes with the cage, and the process with the mount.
    fn finish(&self, end: Instant) {
        // Nothing has been written to one that waits for its order still.
        let end = if self.has_begun.load(Ordering::Relaxed) { end } else { Instant::now() };
        if wait(self.pidfd.as_fd(), end).is_err() {
            self.was_given_up.store(true, Ordering::Relaxed);
            let _gone = sys::signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
        }
        let ended = WaitId::PidFd(self.pidfd.as_fd());
        while let Err(Errno::INTR) = rustix::process::waitid(ended.clone(), WaitIdOptions::EXITED) {
        }
    }

    fn wait_readable(&self, end: Instant) -> Result<(), Errno> {
        wait(self.control.as_fd(), end)
    }

    fn problem(&self, why: impl ToString) -> SpawnError {
        problem(&self.at, why)
    }
}

impl Drop for FileServers {
    fn drop(&mut self) {
        let end = Instant::now() + LATE;
        self.all.iter().for_each(|server| server.finish(end));
    }
}

/// Starts this program anew, with the other end of the channel and nothing else of this process.
fn spawn(control: BorrowedFd<'_>) -> Result<Pid, Errno> {
    let nothing =
        rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    // Above the numbers that they get.
    let control = rustix::io::fcntl_dupfd_cloexec(control, FIRST_BEYOND_STANDARD)?;
    let nothing = rustix::io::fcntl_dupfd_cloexec(nothing, FIRST_BEYOND_STANDARD)?;
    let word = CString::new(COMMAND).map_err(|_| Errno::INVAL)?;
    // Only where a test leaves a wall out.
    let left_out = walls::handed_on().map(|(name, value)| {
        CString::new([name.as_bytes(), b"=", value.as_encoded_bytes()].concat())
    });
    let environment = left_out.transpose().map_err(|_| Errno::INVAL)?;
    sys::spawn::spawn(&Program {
        path: c"/proc/self/exe",
        arguments: &CStringArray::new(vec![c"stockade".to_owned(), word]),
        environment: &CStringArray::new(environment.into_iter().collect()),
        working_directory: c"/",
        descriptors: &[control.as_fd(), nothing.as_fd(), nothing.as_fd()],
    })
}

fn wait(descriptor: BorrowedFd<'_>, end: Instant) -> Result<(), Errno> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let mut waiting = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        match rustix::event::poll(&mut waiting, Some(&left)) {
            Ok(0) => return Err(Errno::TIMEDOUT),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Whether a cage has what the host has at a path, by the last of its mounts that covers it.
fn is_shown(plan: &Plan, path: &Path) -> bool {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Ok(path) = HostPath::new(real.into_os_string()) else { return false };
    let at = GuestPath::same_as(&path);
    let covers = |operation: &&MountOp| {
        if operation.is_mount() { at.is_within(operation.at()) } else { at == *operation.at() }
    };
    let covering = plan.walls.mounts.iter().rfind(covers);
    let is_own = |bind: &Bind| matches!(bind.purpose, BindPurpose::Scratch | BindPurpose::Home);
    covering.is_some_and(|operation| {
        operation.overlay().is_some() || operation.bind().is_some_and(|bind| !is_own(bind))
    })
}

fn problem(at: &GuestPath, why: impl ToString) -> SpawnError {
    SpawnError::Mount { at: at.to_string(), problem: why.to_string() }
}

/// How long all of them together may take to serve: a store far away is asked once.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long what is late has to arrive where it belongs.
const LATE: Duration = Duration::from_secs(30);
const FIRST_BEYOND_STANDARD: i32 = 3;
