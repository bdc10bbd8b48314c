//! The supervisor's side of mounts that a process of ours serves: starts one process for each, hands it the descriptor on
//! which the kernel asks, hears when it ends, and waits for what is late. Never sees a byte of a file.

mod credentials;

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fileserver::control::{COMMAND, Channel, Order, ServerReport, Task, TaskSource};
use jail::Child;
use plan::{GuestPath, Mapping, MountOp, Plan, RemoteStore, Served, ServedFrom, SourceIndex};
use policy::Limits;
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
pub(crate) struct FileServers(Vec<FileServer>);

/// One that is gone although its cage is not.
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
    /// Whose credential it needs.
    store: Option<RemoteStore>,
    control: Channel,
    pidfd: OwnedFd,
    /// Whether it has said all.
    is_silent: Mutex<bool>,
}

impl FileServers {
    /// Starts a process for each mount of a Plan that needs one. They jail themselves and open what they serve while the
    /// cage is being built.
    pub(crate) fn start(plan: &Plan, sources: &[OwnedFd]) -> Result<Self, SpawnError> {
        let served = plan.walls.mounts.iter().filter_map(MountOp::served);
        served
            .map(|served| FileServer::start(plan, served, sources))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Hands over what pid 1 made. When this returns, all of them serve.
    pub(crate) fn serve(&self, child: &mut Child) -> Result<(), SpawnError> {
        let devices = child.take_files()?;
        if devices.len() != self.0.len() {
            return Err(jail::StartError::Vanished.into());
        }
        for server in &self.0 {
            // Pid 1 mounts what is in its own memory before what is in the host's directories.
            let device = devices.iter().find(|(at, _)| *at == server.at);
            let (_, device) = device.ok_or(jail::StartError::Vanished)?;
            let keys = match &server.store {
                Some(store) => credentials::keys(store).map_err(|why| server.problem(why))?,
                None => fileserver::control::Keys::None,
            };
            let sent = server.control.send(&Order::Serve(keys), &[device.as_fd()]);
            // One that is gone has said why.
            let _said_below = sent;
        }
        // Nobody else may hold them: the kernel notices that a server is gone by its device.
        drop(devices);
        let end = Instant::now() + PATIENCE;
        self.0.iter().try_for_each(|server| server.wait_until_serving(end))
    }

    /// Readable when [`Self::lost`] has something to tell.
    pub(crate) fn events(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().filter(|server| !server.is_silent()).map(|server| server.control.as_fd())
    }

    /// Those that have ended since this was last asked.
    pub(crate) fn lost(&self) -> Vec<LostMount> {
        self.0.iter().filter_map(FileServer::heard_end).collect()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
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
                credentials::keys(store).map_err(|why| problem(&at, why))?;
                (credentials::source(store), Vec::new())
            }
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
        let store = match &served.from {
            ServedFrom::Remote(store) => Some(store.clone()),
            ServedFrom::Store { .. } | ServedFrom::Layers(_) => None,
        };
        let is_silent = Mutex::default();
        let server = Self { at: at.clone(), store, control, pidfd, is_silent };
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
            Ok(None) | Err(_) => "the process that served it has ended".to_owned(),
        };
        *is_silent = true;
        Some(LostMount { at: self.at.clone(), reason })
    }

    fn is_silent(&self) -> bool {
        *self.is_silent.lock().unwrap_or_else(PoisonError::into_inner)
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
        for server in &self.0 {
            // The mount goes with the cage, and the process with the mount.
            if wait(server.pidfd.as_fd(), end).is_err() {
                let _gone = sys::signal::send_by_handle(server.pidfd.as_fd(), libc::SIGKILL);
            }
            let ended = WaitId::PidFd(server.pidfd.as_fd());
            while let Err(Errno::INTR) =
                rustix::process::waitid(ended.clone(), WaitIdOptions::EXITED)
            {}
        }
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

fn problem(at: &GuestPath, why: impl ToString) -> SpawnError {
    SpawnError::Mount { at: at.to_string(), problem: why.to_string() }
}

/// How long all of them together may take to serve: a store far away is asked once.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long what is late has to arrive where it belongs.
const LATE: Duration = Duration::from_secs(30);
const FIRST_BEYOND_STANDARD: i32 = 3;
