//! Rules beside a policy file, as words: the user's own, so they may name any path that can be
//! granted at all. Paths are made absolute by their text; where a link leads is found out when they
//! are resolved.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cage::prepare::Caller;
use plan::HostPath;
use policy::FsAccess;
use policy::shown::shown;
use policy::text::{FlagError, Flags, port_help};

use cage::Kind;

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// Rules as they are written, one field for each flag of the command line.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Files and directories to show.
    pub ro: Vec<PathBuf>,
    /// Files and directories to show and let the program change.
    pub rw: Vec<PathBuf>,
    /// Paths inside a grant at which nothing is shown.
    pub hide: Vec<PathBuf>,
    /// Variables, as `NAME` or `NAME=VALUE`.
    pub env: Vec<OsString>,
    /// Programs of the system; or `base` or `none` alone.
    pub commands: Vec<String>,
    /// The system call profile.
    pub seccomp: Option<String>,
    /// Whether `/scratch` is kept.
    pub state: Option<String>,
    /// Most memory.
    pub memory: Option<String>,
    /// Most processes and threads.
    pub pids: Option<String>,
    /// Most processors' worth of time.
    pub cpus: Option<String>,
    /// Longest life.
    pub time: Option<String>,
    /// Hosts.
    pub net: Vec<String>,
    /// Ports of the host's loopback.
    pub host_ports: Vec<String>,
    /// Ports of the program that are offered on the host's loopback.
    pub publish: Vec<String>,
    /// Whether the policy's network is taken away.
    pub no_net: bool,
}

impl Words {
    /// The rules, as this caller means them.
    pub fn read(&self, caller: &Caller) -> Result<Flags, Failure> {
        let mut flags = Flags::default();
        self.add_files(&mut flags, caller)?;
        for variable in &self.env {
            flags.variable(variable.as_bytes()).map_err(refused)?;
        }
        self.add_commands(&mut flags)?;
        if let Some(profile) = &self.seccomp {
            flags.seccomp(profile).map_err(refused)?;
        }
        if let Some(state) = &self.state {
            flags.state(state).map_err(refused)?;
        }
        self.add_limits(&mut flags)?;
        for destinations in &self.net {
            flags.destinations(destinations).map_err(refused)?;
        }
        for ports in &self.host_ports {
            flags.host_ports(ports).map_err(refused)?;
        }
        for ports in &self.publish {
            flags.publish(ports).map_err(refused)?;
        }
        if self.no_net {
            flags.no_net();
        }
        Ok(flags)
    }

    fn add_files(&self, flags: &mut Flags, caller: &Caller) -> Result<(), Failure> {
        let Self { ro, rw, hide, .. } = self;
        let (home, own_state) = (caller.home(), caller.locations.own_state());
        let each = [(FsAccess::ReadOnly, ro), (FsAccess::ReadWrite, rw), (FsAccess::Hide, hide)];
        for (access, paths) in each {
            for path in paths {
                let given = format!("--{} {}", access.word(), path.display());
                let absolute = absolute(path, &caller.working_directory, home.as_ref());
                let absolute = absolute.map_err(|problem| {
                    Failure::new(Kind::Usage, format!("`{}`: {problem}", shown(&given)))
                })?;
                flags.path(access, absolute, &given, &own_state).map_err(refused)?;
            }
        }
        Ok(())
    }

    fn add_commands(&self, flags: &mut Flags) -> Result<(), Failure> {
        for name in &self.commands {
            let is_set = matches!(name.as_str(), "base" | "none");
            if is_set && self.commands.len() > 1 {
                return Err(not_a_program(name));
            }
            flags.command(name).map_err(refused)?;
        }
        Ok(())
    }

    fn add_limits(&self, flags: &mut Flags) -> Result<(), Failure> {
        let Self { memory, pids, cpus, time, .. } = self;
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
}

/// `base` and `none` are choices that stand alone.
pub fn not_a_program(name: &str) -> Failure {
    Failure::new(Kind::Usage, format!("`{name}` is not a program"))
        .help(format!("for that choice pass `--commands {name}`"))
}

/// What a path can never be granted for is as wrong here as in a policy file; the rest is a matter
/// of the command line.
fn refused(error: FlagError) -> Failure {
    let message = error.to_string();
    match error {
        FlagError::Ungrantable(refusal) => {
            Failure::new(Kind::PolicyInvalid, message).help(refusal.hint)
        }
        FlagError::Destination { error, .. } => {
            let failure = Failure::new(Kind::Usage, message);
            match error.hint() {
                Some(hint) => failure.help(hint),
                None => failure,
            }
        }
        FlagError::Port { .. } => Failure::new(Kind::Usage, message).help(port_help()),
        _ => Failure::new(Kind::Usage, message),
    }
}

/// Why a word is not a path that a flag may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
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
pub fn absolute(
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
