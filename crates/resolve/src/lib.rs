//! From a policy to what it means on this host: the only step that looks at the host.
//!
//! Every path that a cage will show is opened here, once, and stays open; what is found is handed
//! on as plain facts. Nothing is created, changed or read on the way, but for the few system files
//! that say where accounts, programs and libraries are. What cannot be found or must not be granted
//! is an error that names the rule; nothing is skipped silently.
#![forbid(unsafe_code)]

mod at_start;
mod base;
mod between;
mod caller;
mod commands;
mod elf;
mod error;
mod kept;
mod led_to;
mod libraries;
mod library_cache;
mod mounts;
mod open;
mod protected;
mod rules;
mod second_names;
mod secrets;
mod similar;
mod sockets;
mod sources;
mod surroundings;
mod traversal;

pub mod commits;
pub mod progress;
pub mod protected_names;

pub use led_to::led_to;

pub use at_start::{AtStart, Index, Link, Listed};
pub use caller::require_power_of_root;
pub use error::{
    CommandProblem, CommandReason, OwnMissing, PathProblem, ResolveError, RuleProblem, Uncoverable,
};
pub use open::kind_of;
pub use surroundings::{KeptPlaces, Surroundings, SurroundingsError};

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use commits::{Repository, Watched};
use plan::{ByteString, HostPath};
use policy::access::AccessMap;
use policy::facts::{FoundPath, HostFacts};
use policy::{Commands, Policy};
use walls::Wall;

use open::{Opened, Opener};
use sources::Sources;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

/// A policy on this host: facts for the compiler, and what they refer to.
#[derive(Debug)]
pub struct Resolved {
    /// What was found.
    pub facts: HostFacts,
    /// Links with protected names inside read-write grants.
    pub links: Vec<Link>,
    /// Links inside protected directories that lead out of them.
    pub links_inside: Vec<Link>,
    /// Directories of writable grants as they are.
    pub directories: Vec<Listed>,
    /// Indexes of repositories in writable grants as they are.
    pub indexes: Vec<Index>,
    /// Repositories in writable grants, with their commits as they are.
    pub repositories: Vec<Repository>,
    /// Protected files that the cage can change, because a commit holds them.
    pub watched: Vec<Watched>,
    /// Those that it cannot although a commit holds them, with the reason.
    pub kept_locked: Vec<(HostPath, &'static str)>,
    /// One descriptor for each of `facts.sources`, in the same order: for reference alone (`O_PATH`), or
    /// to list a granted directory as well. Closed on `exec`.
    pub sources: Vec<OwnedFd>,
}

/// Opens everything that a policy grants, hides or implies.
///
/// INVARIANT: `facts.sources` and `sources` have the same length and order, and each descriptor
/// refers to the object whose device and inode stand beside its path.
pub fn resolve(policy: &Policy, surroundings: &Surroundings) -> Result<Resolved, ResolveError> {
    let opener = Opener::new().map_err(|failure| match failure {
        open::OpenFailure::Kernel { call, errno } => ResolveError::kernel(call, "", errno),
        _ => ResolveError::kernel("open", "/proc/self/fd", rustix::io::Errno::NOENT),
    })?;
    let mut sources = Sources::default();
    let caller = caller::examine(surroundings.home.as_ref(), &opener)?;
    let project = open_project(&surroundings.project, &opener)?;
    let places = Places::new(&project, caller.home.as_ref(), surroundings, &opener);

    let rules = rules::resolve(&policy.fs, &places, &opener, &mut sources)?;
    let access = AccessMap::new(rules.placed.iter().map(|placed| &placed.rule));
    let base = base::resolve(&policy.commands, &opener, &mut sources)?;
    let commands = match &policy.commands {
        Commands::Listed(names) => commands::resolve(names, &opener, &mut sources)?,
        Commands::Base | Commands::None => Vec::new(),
    };
    let mut mounts = mounts::resolve(policy, surroundings, &places, &opener, &mut sources)?;
    if mounts.fuse.is_none() && kept::any_is_served(&rules) {
        let device = mounts::device(&opener, &mut sources);
        mounts.fuse = Some(device.map_err(|error| kept::without_device(&rules, error))?);
    }
    let stage = Stage {
        rules: &rules.placed,
        allowed_ahead: &rules.allowed_ahead,
        access: &access,
        places: &places,
        opener: &opener,
    };
    if walls::stands(Wall::LooseLinks) {
        rules::refuse_loose_links(&policy.fs, &stage)?;
    }
    let mut secrets = Vec::new();
    if walls::stands(Wall::Secrets) {
        secrets = secrets::find(&stage, &mut sources)?;
    }
    if walls::stands(Wall::Sockets) {
        secrets.extend(sockets::find(&stage, &mut sources)?);
    }
    let protected::Protected {
        found: mut protected,
        links,
        links_inside,
        directories,
        indexes,
        committed,
    } = protected::find(&stage, &secrets, surroundings, &mut sources)?;
    protected.retain(|_| walls::stands(Wall::ProtectedNames));
    let covered = second_names::Covered { secrets: &secrets, protected: &protected };
    second_names::refuse(&stage, &covered, &sources)?;
    let covered = secrets.iter().chain(&protected);
    let mut between = between::find(&stage, covered, &mut sources)?;
    between.retain(|_| walls::stands(Wall::Pins));
    let kept = kept::open(policy, &rules, &surroundings.kept, &opener)?;
    let working_directory = opener
        .anywhere(&surroundings.working_directory)
        .map_or_else(|_| surroundings.working_directory.clone(), |opened| opened.path);

    let facts_of = |found: Vec<Found>| found.into_iter().map(|found| found.fact).collect();
    let (mut descriptors, described) = sources.into_parts();
    descriptors.extend(kept.descriptors);
    opener.leave_room(&mut descriptors);
    Ok(Resolved {
        facts: HostFacts {
            caller,
            sources: described,
            rules: rules.resolved,
            base,
            commands,
            stores: mounts.stores,
            fuse: mounts.fuse,
            inside: mounts.inside,
            secrets: facts_of(secrets),
            protected: facts_of(protected),
            between: facts_of(between),
            environment: inherited_environment(policy, surroundings),
            kept: kept.facts,
            project: project.path.clone(),
            working_directory,
            umask: surroundings.umask,
        },
        links,
        links_inside,
        directories,
        indexes,
        repositories: committed.repositories,
        watched: committed.watched,
        kept_locked: committed.kept_locked,
        sources: descriptors,
    })
}

/// What the later stages share: the rules by their real paths, and the means to open more.
struct Stage<'a> {
    rules: &'a [rules::PlacedRule],
    /// Protected paths that do not exist and that the user allows the cage to make.
    allowed_ahead: &'a [HostPath],
    access: &'a AccessMap<'a>,
    places: &'a Places<'a>,
    opener: &'a Opener,
}

