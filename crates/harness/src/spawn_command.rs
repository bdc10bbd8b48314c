//! `stockade spawn`: a program in a cage starts another one that has less. A process narrows itself and becomes that
//! program, so nothing outside takes part and nothing can be asked for that the cage does not have; another waits for it,
//! and ends what it leaves.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use advice::Failure;
use cage::{Kind, with_causes};
use clap::Args;
use jail::within::{self, Narrowing};
use policy::Commands;
use policy::compile::PROXY_VARIABLES;
use policy::shown::shown;
use rustix::fs::Access;

use crate::spawn_request::{DEVICES, listed, system};

mod attended;

/// `stockade spawn`.
#[derive(Debug, Args)]
pub struct SpawnArguments {
    /// Let it read a file or directory of this cage
    #[arg(long, value_name = "PATH")]
    ro: Vec<PathBuf>,
    /// Let it change one too, as far as this cage may
    #[arg(long, value_name = "PATH")]
    rw: Vec<PathBuf>,
    /// Let it have the network of this cage
    #[arg(long)]
    net: bool,
    /// The programs that it may start beside a shell, with commas between them; all of this cage without it
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    commands: Option<Vec<String>>,
    /// Give it a variable: its value here, or another one
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Be the child itself, which another process waits for
    #[arg(long, hide = true)]
    attended: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

/// The command: the status of the program, when it and all that it started have ended. Before the first thread of the
/// process.
///
/// # Errors
/// If the program cannot be started with less.
pub fn spawn(arguments: &SpawnArguments) -> Result<u8, Failure> {
    if !arguments.attended {
        return attended::spawn().map_err(|error| {
            Failure::new(Kind::CannotBuild, format!("no process can be made: {error}"))
        });
    }
    match begin(arguments)? {}
}

/// Becomes the program.
fn begin(arguments: &SpawnArguments) -> Result<std::convert::Infallible, Failure> {
    // Whoever waits for it has to be there, or what it leaves would stay.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|errno| Failure::new(Kind::CannotBuild, io::Error::from(errno).to_string()))?;
    if std::env::var_os("STOCKADE_CAGE").is_none() {
        return Err(Failure::new(
            Kind::Usage,
            "this is no cage, so there is nothing to have less of",
        )
        .help("`stockade run -- PROGRAM` makes a cage"));
    }
    let (program, words) = arguments
        .command
        .split_first()
        .ok_or_else(|| Failure::new(Kind::Usage, "there is no program to start"))?;
    let directory = scratch()?;
    let mut command = Command::new(program);
    command.args(words).env_clear().env("TMPDIR", &directory).env("HOME", &directory);
    // By these the network of a cage is found.
    let of_network = PROXY_VARIABLES.as_flattened().iter().filter(|_| arguments.net);
    for name in PASSED.iter().chain(of_network) {
        command.envs(std::env::var_os(name).map(|value| (*name, value)));
    }
    for given in &arguments.env {
        match given.split_once('=') {
            Some((name, value)) => command.env(name, value),
            None => command.envs(std::env::var_os(given).map(|value| (given, value))),
        };
    }
    let narrowing = narrowing(arguments, &directory)?;
    within::narrow(&narrowing).map_err(|error| {
        Failure::new(Kind::CannotBuild, with_causes(&error))
            .help("it needs landlock of version 3 (Linux 6.2)")
    })?;
    // What the parent has open is not the child's, wherever it lies.
    sys::descriptors::hand_on_nothing_from(3)
        .map_err(|errno| Failure::new(Kind::CannotBuild, io::Error::from(errno).to_string()))?;
    let error = command.exec();
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => Kind::ProgramNotFound,
        _ => Kind::ProgramNotExecutable,
    };
    Err(Failure::new(kind, format!("`{}` cannot be started: {error}", shown(program.display()))))
}

fn narrowing(arguments: &SpawnArguments, directory: &Path) -> Result<Narrowing, Failure> {
    let path = |path: &Path, write| within::Path { path: path.to_owned(), write, run: true };
    let commands = match &arguments.commands {
        Some(names) => listed(names).map_err(|why| Failure::new(Kind::Usage, why))?,
        None => Commands::Base,
    };
    let mut paths = system(&commands, true);
    if let Some(Some(program)) = arguments.commands.as_ref().map(|_| arguments.command.first()) {
        // What is to be started first is started, whatever it may start.
        paths.extend(found(program).map(|found| path(&found, false)));
    }
    // Without a terminal of its own, that of its parent is nothing to it.
    let has_terminal =
        io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    let terminals = TERMINALS.iter().filter(|_| has_terminal);
    paths.extend(DEVICES.iter().chain(terminals).map(|device| path(Path::new(device), true)));
    paths.extend([path(Path::new("/proc"), false), path(directory, true)]);
    for (given, write) in [(&arguments.ro, false), (&arguments.rw, true)] {
        for one in given {
            let needed = if write { Access::WRITE_OK } else { Access::READ_OK };
            let has = |real: &PathBuf| rustix::fs::access(real, needed).map_err(io::Error::from);
            let real = one.canonicalize().and_then(|real| has(&real).map(|()| real));
            let real = real.map_err(|error| {
                let one = shown(one.display());
                Failure::new(
                    Kind::PolicyInvalid,
                    format!("`{one}` is more than this cage has: {error}"),
                )
            })?;
            paths.push(path(&real, write));
        }
    }
    Ok(Narrowing { paths, network: arguments.net })
}

/// Where a program is, as it will be looked for.
fn found(program: &OsStr) -> Option<PathBuf> {
    let named = Path::new(program);
    if named.components().count() > 1 {
        return named.canonicalize().ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(named)).find(|file| file.is_file())
}

/// A directory of its own, which nobody else uses.
fn scratch() -> Result<PathBuf, Failure> {
    let parent = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let name = cage::prepare::Name::new().map_err(|errno| {
        Failure::new(Kind::CannotBuild, std::io::Error::from(errno).to_string())
    })?;
    let directory = parent.join(format!("child-{}", name.text));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
    made.map_err(|error| {
        let directory = shown(directory.display());
        Failure::new(Kind::CannotBuild, format!("`{directory}` cannot be made: {error}"))
    })?;
    Ok(directory)
}

const TERMINALS: &[&str] = &["/dev/tty", "/dev/pts", "/dev/ptmx"];
const PASSED: [&str; 5] = ["PATH", "USER", "LANG", "TERM", "STOCKADE_CAGE"];
