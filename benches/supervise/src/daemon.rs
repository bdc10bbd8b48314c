//! `stockade serve` with a state directory and a socket of its own; ended when dropped. Records are
//! durable as always: nothing is switched off for the benchmark.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::project::Project;

/// A daemon that serves.
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    /// Starts it and waits until it can be asked.
    pub(crate) fn start(stockade: &Path, project: &Project) -> io::Result<Self> {
        let socket = project.beside("daemon.sock");
        let said = project.beside("daemon.log");
        let child = Command::new(stockade)
            .arg("serve")
            .arg("--socket")
            .arg(&socket)
            .env("XDG_STATE_HOME", project.state())
            .env("XDG_CONFIG_HOME", project.beside("configuration"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said)?)
            .spawn()?;
        let mut daemon = Self { child, socket };
        let deadline = Instant::now() + PATIENCE;
        while UnixStream::connect(&daemon.socket).is_err() {
            if daemon.child.try_wait()?.is_some() || Instant::now() > deadline {
                let said = std::fs::read_to_string(&said)?;
                return Err(io::Error::other(format!("the daemon does not serve: {said}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(daemon)
    }

    /// Where it can be asked.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process.
    pub(crate) fn pid(&self) -> io::Result<Pid> {
        Pid::from_raw(self.child.id().cast_signed()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Ok(pid) = self.pid() {
            let _gone_already = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _gone_already = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The longest that it may take to serve, and to end.
const PATIENCE: Duration = Duration::from_secs(20);
