//! Capabilities: the front end for plugins. A host that knows what a plugin was granted as a list of
//! words (`read:fs:PATH`, `write:fs:PATH`, `net:HOST:PORT`, `exec:NAME`) gets a [`Policy`] that gives
//! exactly these, or every error of the list at once.
//!
//! There is no word for running without a cage, for another system call profile or for a variable.
//! What a list asks for counts up to the user's ceiling, see [`Ceiling::apply`](crate::Ceiling::apply).

mod meant;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plan::HostPath;

use super::Author;
use super::cage::check_command_name;
use super::path;
use crate::access::AccessMap;
use crate::host_names;
use crate::net::{Destination, DestinationError, Ports};
use crate::secrets;
use crate::shown::Shown;
use crate::{Commands, FsAccess, FsRule, Place, Policy, Reach, RuleOrigin};

/// The name of a cage that capabilities describe.
pub const PLUGIN_CAGE: &str = "plugin";

/// The most capabilities of one list.
pub const MAX_CAPABILITIES: usize = 4096;

/// Everything that is wrong with a list of capabilities; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CapabilityErrors {
    /// One for each capability that cannot be taken, in their order.
    pub errors: Vec<CapabilityError>,
}

/// A capability that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapabilityError {
    /// As it was written.
    pub capability: String,
    /// What is wrong with it.
    pub problem: CapabilityProblem,
    /// What was likely meant: a capability that can be taken.
    pub meant: Option<String>,
}

/// What is wrong with a capability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityProblem {
    /// It does not begin as one.
    #[error("there is no such capability; there are {KNOWN}")]
    Unknown,
    /// It asks for no cage.
    #[error("a plugin is always caged")]
    Uncaged,
    /// Its path cannot be granted.
    #[error("{message}; {help}")]
    Path {
        /// Why.
        message: String,
        /// What to do.
        help: String,
    },
    /// Its destination is none.
    #[error("{0}")]
    Destination(DestinationError),
    /// Its destination has no port.
    #[error("the port is missing")]
    NoPort,
    /// Its program is not the name of one.
    #[error("the name of the program {0}")]
    Program(&'static str),
    /// The list is longer than any plugin needs.
    #[error("there are more than {MAX_CAPABILITIES} capabilities")]
    TooMany,
}

/// One capability, read.
enum Capability {
    Path(HostPath, Reach, FsAccess),
    Destination(Destination),
    Program(String),
}

/// The policy that gives what these capabilities say and nothing else: a closed cage without any
/// program of the system, and what each capability adds. Capabilities add up; a path that can be
/// written to can be read.
pub fn policy<'word>(
    capabilities: impl IntoIterator<Item = &'word str>,
    place: &Place,
) -> Result<Policy, CapabilityErrors> {
    let mut paths: BTreeMap<HostPath, FsRule> = BTreeMap::new();
    let mut programs = BTreeSet::new();
    let mut policy = Policy::closed(PLUGIN_CAGE);
    let mut errors = Vec::new();
    for (index, written) in capabilities.into_iter().enumerate() {
        let error =
            |problem, meant| CapabilityError { capability: shortened(written), problem, meant };
        if index >= MAX_CAPABILITIES {
            errors.push(error(CapabilityProblem::TooMany, None));
            break;
        }
        let origin = RuleOrigin::Capability(written.to_owned());
        match read(written, place) {
            Ok(Capability::Path(path, reach, access)) => {
                let rule = FsRule { access, path: path.clone(), reach, origin };
                let held = paths.entry(path).or_insert_with(|| rule.clone());
                if access > held.access {
                    *held = rule;
                }
            }
            Ok(Capability::Destination(destination)) => {
                policy.net.allow.entry(destination).or_insert(origin);
            }
            Ok(Capability::Program(name)) => {
                programs.insert(name);
            }
            Err(problem) => errors.push(error(problem, meant::by(written, place))),
        }
    }
    if !errors.is_empty() {
        return Err(CapabilityErrors { errors });
    }
    policy.fs = without_implied(paths, place.home.as_ref());
    policy.commands = if programs.is_empty() { Commands::None } else { Commands::Listed(programs) };
    Ok(policy)
}

