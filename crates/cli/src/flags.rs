//! The rules of the command line: the user's own, so they may name any path that can be granted at
//! all. Paths are made absolute by their text; where a link leads is found out when they are
//! resolved.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cage::prepare::Caller;
use plan::HostPath;
use policy::FsAccess;
use policy::shown::shown;
use policy::text::{FlagError, Flags, port_help};

use crate::arguments::{CommandSet, FileArguments, NetworkArguments, ProgramArguments, Seccomp};
use crate::exit::Exit;
use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// Adds `--ro`, `--rw` and `--hide`.
pub(crate) fn add_files(
    flags: &mut Flags,
    arguments: &FileArguments,
    caller: &Caller,
) -> Result<(), Failure> {
    let (home, own_state) = (caller.home(), caller.locations.own_state());
    let FileArguments { ro, rw, hide } = arguments;
    let each = [(FsAccess::ReadOnly, ro), (FsAccess::ReadWrite, rw), (FsAccess::Hide, hide)];
    for (access, paths) in each {
        for path in paths {
            let given = format!("--{} {}", access.word(), path.display());
            let absolute = absolute(path, &caller.working_directory, home.as_ref());
            let absolute = absolute.map_err(|problem| {
                Failure::new(Exit::Usage, format!("`{}`: {problem}", shown(&given)))
            })?;
            flags.path(access, absolute, &given, &own_state).map_err(refused)?;
        }
    }
    Ok(())
}

/// Adds everything else.
pub(crate) fn add_program(flags: &mut Flags, arguments: &ProgramArguments) -> Result<(), Failure> {
    for variable in &arguments.env {
        flags.variable(variable.as_bytes()).map_err(refused)?;
    }
    for name in &arguments.listed {
        if matches!(name.as_str(), "base" | "none") {
            return Err(Failure::new(Exit::Usage, format!("`{name}` is not a program"))
                .help(format!("for that choice pass `--commands {name}`")));
        }
        flags.command(name).map_err(refused)?;
    }
    match arguments.commands {
        Some(CommandSet::Base) => flags.command("base").map_err(refused)?,
        Some(CommandSet::None) => flags.command("none").map_err(refused)?,
        None => {}
    }
    if let Some(profile) = arguments.seccomp {
        add_seccomp(flags, profile)?;
    }
    if let Some(state) = arguments.state {
        flags.state(state.word()).map_err(refused)?;
    }
    add_limits(flags, arguments)
}

/// Adds `--net`, `--host-port` and `--publish`.
pub(crate) fn add_network(flags: &mut Flags, arguments: &NetworkArguments) -> Result<(), Failure> {
    let NetworkArguments { net, no_net: _, host_port, publish } = arguments;
    for destinations in net {
        flags.destinations(destinations).map_err(refused)?;
    }
    for ports in host_port {
        flags.host_ports(ports).map_err(refused)?;
    }
    for ports in publish {
        flags.publish(ports).map_err(refused)?;
    }
    Ok(())
}

/// Adds `--seccomp`.
pub(crate) fn add_seccomp(flags: &mut Flags, profile: Seccomp) -> Result<(), Failure> {
    flags.seccomp(profile.word()).map_err(refused)
}

fn add_limits(flags: &mut Flags, arguments: &ProgramArguments) -> Result<(), Failure> {
    let ProgramArguments { memory, pids, cpus, time, .. } = arguments;
    if let Some(memory) = memory {
        flags.memory(memory).map_err(refused)?;
    }
    if let Some(pids) = pids {
        flags.pids(pids).map_err(refused)?;
    }
    if let Some(cpus) = cpus {
        flags.cpus(cpus).map_err(refused)?;
    }
    if let Some(time) = time {
        flags.time(time).map_err(refused)?;
    }
    Ok(())
}

/// What a path can never be granted for is as wrong here as in a policy file; the rest is a matter
/// of the command line.
fn refused(error: FlagError) -> Failure {
    let message = error.to_string();
    match error {
        FlagError::Ungrantable(refusal) => {
            Failure::new(Exit::BadPolicy, message).help(refusal.hint)
        }
        FlagError::Destination { error, .. } => {
            let failure = Failure::new(Exit::Usage, message);
            match error.hint() {
                Some(hint) => failure.help(hint),
                None => failure,
            }
        }
        FlagError::Port { .. } => Failure::new(Exit::Usage, message).help(port_help()),
        _ => Failure::new(Exit::Usage, message),
    }
}

/// Why a word is not a path that a flag may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathProblem {
    /// Nothing at all.
    #[error("the path is empty")]
    Empty,
    /// `a/../b`, which is not `b` where `a` is a link.
    #[error("`..` can only come first; write the path without it")]
    Upwards,
    /// A byte that could be used to show another path than the one that is meant.
    #[error("the path has a control character in it")]
    ControlCharacter,
    /// `~` without a home.
    #[error("`~` stands for the home directory, and there is none here")]
    NoHome,
    /// `~somebody`.
    #[error(
        "the homes of others are not expanded; for a name that begins with `~`, put `./` before it"
    )]
    OtherHome,
    /// More than the kernel takes.
    #[error("the path is longer than the kernel takes")]
    TooLong,
}

/// A path as it was written, absolute and normal. The working directory has no links in it, so a
/// leading `..` can be taken by its text; a later one cannot.
pub(crate) fn absolute(
    written: &Path,
    working_directory: &HostPath,
    home: Option<&HostPath>,
) -> Result<HostPath, PathProblem> {
    let bytes = written.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(PathProblem::Empty);
    }
    if bytes.iter().any(u8::is_ascii_control) {
        return Err(PathProblem::ControlCharacter);
    }
    let (mut path, rest, mut may_climb) = match bytes {
        [b'/', rest @ ..] => (HostPath::root(), rest, false),
        b"~" | [b'~', b'/', ..] => {
            let home = home.ok_or(PathProblem::NoHome)?;
            (home.clone(), bytes.get(1..).unwrap_or_default(), false)
        }
        [b'~', ..] => return Err(PathProblem::OtherHome),
        _ => (working_directory.clone(), bytes, true),
    };
    for component in rest.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if may_climb => path = path.parent().unwrap_or(path),
            b".." => return Err(PathProblem::Upwards),
            name => {
                may_climb = false;
                path = path.join(name).map_err(|_| PathProblem::TooLong)?;
            }
        }
    }
    Ok(path)
}
