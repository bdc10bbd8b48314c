//! The mechanisms to start a program that are compared. Each runs the same program in the same project;
//! what each leaves out is said where it is made.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jail::launcher::Launcher;
use jail::{Child, End, LimitsHolder, ProgramStreams, Report, Stream};

use crate::bubblewrap::Bubblewrap;
use crate::cages::{self, Compiled};
use crate::floor;
use crate::program::Program;
use crate::project::Project;
use crate::report::{BUBBLEWRAP, FLOOR};

/// One mechanism to start a program.
pub(crate) enum Mechanism<'a> {
    /// Plain `fork` and `exec`: no isolation at all.
    Plain(Program),
    /// The same namespaces and mounts and nothing else.
    Floor(&'a Compiled),
    /// The command line from start to end: reading the policy, resolving, compiling, running.
    Stockade(Program),
    /// What comes before the launcher: reading the policy, resolving, compiling.
    Compile(&'a Project, &'a [&'a str]),
    /// The launcher process, from a compiled Plan.
    Launcher(&'a Launcher, &'a Compiled),
    /// Bubblewrap with the same Plan.
    Bubblewrap(Bubblewrap),
    /// util-linux's `unshare`: the same namespaces and a `/proc`, no other mount, no filter.
    Unshare(Program),
}

impl Mechanism<'_> {
    /// What a person calls it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Plain(_) => "fork and exec",
            Self::Floor(_) => FLOOR,
            Self::Stockade(_) => "stockade run",
            Self::Compile(..) => "resolve and compile",
            Self::Launcher(..) => "stockade launcher",
            Self::Bubblewrap(_) => BUBBLEWRAP,
            Self::Unshare(_) => "unshare",
        }
    }

    /// Runs the program once and returns how long that took.
    pub(crate) fn time(&mut self) -> io::Result<Duration> {
        match self {
            Self::Plain(program) | Self::Stockade(program) | Self::Unshare(program) => {
                program.time()
            }
            Self::Floor(compiled) => floor::time(&compiled.plan),
            Self::Compile(project, argv) => cages::time(project, argv),
            Self::Launcher(launcher, compiled) => time_launcher(launcher, compiled),
            Self::Bubblewrap(bubblewrap) => bubblewrap.time(),
        }
    }
}

/// The command line for a project; it ends in the program and its arguments.
pub(crate) fn stockade(executable: &Path, project: &Path, program: &[&str]) -> io::Result<Program> {
    let executable = executable.to_string_lossy();
    let project = project.to_string_lossy();
    let own = ["stockade", "run", "--project", &project, "--"];
    let words = own.iter().chain(program).map(|word| word.as_bytes().to_vec()).collect();
    Program::new(&executable, words)
}

/// `unshare` with a cage's namespaces.
pub(crate) fn unshare(executable: &str, program: &str) -> io::Result<Program> {
    let options =
        "--user --map-root-user --mount --pid --fork --mount-proc --net --ipc --uts --cgroup";
    let words = ["unshare"].into_iter().chain(options.split(' ')).chain([program]);
    Program::new(executable, words.map(|word| word.as_bytes().to_vec()).collect())
}

/// Starts a cage through the launcher and returns when its program runs.
pub(crate) fn spawn(
    launcher: &Launcher,
    compiled: &Compiled,
    streams: ProgramStreams,
) -> io::Result<Child> {
    let Compiled { plan, sources } = compiled;
    let child = launcher
        .start_cage(plan, sources, streams, LimitsHolder::Nobody)
        .map_err(io::Error::other)?;
    child.verify_when_built().map_err(io::Error::other)?;
    child.open_gate()?;
    match child.next_report()? {
        Some((Report::Started(_), _)) => Ok(child),
        other => Err(io::Error::other(format!("the cage did not start: {other:?}"))),
    }
}

fn time_launcher(launcher: &Launcher, compiled: &Compiled) -> io::Result<Duration> {
    let stdout = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let streams = ProgramStreams { stdout: Stream::Descriptor(stdout), ..ProgramStreams::null() };
    let started = Instant::now();
    let child = spawn(launcher, compiled, streams)?;
    let report = child.next_report()?;
    child.wait_until_gone()?;
    drop(child);
    let time = started.elapsed();
    match report {
        Some((Report::Ended { end: End::Exited(0), .. }, _)) => Ok(time),
        other => Err(io::Error::other(format!("the program did not succeed: {other:?}"))),
    }
}
