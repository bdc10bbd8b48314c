//! The daemon's life: it claims its socket, starts what has to be started before the first thread,
//! sweeps what a dead predecessor left, serves, drains and ends.

use std::ffi::OsString;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, SystemTime};

use audit::{Event, Log};
use cage::Egress;
use cage::prepare::{Caller, PolicyFiles};
use cage::runner::{Runner, RunnerOptions, Uncaged};
use cage::session::{END_OF_SESSION, Sessions as Store};
use cage::state::Directory;
use cage::state::{Account, Locations};
use cage::{EndReason, Swept};
use plan::HostPath;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit};
use sys::signal::Received;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Semaphore, mpsc};

use crate::admission::Admission;
use crate::cages::Cages;
use crate::daemon::{Daemon, MOST_EXPORTS};
use crate::instance::{Instance, Visibility};
use crate::log;
use crate::notify;
use crate::peer::Allowed;
use crate::phase::{Phase, Phases};
use crate::readiness::watch;
use crate::serve_error::ServeError;
use crate::server;
use crate::sessions::Sessions;
use crate::settings::{Mode, Settings};
use crate::signals::{Signals, WatchedSignals};
use crate::unauthenticated::Unauthenticated;

/// How a daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Somebody asked it to.
    Asked,
    /// It could start no more cages.
    Failed,
}

/// Serves until somebody asks for the end. Must be called while this process has a single thread.
pub fn serve(settings: Settings) -> Result<Stopped, ServeError> {
    let visibility =
        if settings.allowed_users.is_empty() { Visibility::Owner } else { Visibility::Everybody };
    let instance = Instance::claim(&settings.socket, visibility)?;
    // Before the first thread, so that none of them receives one.
    let signals = Signals::take()?;
    let mut caller = caller(settings.mode)?;
    caller.locations.token = settings.listen.as_ref().and_then(|listen| listen.token_file.clone());
    let state = match &caller.locations.state {
        Some(state) => Directory::open(state)?,
        None => return Err(cage::state::StateError::NoPlace.into()),
    };
    let egress = egress(&caller)?;
    let runner = start_runner(state.path(), egress, settings.model.clone())?;
    if let Some(reason) = runner.limits_not_enforced() {
        log::warning(reason);
    }
    let log = Arc::clone(runner.log());
    // After the fork of the launcher: what cages may have open is not what the daemon may.
    raise_descriptor_limit();
    let store = Store::open(state.path())?;
    let swept = sweep(&store, &log)?;
    let (drain, asked) = mpsc::channel(1);
    let tcp = listen_on_tcp(&settings)?;
    let address = |listener: &TcpListener| listener.local_addr().ok();
    let daemon = Arc::new(Daemon {
        allowed: Allowed::new(settings.allowed_users.clone()),
        admission: Admission::new(settings.most_connections, settings.most_connections_of_one),
        unauthenticated: Unauthenticated::new(MOST_UNAUTHENTICATED),
        exports: Arc::new(Semaphore::new(MOST_EXPORTS)),
        rejected: Admission::new(MOST_REJECTED, MOST_REJECTED_OF_ONE),
        sessions: Sessions::new(store, Arc::clone(&log)),
        cages: Arc::new(Cages::default()),
        phase: Phases::new(),
        started: SystemTime::now(),
        untracked: Mutex::new(Vec::new()),
        settings,
        caller,
        state,
        log,
        runner,
        listening: tcp.as_ref().and_then(address),
        swept,
        drain,
    });
    daemon.log.record(&Event::DaemonStarted {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").into(),
        mode: daemon.settings.mode.recorded(),
        sandbox: !daemon.settings.no_sandbox,
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_THREADS)
        .build()
        .map_err(|error| ServeError::kernel("start the runtime", &error))?;
    let stopped = runtime.block_on(live(Arc::clone(&daemon), &instance, tcp, signals, asked));
    runtime.shutdown_timeout(LAST_TASKS);
    stopped
}

/// The daemon's user as the caller of everything. One for the system has the system's places,
/// whoever's home it was started from.
fn caller(mode: Mode) -> Result<Caller, ServeError> {
    // A directory that somebody may remove is no place to stand in.
    std::env::set_current_dir("/").map_err(|error| ServeError::kernel("chdir `/`", &error))?;
    let mut caller = Caller::of_this_process()?;
    if mode == Mode::System {
        caller.locations = Locations::from_environment(|_| None, Account::Root);
    }
    for warning in &caller.locations.warnings {
        log::warning(&warning.to_string());
    }
    Ok(caller)
}

/// How the user's configuration has connections leave this machine.
fn egress(caller: &Caller) -> Result<Egress, ServeError> {
    let settings = PolicyFiles::user_network(caller).map_err(advice::Failure::from)?;
    let variable = |name: &str| caller.variable(name).map(Into::into);
    Ok(Egress::new(&settings, variable).map_err(advice::Failure::from)?)
}

fn start_runner(
    state: &HostPath,
    egress: Egress,
    model: Vec<OsString>,
) -> Result<Runner, ServeError> {
    let options = RunnerOptions {
        egress,
        model: Some(model),
        uncaged: Uncaged::Allow,
        ..RunnerOptions::new(state.clone())
    };
    Ok(Runner::start(options)?)
}

/// A thousand cages need several descriptors each.
fn raise_descriptor_limit() {
    let now = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: now.maximum, maximum: now.maximum };
    if let Err(errno) = rustix::process::setrlimit(Resource::Nofile, raised) {
        let error = std::io::Error::from(errno);
        log::warning(&format!("the limit on open files stays as it is: {error}"));
    }
}

