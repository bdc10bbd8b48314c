//! The host's side of an arena: everything that is made before an attack and taken away after it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::FdFlags;
use sys::raw;

use super::build::{self, Bait, Secrets, SetUp};
use super::harm::{Before, Seen};
use super::victim::SECRET_VARIABLE;
use super::{Arena, Handle, SharedNames, Victim};

/// Why an arena could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the arena: {call} on `{}`", subject.display())]
pub struct ArenaError {
    call: &'static str,
    subject: PathBuf,
    source: io::Error,
}

impl ArenaError {
    pub(super) fn at(call: &'static str, subject: &Path, source: impl Into<io::Error>) -> Self {
        Self { call, subject: subject.to_owned(), source: source.into() }
    }
}

/// An arena with all its bait. Dropping it takes everything away.
#[derive(Debug)]
pub struct HostArena {
    pub(super) arena: Arena,
    pub(super) secrets: Secrets,
    pub(super) victim: Child,
    pub(super) listeners: Vec<(&'static str, UnixListener)>,
    pub(super) datagrams: UnixDatagram,
    pub(super) fifo: OwnedFd,
    pub(super) before: Before,
    pub(super) seen: Seen,
    _base: Litter,
    _temporary: Litter,
    environment_secret: String,
    _kernel_objects: KernelObjects,
    _session_key: Option<raw::SessionKey>,
    _inherited: OwnedFd,
}

/// Objects that have a name in the kernel and no path.
#[derive(Debug)]
struct KernelObjects {
    _memory: Option<raw::SharedMemory>,
    _messages: Option<raw::MessageQueue>,
    _queue: Option<raw::PosixQueue>,
    _object_file: Litter,
}

/// A file or directory that goes when this value does, whether an arena came to be or not.
#[derive(Debug)]
struct Litter(PathBuf);

impl Drop for Litter {
    fn drop(&mut self) {
        // It may not be there yet, or not any more, and there is nobody to tell.
        let _removed = match self.0.is_dir() {
            true => wipe(&self.0),
            false => fs::remove_file(&self.0),
        };
    }
}

/// What a kernel keeps below a layer, nobody but root may look into, unless its owner changes that.
fn wipe(directory: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
        return Ok(());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::open(parent, flags, Mode::empty())?;
    let name = std::ffi::CString::new(name.as_bytes())?;
    Ok(sys::wipe::wipe(parent.as_fd(), &name)?)
}

impl HostArena {
    /// Sets an arena up in the directory of `set_up`.
    pub fn build(set_up: &SetUp, bait: Bait) -> Result<Self, ArenaError> {
        let id = build::random_text()?;
        let short: String = id.chars().take(12).collect();
        let base = set_up.directory().join(format!("stockade-arena-{short}"));
        fs::create_dir(&base).map_err(|source| ArenaError::at("mkdir", &base, source))?;
        let base_litter = Litter(base.clone());
        fs::set_permissions(&base, fs::Permissions::from_mode(0o700))
            .map_err(|source| ArenaError::at("chmod", &base, source))?;
        let home = base.join("home");
        let project = home.join("project");
        let outside = base.join("outside");
        let system = base.join("system");
        let secrets = set_up.secrets();
        build::lay_outside(&outside, &secrets, bait)?;
        build::lay_home(&home, &secrets)?;
        build::lay_system(&system, &secrets)?;
        build::lay_project(&project, &outside, &secrets, bait)?;
        set_up.place_attackers(&project)?;
        let temporary_file = PathBuf::from(format!("/tmp/stockade-bait-{short}"));
        let temporary_litter = Litter(temporary_file.clone());
        build::put(&temporary_file, secrets.issue("temporary")?)?;
        let mut names = SharedNames {
            key: i32::from_str_radix(short.get(..7).unwrap_or("1"), 16).unwrap_or(1),
            object: format!("stockade-{short}"),
            abstract_stream: format!("stockade-stream-{short}"),
            abstract_datagram: format!("stockade-datagram-{short}"),
            session_key: None,
        };
        let session_key = make_session_key(&names, &secrets, bait)?;
        names.session_key = session_key.as_ref().map(|_| names.object.clone());
        let kernel_objects = make_kernel_objects(&names, &secrets)?;
        let (victim, child) = start_victim(&set_up.executable(), &outside, &secrets)?;
        let listeners = listen(&outside, &names)?;
        let datagrams = abstract_address(&names.abstract_datagram)
            .and_then(|address| UnixDatagram::bind_addr(&address))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|source| {
                ArenaError::at("bind", Path::new(&names.abstract_datagram), source)
            })?;
        let secret_handle = handle_of(&outside.join("secret"));
        let fifo = make_fifo(&outside)?;
        let arena = Arena {
            overseer: victim.pid,
            project,
            outside: outside.clone(),
            home,
            system,
            temporary_file,
            victim,
            names,
            secret_handle,
        };
        let environment_secret = secrets.issue("environment")?;
        let host = Self {
            before: Before::of(&arena),
            fifo,
            _inherited: open_inheritable(&outside)?,
            seen: Seen::default(),
            arena,
            secrets,
            victim: child,
            listeners,
            datagrams,
            _base: base_litter,
            _temporary: temporary_litter,
            environment_secret,
            _kernel_objects: kernel_objects,
            _session_key: session_key,
        };
        host.write_down()?;
        Ok(host)
    }

