//! The mechanisms to start a program that are compared. Each runs the same program in the same project;
//! what each leaves out is said where it is made.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use measures::stamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bubblewrap::Bubblewrap;
use crate::cages;
use crate::http::Connection;
use crate::project::installed;

/// One mechanism to start a program.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Mechanism {
    /// A request to the daemon.
    Daemon,
    /// The same for a cage with limits on memory, processes and processor time.
    DaemonWithLimits,
    /// Bubblewrap with the same Plan, without limits and without any record.
    Bubblewrap,
    /// `runc` with the same mounts, namespaces and limits, without a filter and any record.
    Runc,
    /// A scope of systemd: limits, and no isolation at all.
    Scope,
}

impl Mechanism {
    /// What a person calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::DaemonWithLimits => "daemon, limits",
            Self::Bubblewrap => "bubblewrap",
            Self::Runc => "runc",
            Self::Scope => "systemd-run --scope",
        }
    }

    /// Those whose programs this machine has.
    pub(crate) fn installed() -> Vec<Self> {
        let mut mechanisms = vec![Self::Daemon, Self::DaemonWithLimits];
        mechanisms.extend(installed(BUBBLEWRAP).map(|_| Self::Bubblewrap));
        mechanisms.extend(installed(RUNC).map(|_| Self::Runc));
        let systemd = Path::new("/run/systemd/system").exists();
        mechanisms.extend(installed(SYSTEMD_RUN).filter(|_| systemd).map(|_| Self::Scope));
        mechanisms
    }
}

/// What a starter needs to know.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Setting {
    /// The daemon's socket.
    pub(crate) socket: PathBuf,
    pub(crate) project: PathBuf,
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// The bundle with the same program.
    pub(crate) bundle: PathBuf,
    /// Where `runc` keeps what it knows.
    pub(crate) state: PathBuf,
}

/// Starts one program after the other.
pub(crate) enum Starter {
    Daemon { connection: Connection, request: String },
    Bubblewrap(Bubblewrap),
    Runc { bundle: PathBuf, state: PathBuf, next: u64 },
    Scope { argv: Vec<String> },
}

impl Starter {
    /// Makes one that starts the setting's program.
    pub(crate) fn new(way: Mechanism, setting: &Setting) -> io::Result<Self> {
        let daemon = |rules: Value| {
            let request = json!({"project": setting.project, "argv": setting.argv, "rules": rules});
            let connection = Connection::open(&setting.socket)?;
            Ok(Self::Daemon { connection, request: request.to_string() })
        };
        match way {
            Mechanism::Daemon => daemon(json!({})),
            Mechanism::DaemonWithLimits => {
                let memory = format!("{MEMORY_MIB}M");
                daemon(json!({"memory": memory, "pids": PIDS, "cpus": 2}))
            }
            Mechanism::Bubblewrap => {
                let plan = cages::compile(&setting.project, &setting.argv)?;
                Ok(Self::Bubblewrap(Bubblewrap::new(Path::new(BUBBLEWRAP), &plan)?))
            }
            Mechanism::Runc => {
                let (bundle, state) = (setting.bundle.clone(), setting.state.clone());
                Ok(Self::Runc { bundle, state, next: 0 })
            }
            Mechanism::Scope => Ok(Self::Scope { argv: setting.argv.clone() }),
        }
    }

    /// Runs the program to its end.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        if let Self::Daemon { connection, request } = self {
            return run_by_daemon(connection, request).map(|_| ());
        }
        let mut command = self.command()?;
        let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(io::Error::other(format!("it ended with {}: {said}", output.status)))
            }
        }
    }

    /// How long it takes from asking to the program's first instruction.
    pub(crate) fn reach(&mut self) -> io::Result<Duration> {
        let asked = stamp::now();
        let printed = match self {
            Self::Daemon { connection, request } => {
                let id = run_by_daemon(connection, request)?;
                connection.bytes("GET", &format!("/v1/cages/{id}/logs/stdout"), None)?
            }
            _ => self.command()?.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?.stdout,
        };
        Ok(Duration::from_nanos(stamp::read(&printed)?.saturating_sub(asked)))
    }

    /// The command for one start, where it is one.
    pub(crate) fn command(&mut self) -> io::Result<Command> {
        match self {
            Self::Daemon { .. } => Err(io::ErrorKind::Unsupported.into()),
            Self::Bubblewrap(bubblewrap) => bubblewrap.command(),
            Self::Runc { bundle, state, next } => {
                *next += 1;
                let mut command = Command::new(RUNC);
                command.arg("--root").arg(state).args(["run", "--bundle"]).arg(bundle);
                command.arg(format!("bench-{}-{next}", std::process::id()));
                Ok(command)
            }
            Self::Scope { argv } => {
                let mut command = Command::new(SYSTEMD_RUN);
                command.args(["--scope", "--quiet", "--collect"]);
                if !rustix::process::geteuid().is_root() {
                    command.arg("--user");
                }
                let memory = format!("MemoryMax={MEMORY_MIB}M");
                let pids = format!("TasksMax={PIDS}");
                for property in [memory.as_str(), pids.as_str(), "CPUQuota=200%"] {
                    command.args(["--property", property]);
                }
                command.arg("--").args(argv.iter());
                Ok(command)
            }
        }
    }
}

/// Starts a program and waits for its end; returns the cage's id.
fn run_by_daemon(connection: &mut Connection, request: &str) -> io::Result<String> {
    let ended = connection.ask("POST", "/v1/cages?wait_ms=60000", Some(request))?;
    let id = ended.get("id").and_then(Value::as_str);
    let id = id.ok_or_else(|| io::Error::other("the daemon tells no id"))?.to_owned();
    match ended.pointer("/end/exit_code").and_then(Value::as_i64) {
        Some(0) => Ok(id),
        _ => Err(io::Error::other(format!("the program did not succeed: {ended}"))),
    }
}

/// The limits of every mechanism that has limits.
pub(crate) const MEMORY_MIB: u64 = 256;
pub(crate) const PIDS: u64 = 64;
const BUBBLEWRAP: &str = "/usr/bin/bwrap";
const RUNC: &str = "/usr/sbin/runc";
const SYSTEMD_RUN: &str = "/usr/bin/systemd-run";
