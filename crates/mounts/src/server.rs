//! The life of the process: leave everything that is its supervisor's, learn the task, start the dialer if one is needed,
//! enter the jail, open the engine, agree with the kernel, serve, and bring everything where it belongs.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use fileserver::Fuse;
use fileserver::control::{Channel, Keys, Order, ServerReport, Task, TaskSource};
use jail::helper_process::{
    HelperFiles, HelperJail, HelperLife, HelperNetwork, HostDirectory, confine,
};
use plan::seccomp::Helper;
use remote::Http;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use sys::channel::Waiting;
use walls::Wall;

use crate::dialer::Dialer;
use crate::engine::{self, Kept, Ready, with_causes};
use crate::layers;

/// Serves a mount, whose supervisor has the other end of standard input.
pub fn serve() -> ExitCode {
    let Ok(control) = leave_the_supervisor() else { return ExitCode::FAILURE };
    match prepare(&control).and_then(|prepared| begin(&control, prepared)) {
        Ok((fuse, kept)) => {
            let served = fuse.serve();
            drop(fuse);
            let fault = kept.end().or_else(|| served.err().map(|error| error.to_string()));
            // A supervisor that is gone has nobody to tell.
            let _told = control.send(&ServerReport::Ended { fault }, &[]);
            ExitCode::SUCCESS
        }
        Err(reason) => {
            let _told = control.send(&ServerReport::Failed { reason }, &[]);
            ExitCode::FAILURE
        }
    }
}

/// What is known before there are keys.
struct Prepared {
    task: Task,
    /// What lies on this machine, open; none for a store far away.
    here: Option<Ready>,
    http: Option<Http>,
}

fn prepare(control: &Channel) -> Result<Prepared, String> {
    let received = control.receive::<Order>(Waiting::Allowed).map_err(lost)?;
    let Some((Order::Prepare(task), descriptors)) = received else { return Err(out_of_turn()) };
    let task = *task;
    let mut descriptors = descriptors.into_iter();
    match &task.from {
        TaskSource::Store { directory: path, name } => {
            let object = descriptors.next().ok_or_else(out_of_turn)?;
            let files = HelperFiles::Directory(HostDirectory { path, object: object.as_fd() });
            enter_jail(Helper::StoreServer, files, DESCRIPTORS)?;
            let store = engine::store(&task, path, name)?;
            Ok(Prepared { task, here: Some(store), http: None })
        }
        TaskSource::Layers { lower, lower_owner, area, hidden, read_only } => {
            let (below, above) =
                descriptors.next().zip(descriptors.next()).ok_or_else(out_of_turn)?;
            let files = HelperFiles::Layers {
                lower: HostDirectory { path: lower, object: below.as_fd() },
                lower_owner: *lower_owner,
                area: HostDirectory { path: area, object: above.as_fd() },
            };
            enter_jail(Helper::LayerServer, files, DESCRIPTORS_OF_LAYERS)?;
            let layers = layers::open(&task, hidden, read_only)?;
            Ok(Prepared { task, here: Some(layers), http: None })
        }
        TaskSource::Remote { .. } => {
            let targets = engine::targets(&task).map_err(|error| with_causes(&error))?;
            let dialer = Dialer::start(targets).map_err(lost)?;
            let http = engine::http(dialer).map_err(|error| with_causes(&error))?;
            enter_jail(Helper::RemoteServer, HelperFiles::None, DESCRIPTORS)?;
            Ok(Prepared { task, here: None, http: Some(http) })
        }
    }
}

fn enter_jail(kind: Helper, files: HelperFiles<'_>, descriptors: u64) -> Result<(), String> {
    let (life, network) = (HelperLife::Own, HelperNetwork::None);
    enter(&HelperJail { kind, life, network, files, descriptors })
}

/// Puts this process into its jail.
pub(crate) fn enter(jail: &HelperJail<'_>) -> Result<(), String> {
    if walls::stands(Wall::FileServerJail) {
        confine(jail).map_err(|failure| failure.to_string())?;
    }
    Ok(())
}

/// Agrees with the kernel. From now on the process ends some time after its supervisor.
fn begin(control: &Channel, prepared: Prepared) -> Result<(std::sync::Arc<Fuse>, Kept), String> {
    let received = control.receive::<Order>(Waiting::Allowed).map_err(lost)?;
    let Some((Order::Serve(keys), mut devices)) = received else { return Err(out_of_turn()) };
    let device = devices.pop().ok_or_else(out_of_turn)?;
    let ready = open(prepared, keys)?;
    let Ready { engine, settings, kept } = ready;
    let fuse = Fuse::begin(engine, device, settings);
    let fuse = fuse.map_err(|error| format!("cannot begin with the kernel: {error}"))?;
    end_after_the_supervisor(control)?;
    control.send(&ServerReport::Serving, &[]).map_err(lost)?;
    Ok((fuse, kept))
}

fn open(prepared: Prepared, keys: Keys) -> Result<Ready, String> {
    match prepared {
        Prepared { here: Some(ready), .. } => Ok(ready),
        Prepared { task, http: Some(http), .. } => engine::far_away(&task, keys, http),
        Prepared { .. } => Err(out_of_turn()),
    }
}

/// Lets go of everything that is the supervisor's, and returns the channel to it.
fn leave_the_supervisor() -> Result<Channel, Errno> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    sys::signal::ignore(SIGPIPE)?;
    let nothing =
        rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    drop(nothing);
    let kept = u32::try_from(control.as_raw_fd()).map_err(|_| Errno::BADF)?;
    sys::descriptors::close_all_but(&[0, 1, 2, kept])?;
    rustix::process::umask(Mode::from_raw_mode(0o077));
    // What a person sees in a list of processes; a name is not worth a failure.
    let _unnamed = rustix::thread::set_name(c"stockade-files");
    Ok(Channel::from_fd(control))
}

/// Without a supervisor the cage ends, and with it the mount. Should that not happen this process ends all the same.
fn end_after_the_supervisor(control: &Channel) -> Result<(), String> {
    let watched: OwnedFd = rustix::io::fcntl_dupfd_cloexec(control, 3).map_err(lost)?;
    let watch = move || {
        let channel = Channel::from_fd(watched);
        // Nothing more is said: whatever comes is the end.
        let _end = channel.receive::<Order>(Waiting::Allowed);
        std::thread::sleep(GRACE);
        sys::exec::exit_now(1)
    };
    let started = std::thread::Builder::new().spawn(watch);
    started.map(drop).map_err(|error| format!("cannot start a thread: {error}"))
}

fn lost(errno: Errno) -> String {
    format!("its supervisor cannot be heard: {}", std::io::Error::from(errno))
}

fn out_of_turn() -> String {
    "its supervisor is gone or spoke out of turn".to_owned()
}

/// How long what is late has to arrive where it belongs.
const GRACE: Duration = Duration::from_secs(10);
const DESCRIPTORS: u64 = 1024;
/// Each file that the kernel remembers takes some.
const DESCRIPTORS_OF_LAYERS: u64 = 1 << 19;
const SIGPIPE: i32 = 13;
