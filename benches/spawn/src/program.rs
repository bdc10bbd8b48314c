//! Starting a program as cheaply as the kernel allows, the same way for everything that is
//! measured: the child borrows our memory until it has executed. Never searches `PATH`.

use std::ffi::CString;
use std::io;
use std::time::{Duration, Instant};

use plan::HostIds;
use rustix::process::{Pid, WaitOptions, WaitStatus};
use rustix::thread::{Gid, Uid};
use sys::clone::run_sharing_memory;
use sys::exec::{CStringArray, execute};
use sys::stack::Stack;

/// A program ready to be started any number of times.
pub(crate) struct Program {
    path: CString,
    arguments: CStringArray,
    environment: CStringArray,
    ids: Option<HostIds>,
    stack: Stack,
}

impl Program {
    /// `arguments` begins with the program's own name; the environment is `PATH` and `HOME`.
    pub(crate) fn new(path: &str, arguments: Vec<Vec<u8>>) -> io::Result<Self> {
        let arguments = arguments.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let home = std::env::var("HOME").unwrap_or_else(|_| "/".to_owned());
        let environment = vec![
            CString::new("PATH=/usr/local/bin:/usr/bin:/bin")?,
            CString::new(format!("HOME={home}"))?,
        ];
        Ok(Self {
            path: CString::new(path)?,
            arguments: CStringArray::new(arguments),
            environment: CStringArray::new(environment),
            ids: None,
            stack: Stack::new(STACK)?,
        })
    }

    /// The same program as another user and group.
    pub(crate) fn running_as(mut self, ids: HostIds) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Starts it; returns once it has executed.
    pub(crate) fn start(&mut self) -> io::Result<Pid> {
        let Self { path, arguments, environment, ids, stack } = self;
        let mut body = || {
            if let Some(HostIds { uid, gid }) = *ids {
                let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
                let changed = rustix::thread::set_thread_res_gid(group, group, group)
                    .and_then(|()| rustix::thread::set_thread_res_uid(user, user, user));
                if changed.is_err() {
                    return CANNOT_START;
                }
            }
            let _errno = execute(path, arguments, environment);
            CANNOT_START
        };
        Ok(run_sharing_memory(stack, &mut body)?)
    }

    /// Runs it to its end and returns how long that took.
    pub(crate) fn time(&mut self) -> io::Result<Duration> {
        let started = Instant::now();
        let process = self.start()?;
        let ended = wait(process)?;
        let time = started.elapsed();
        expect_success(ended)?;
        Ok(time)
    }
}

/// Waits for a child of ours.
pub(crate) fn wait(process: Pid) -> io::Result<WaitStatus> {
    loop {
        match rustix::process::waitpid(Some(process), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// A measurement counts only if the program did what it was started for.
pub(crate) fn expect_success(status: WaitStatus) -> io::Result<()> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ok(()),
        (Some(CANNOT_START), _) => Err(io::Error::other("the program could not be started")),
        (Some(code), _) => Err(io::Error::other(format!("it ended with {code}"))),
        (None, signal) => Err(io::Error::other(format!("it died of signal {signal:?}"))),
    }
}

/// The exit status of a child that did not get as far as its program.
const CANNOT_START: i32 = 119;
const STACK: usize = 64 * 1024;
