//! The cage that every mechanism builds: the project's own policy file, resolved and compiled as the
//! command line does it. Starts nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use cage::prepare::Caller;
use cage::resolve::resolve;
use plan::{ByteString, HostIds, HostPath, Plan};
use policy::{Cage, Invocation, Place};

use crate::project::Project;

/// A compiled cage with its opened sources.
pub(crate) struct Compiled {
    /// What to build.
    pub(crate) plan: Plan,
    /// One descriptor for each of its sources.
    pub(crate) sources: Vec<OwnedFd>,
}

/// Compiles the project's default cage for a program.
pub(crate) fn compile(project: &Project, argv: &[&str]) -> io::Result<Compiled> {
    let root = std::fs::canonicalize(project.path())?;
    let root = HostPath::new(root.into_os_string()).map_err(io::Error::other)?;
    let home = std::env::var_os("HOME").and_then(|home| HostPath::new(home).ok());
    let place = Place { project: root.clone(), home, own_state: Vec::new() };
    let text = std::fs::read(project.path().join(POLICY_FILE))?;
    let document = policy::text::parse_project(POLICY_FILE, &text, &place);
    let mut document = document.map_err(|errors| io::Error::other(format!("{errors:?}")))?;
    let Some(Cage::Enabled(policy)) = document.cages.swap_remove("default") else {
        return Err(io::Error::other("the project's policy has no default cage"));
    };
    let surroundings = Caller::of_this_process().map_err(io::Error::other)?.surroundings(root);
    let resolved = resolve(&policy, &surroundings).map_err(io::Error::other)?;
    let invocation = Invocation {
        id: INVOCATION.to_owned(),
        argv: argv.iter().map(|word| ByteString::from(*word)).collect(),
        unowned: UNOWNED,
    };
    let plan = policy::compile(&policy, &resolved.facts, &invocation).map_err(io::Error::other)?;
    Ok(Compiled { plan, sources: resolved.sources })
}

/// How long resolving and compiling takes, which the launcher's callers do before they ask it.
pub(crate) fn time(project: &Project, argv: &[&str]) -> io::Result<Duration> {
    let started = Instant::now();
    compile(project, argv)?;
    Ok(started.elapsed())
}

const POLICY_FILE: &str = "stockade.toml";
/// Any invocation will do: these cages are never told apart.
const INVOCATION: &str = "01JD0000000000000000000000";
const UNOWNED: HostIds = HostIds { uid: 1_900_000_001, gid: 1_900_000_001 };