    /// What attacking processes are told.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Tells the attacks that pid 1 stands over them, as it does in a cage.
    pub fn set_overseer(&mut self, pid: u32) -> Result<(), ArenaError> {
        self.arena.overseer = pid;
        self.write_down()
    }

    /// Gives a command the environment of a user with something to lose.
    pub fn dress(&self, command: &mut Command) {
        let outside = &self.arena.outside;
        let bus = format!("unix:path={}", outside.join("bus").display());
        command
            .env("HOME", &self.arena.home)
            .env("XDG_CONFIG_HOME", self.arena.home.join(".config"))
            .env("XDG_STATE_HOME", self.arena.home.join(".local/state"))
            .env("SSH_AUTH_SOCK", outside.join("agent.sock"))
            .env("DBUS_SESSION_BUS_ADDRESS", bus)
            .env("DISPLAY", ":99")
            .env("AWS_SECRET_ACCESS_KEY", &self.environment_secret)
            .current_dir(&self.arena.project);
    }

    /// Writes the configuration of the arena's user.
    pub fn configure(&self, text: &str) -> Result<(), ArenaError> {
        build::put(&self.arena.home.join(".config/stockade/config.toml"), text)
    }

    /// The secret of this arena that a text holds.
    pub fn secret_in(&self, text: &str) -> Option<String> {
        self.secrets.found_in(text)
    }

    fn write_down(&self) -> Result<(), ArenaError> {
        let text = serde_json::to_vec(&self.arena)
            .map_err(|error| ArenaError::at("encode", &self.arena.project, error))?;
        build::put(&Arena::file(&self.arena.project), text)
    }
}

impl Drop for HostArena {
    fn drop(&mut self) {
        // It may have ended already, and there is nobody left to tell.
        let _ended = self.victim.kill();
        let _reaped = self.victim.wait();
    }
}

fn make_kernel_objects(
    names: &SharedNames,
    secrets: &Secrets,
) -> Result<KernelObjects, ArenaError> {
    let object_file = Path::new("/dev/shm").join(&names.object);
    let object_litter = Litter(object_file.clone());
    let shown = Path::new(&names.object);
    if object_file.parent().is_some_and(Path::is_dir) {
        build::put(&object_file, secrets.issue("posix-memory")?)?;
    }
    // A kernel built without one of these has nothing to attack there.
    let optional = |call, result| match result {
        Err(rustix::io::Errno::NOSYS) => Ok(None),
        Err(errno) => Err(ArenaError::at(call, shown, io::Error::from(errno))),
        Ok(()) => Ok(Some(())),
    };
    let memory = raw::SharedMemory::new(names.key, secrets.issue("memory")?.as_bytes());
    optional("shmget", memory.as_ref().map(drop).map_err(|errno| *errno))?;
    let messages = raw::MessageQueue::new(names.key, secrets.issue("messages")?.as_bytes());
    optional("msgget", messages.as_ref().map(drop).map_err(|errno| *errno))?;
    let name = std::ffi::CString::new(format!("/{}", names.object))
        .map_err(|error| ArenaError::at("name", shown, io::Error::from(error)))?;
    let queue = raw::PosixQueue::new(&name, secrets.issue("queue")?.as_bytes());
    optional("mq_open", queue.as_ref().map(drop).map_err(|errno| *errno))?;
    Ok(KernelObjects {
        _memory: memory.ok(),
        _messages: messages.ok(),
        _queue: queue.ok(),
        _object_file: object_litter,
    })
}