/// Leaves out what another capability gives already: the rule on the longer path would decide, and take
/// away that what lies there can be written to. A secret inside is given by its own name alone.
pub fn without_implied(paths: BTreeMap<HostPath, FsRule>, home: Option<&HostPath>) -> Vec<FsRule> {
    let homes: Vec<&HostPath> = home.into_iter().collect();
    let writable: Vec<FsRule> =
        paths.values().filter(|rule| rule.access == FsAccess::ReadWrite).cloned().collect();
    let writable = AccessMap::new(&writable);
    let is_implied = |rule: &FsRule| {
        let secrets = secrets::holding(&homes, &rule.path);
        let given = writable.above(&rule.path).filter(|_| rule.access == FsAccess::ReadOnly);
        given.is_some_and(|by| secrets.iter().all(|secret| by.path.is_within(&secret.path)))
    };
    paths.into_values().filter(|rule| !is_implied(rule)).collect()
}

fn read(written: &str, place: &Place) -> Result<Capability, CapabilityProblem> {
    if let Some(path) = written.strip_prefix("read:fs:") {
        return read_path(path, FsAccess::ReadOnly, place);
    }
    if let Some(path) = written.strip_prefix("write:fs:") {
        return read_path(path, FsAccess::ReadWrite, place);
    }
    if let Some(destination) = written.strip_prefix("net:") {
        return read_destination(destination);
    }
    if let Some(name) = written.strip_prefix("exec:") {
        check_command_name(name).map_err(|(problem, _)| CapabilityProblem::Program(problem))?;
        // Words of the policy language for all programs and for none.
        if matches!(name, "base" | "none") || name.contains('*') {
            return Err(CapabilityProblem::Program("is not that of a single program"));
        }
        return Ok(Capability::Program(name.to_owned()));
    }
    let first = written.split(':').next().unwrap_or_default().trim();
    if UNCAGED.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return Err(CapabilityProblem::Uncaged);
    }
    Err(CapabilityProblem::Unknown)
}

/// Relative to the project, or absolute, or in the user's home: who gives capabilities to plugins
/// speaks for the user, and the ceiling is compared afterwards. What lies in the project stays
/// beneath it however it is written.
fn read_path(
    written: &str,
    access: FsAccess,
    place: &Place,
) -> Result<Capability, CapabilityProblem> {
    let found = path::read(written, access, Author::User, place).map_err(|problem| {
        CapabilityProblem::Path { message: problem.message, help: problem.help }
    })?;
    let beneath = found.path.is_within(&place.project);
    let reach = if beneath { Reach::BeneathProject } else { found.reach };
    Ok(Capability::Path(found.path, reach, access))
}

fn read_destination(written: &str) -> Result<Capability, CapabilityProblem> {
    let destination = host_names::destination(written).map_err(CapabilityProblem::Destination)?;
    if destination.is_every_address() {
        return Err(CapabilityProblem::Destination(DestinationError::EveryHost));
    }
    if destination.ports() == Ports::ALL {
        return Err(CapabilityProblem::NoPort);
    }
    Ok(Capability::Destination(destination))
}

/// Errors stay readable whatever was written.
fn shortened(written: &str) -> String {
    match written.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", written.get(..end).unwrap_or_default()),
        None => written.to_owned(),
    }
}

impl fmt::Display for CapabilityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = self.problem.to_string();
        write!(formatter, "`{}`: {}", Shown(&self.capability), Shown(&problem))?;
        match &self.meant {
            Some(meant) => write!(formatter, "; did you mean `{}`?", Shown(meant)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CapabilityErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the capabilities cannot be used:")?;
        self.errors.iter().try_for_each(|error| write!(formatter, "\n  {error}"))
    }
}

const KNOWN: &str = "`read:fs:PATH`, `write:fs:PATH`, `net:HOST:PORT` and `exec:NAME`";

/// How other systems call what does not exist here.
const UNCAGED: &[&str] = &[
    "all",
    "disabled",
    "host",
    "no-sandbox",
    "none",
    "privileged",
    "root",
    "uncaged",
    "unsafe",
    "*",
];

const LONGEST_SHOWN: usize = 200;