impl Stage<'_> {
    /// Takes an object in that was found below a grant.
    fn found(
        &self,
        opened: Opened,
        table_entry: &'static str,
        sources: &mut Sources,
    ) -> Result<Found, ResolveError> {
        let path = opened.path.clone();
        let ownership = self.places.ownership(&path, opened.status.owner);
        let source = sources.add(opened)?;
        let fact = FoundPath {
            source,
            owner: ownership.owner,
            caller_owned: ownership.caller_owned,
            table_entry,
        };
        Ok(Found { path, fact })
    }
}

impl Stage<'_> {
    /// Whether a path that the caller may not reach could become reachable from inside: the
    /// directory that is closed belongs to the caller, whose rights a cage has and who may open it.
    fn caller_could_open_up(&self, path: &HostPath) -> bool {
        let above = std::iter::successors(path.parent(), HostPath::parent);
        let closed = above.into_iter().find_map(|directory| self.opener.anywhere(&directory).ok());
        let own = rustix::process::geteuid().as_raw();
        closed.is_none_or(|directory| directory.status.owner.0 == own)
    }
}

/// A fact and where it was found.
struct Found {
    path: HostPath,
    fact: FoundPath,
}

/// The directories that paths are judged by.
struct Places<'a> {
    /// The project's root.
    project: &'a Opened,
    /// The root as rules begin with it: links in it are not resolved.
    project_as_given: &'a HostPath,
    /// The caller's home, if it has one.
    home: Option<&'a HostPath>,
    /// See [`Surroundings::own_state`].
    own_state: &'a [HostPath],
    /// Directories whose owner is the caller's choice, with that owner; the project's first.
    of_caller: Vec<(HostPath, (u32, u32))>,
}

/// Whose files a mount of an object shows to a cage that root starts.
struct Ownership {
    owner: (u32, u32),
    caller_owned: bool,
}

impl<'a> Places<'a> {
    fn new(
        project: &'a Opened,
        home: Option<&'a HostPath>,
        surroundings: &'a Surroundings,
        opener: &Opener,
    ) -> Self {
        let home_owner = home
            .and_then(|home| opener.anywhere(home).ok())
            .map(|opened| (opened.path, opened.status.owner));
        let of_caller = [Some((project.path.clone(), project.status.owner)), home_owner];
        let of_caller = of_caller
            .into_iter()
            .flatten()
            .filter(|(path, _)| caller::can_be_of_one_user(path))
            .collect();
        Self {
            project,
            project_as_given: &surroundings.project,
            home,
            own_state: &surroundings.own_state,
            of_caller,
        }
    }

    /// Below the project or the home, the owner of that directory is mapped and nobody else: a file
    /// of root inside a user's project stays root's.
    fn ownership(&self, path: &HostPath, owner: (u32, u32)) -> Ownership {
        let of_caller = self.of_caller.iter().find(|(root, _)| path.is_within(root));
        match of_caller {
            Some((_, owner)) if !caller::is_system_tree(path) => {
                Ownership { owner: *owner, caller_owned: true }
            }
            _ => Ownership { owner, caller_owned: false },
        }
    }
}

/// K58
fn open_project(path: &HostPath, opener: &Opener) -> Result<Opened, ResolveError> {
    let refused = |problem| ResolveError::Project { path: path.clone(), problem };
    let opened = opener.anywhere(path).map_err(|failure| refused(failure.into()))?;
    if opened.status.is_directory() { Ok(opened) } else { Err(refused(PathProblem::NotADirectory)) }
}

/// The caller's values of the variables that the policy passes on.
fn inherited_environment(
    policy: &Policy,
    surroundings: &Surroundings,
) -> Vec<(String, ByteString)> {
    let value = |name: &String| {
        let is_it = |(candidate, _): &&(_, _)| {
            let candidate: &std::ffi::OsString = candidate;
            candidate.as_bytes() == name.as_bytes()
        };
        let (_, value) = surroundings.environment.iter().find(is_it)?;
        Some((name.clone(), ByteString::from(value.clone())))
    };
    let inherited = policy.env.iter().filter(|(_, rule)| rule.value.is_none());
    inherited.filter_map(|(name, _)| value(name)).collect()
}