/// None where the kernel keeps no keys, or where whoever started this process may make none. What an arena's
/// thread starts is in the same session, uncaged and in a cage.
fn make_session_key(
    names: &SharedNames,
    secrets: &Secrets,
    bait: Bait,
) -> Result<Option<raw::SessionKey>, ArenaError> {
    if bait != Bait::ForAttacks {
        return Ok(None);
    }
    let name = std::ffi::CString::new(names.object.as_str()).map_err(|error| {
        ArenaError::at("name", Path::new(&names.object), io::Error::from(error))
    })?;
    Ok(raw::SessionKey::new(&name, secrets.issue("session-key")?.as_bytes()).ok())
}

fn start_victim(
    executable: &Path,
    outside: &Path,
    secrets: &Secrets,
) -> Result<(Victim, Child), ArenaError> {
    let refused = |source: io::Error| ArenaError::at("start the victim with", executable, source);
    let mut child = Command::new(executable)
        .args(["__attack", "victim"])
        .arg(outside)
        .env(SECRET_VARIABLE, secrets.issue("victim-environment")?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(refused)?;
    let secret = secrets.issue("victim-memory")?;
    if let Some(stdin) = child.stdin.as_mut() {
        writeln!(stdin, "{secret}").map_err(refused)?;
    }
    let mut line = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        io::BufReader::new(stdout).read_line(&mut line).map_err(refused)?;
    }
    match serde_json::from_str(&line) {
        Ok(victim) => Ok((victim, child)),
        Err(error) => {
            let _ended = child.kill();
            let _reaped = child.wait();
            Err(refused(error.into()))
        }
    }
}

fn listen(
    outside: &Path,
    names: &SharedNames,
) -> Result<Vec<(&'static str, UnixListener)>, ArenaError> {
    let mut listeners = Vec::new();
    for (label, file) in [("agent socket", "agent.sock"), ("bus", "bus")] {
        let path = outside.join(file);
        let listener =
            UnixListener::bind(&path).map_err(|source| ArenaError::at("bind", &path, source))?;
        listeners.push((label, listener));
    }
    let shown = Path::new(&names.abstract_stream);
    let listener = abstract_address(&names.abstract_stream)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|source| ArenaError::at("bind", shown, source))?;
    listeners.push(("abstract socket", listener));
    for (_, listener) in &listeners {
        listener.set_nonblocking(true).map_err(|source| ArenaError::at("fcntl", shown, source))?;
    }
    Ok(listeners)
}

fn abstract_address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

fn make_fifo(outside: &Path) -> Result<OwnedFd, ArenaError> {
    let path = outside.join("fifo");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0)
        .map_err(|source| ArenaError::at("mkfifo", &path, source))?;
    rustix::fs::open(&path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
        .map_err(|source| ArenaError::at("open", &path, source))
}

/// A directory descriptor that a careless launcher would hand on.
fn open_inheritable(outside: &Path) -> Result<OwnedFd, ArenaError> {
    let descriptor = rustix::fs::open(outside, OFlags::DIRECTORY, Mode::empty())
        .map_err(|source| ArenaError::at("open", outside, source))?;
    rustix::io::fcntl_setfd(&descriptor, FdFlags::empty())
        .map_err(|source| ArenaError::at("fcntl", outside, source))?;
    Ok(descriptor)
}

fn handle_of(path: &Path) -> Option<Handle> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    let handle = raw::name_to_handle(&path).ok()?;
    Some(Handle { kind: handle.kind, bytes: handle.bytes })
}