/// The socket on TCP, if there is to be one.
fn listen_on_tcp(settings: &Settings) -> Result<Option<TcpListener>, ServeError> {
    let Some(listen) = &settings.listen else { return Ok(None) };
    let address = listen.address;
    TcpListener::bind(address).map(Some).map_err(|error| {
        let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
        ServeError::Listen { address, errno }
    })
}

/// Removes what a dead predecessor left, and says so.
fn sweep(store: &Store, log: &Log) -> Result<Vec<Swept>, ServeError> {
    let mut swept = cage::sweep_groups();
    swept.extend(cage::sweep_sessions(store)?);
    for one in &swept {
        match one.left {
            None => log::note(&one.to_string()),
            Some(_) => log::warning(&one.to_string()),
        }
    }
    cage::record_swept(log, &swept)?;
    Ok(swept)
}

/// Serves, until the end.
async fn live(
    daemon: Arc<Daemon>,
    instance: &Instance,
    tcp: Option<TcpListener>,
    signals: Signals,
    mut asked: mpsc::Receiver<String>,
) -> Result<Stopped, ServeError> {
    let signals = signals.watched()?;
    let listener = instance.listen()?;
    tokio::spawn(server::serve_unix(Arc::clone(&daemon), listener));
    if let (Some(listener), Some(listen)) = (tcp, &daemon.settings.listen) {
        tokio::spawn(server::serve_tcp(Arc::clone(&daemon), listener, listen.token.clone()));
    }
    look_for_untracked(&daemon);
    tokio::spawn(crate::retention::hold(Arc::clone(&daemon)));
    tell_start(&daemon);
    let launchers = LauncherWatch::new(daemon.runner.launcher_pids())?;
    let of_gatekeepers = LauncherWatch::new(daemon.runner.gatekeeper_launcher_pid())?;
    let (why, stopped) = loop {
        tokio::select! {
            received = signals.next() => match received? {
                Received { signal: libc::SIGHUP, .. } => log::note(
                    "policies are read for every start, so there is nothing to read again; \
                     `[network]` of the configuration holds until the daemon is started again",
                ),
                // Whoever ends a session asks all who have programs in it.
                Received { signal: libc::SIGTERM, word: Some(END_OF_SESSION) } => {
                    // None of them may be left by now.
                    if daemon.runner.heed_session_ends() > 0 {
                        log::note("a session is being ended, and its programs with it");
                    }
                }
                Received { signal, .. } => break (format!("signal {signal}"), Stopped::Asked),
            },
            Some(why) = asked.recv() => break (why, Stopped::Asked),
            () = crate::idle::end(&daemon) => {
                break ("nothing has run for long".to_owned(), Stopped::Asked);
            }
            () = launchers.end() => {
                break ("a launcher process ended".to_owned(), Stopped::Failed);
            }
            () = of_gatekeepers.end() => {
                break ("the launcher process of gatekeepers ended".to_owned(), Stopped::Failed);
            }
        }
    };
    log::note(&format!("draining: {why}"));
    let killed = drain(&daemon, &signals).await?;
    let pid = std::process::id();
    daemon.log.record(&Event::DaemonStopped { pid, reason: why.as_str().into(), killed })?;
    daemon.log.checkpoint()?;
    daemon.phase.advance(Phase::Ending);
    let deadline = tokio::time::Instant::now() + LAST_CONNECTIONS;
    while daemon.admission.count() > 0 && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    log::note("stopped");
    Ok(stopped)
}

fn tell_start(daemon: &Daemon) {
    let socket = daemon.settings.socket.display();
    log::note(&format!("serving `{socket}` as process {}", std::process::id()));
    if let Some(address) = daemon.listening {
        log::note(&format!("listening on {address}"));
    }
    if daemon.settings.no_sandbox {
        log::warning(
            "--no-sandbox: every program runs WITHOUT a cage, with the files, network and rights of \
             this user; each start is on record as `subagent.spawn.uncaged`",
        );
    }
    notify::ready();
}

/// Reads the record for programs that nobody watches over, while the daemon serves already.
fn look_for_untracked(daemon: &Arc<Daemon>) {
    let daemon = Arc::clone(daemon);
    tokio::task::spawn_blocking(move || {
        let found = crate::untracked::find(daemon.log.directory());
        for run in &found {
            let (id, pid) = (&run.id, run.pid);
            log::warning(&format!(
                "process {pid} runs without a cage (`{id}`), started by a supervisor that is gone; \
                 nobody watches over it"
            ));
        }
        let mut untracked =
            daemon.untracked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *untracked = found;
    });
}

/// Ends every cage: asks, waits, kills; at once when it is asked a second time. Returns how many ran.
async fn drain(daemon: &Arc<Daemon>, signals: &WatchedSignals) -> Result<u64, ServeError> {
    daemon.phase.advance(Phase::Draining);
    notify::stopping();
    let running = daemon.cages.list().into_iter().filter(|cage| !cage.has_ended());
    let running: Vec<_> = running.collect();
    let drained = {
        let daemon = Arc::clone(daemon);
        tokio::task::spawn_blocking(move || daemon.runner.drain(EndReason::Cancelled))
    };
    tokio::pin!(drained);
    loop {
        tokio::select! {
            // A thread that panicked has aborted the process.
            _drained = drained.as_mut() => break,
            received = signals.next() => if asks_for_the_end(received?) {
                log::note("asked again: killing what is left");
                for cage in daemon.cages.list() {
                    cage.handle.kill();
                }
            },
        }
    }
    for cage in &running {
        // What was left to do on the host is done before the end is on record.
        let _late = tokio::time::timeout(LAST_LOOKS, cage.ended()).await;
    }
    Ok(u64::try_from(running.len()).unwrap_or(u64::MAX))
}

/// Whether a daemon that drains is asked to end once more.
fn asks_for_the_end(received: Received) -> bool {
    received.signal != libc::SIGHUP && received.word != Some(END_OF_SESSION)
}

/// Reports the end of a process that starts cages or gatekeepers.
struct LauncherWatch(Vec<AsyncFd<OwnedFd>>);

impl LauncherWatch {
    fn new(launchers: impl IntoIterator<Item = Pid>) -> Result<Self, ServeError> {
        let watched = |pid| {
            let handle = rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)
                .map_err(|errno| ServeError::kernel("watch the launcher", &errno.into()))?;
            watch(handle, Interest::READABLE)
                .map_err(|error| ServeError::kernel("watch the launcher", &error))
        };
        launchers.into_iter().map(watched).collect::<Result<_, _>>().map(Self)
    }

    /// Returns when one of them has ended.
    async fn end(&self) {
        std::future::poll_fn(|context| {
            // A handle that cannot be watched says nothing.
            let mut has_ended = |handle: &AsyncFd<OwnedFd>| {
                matches!(handle.poll_read_ready(context), Poll::Ready(Ok(_)))
            };
            // Every one of them, so that each knows whom to wake.
            match self.0.iter().filter(|handle| has_ended(handle)).count() {
                0 => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
    }
}

/// Threads for what blocks: starts wait for the disk, and those that wait together are written
/// together.
const MOST_THREADS: usize = 128;

/// Most connections from TCP that have shown no token yet.
const MOST_UNAUTHENTICATED: usize = 64;

/// Most connections that wait for their refusal at once.
const MOST_REJECTED: usize = 64;
const MOST_REJECTED_OF_ONE: usize = 16;

/// How long looks at the host after a cage's end may take when the daemon ends.
const LAST_LOOKS: Duration = Duration::from_secs(10);

/// How long connections get when the daemon ends.
const LAST_CONNECTIONS: Duration = Duration::from_millis(1500);

const LAST_TASKS: Duration = Duration::from_secs(1);
