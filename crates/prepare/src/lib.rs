//! From what a caller asks for to a compiled cage: which policy holds, what of it is there on this
//! host, and the Plan. Every program that starts cages comes through here, so that all of them
//! build the same cage from the same files.
//!
//! [`select`] finds the project's and the user's files, chooses a cage of them, and holds a
//! project's cage to the user's ceiling or approval. [`prepare`] resolves the policy and compiles
//! it. Neither prints, starts or changes anything, but that a directory of our own is made which the cage
//! could make otherwise.
#![forbid(unsafe_code)]

mod agent;
mod caller;
mod confined;
mod documents;
mod error;
mod invocation;
mod own_places;
mod policy_files;
mod profile;
mod selection;

pub mod explain;
pub mod guest;
pub mod project;
pub mod trust;

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use plan::seccomp::Watch;
use plan::{Access, ByteString, FileKind, HostPath, MountOp, Plan, Source};
use policy::facts::{HostFacts, ResolvedRule};
use policy::{FsAccess, FsRule, Invocation, Place, Policy, Reach, RuleOrigin};
use resolve::commits::{Repository, Watched};
use resolve::{AtStart, Index, Link, Listed, ResolveError, Resolved};

pub use caller::Caller;
pub use confined::Confined;
pub use documents::{Agents, Choice, Documents, Sandbox};
pub use error::{Approvals, Definition, PrepareError, SelectionError};
pub use invocation::Name;
pub use policy_files::PolicyFiles;
pub use profile::ProfileNames;
pub use profiles::agents;
pub use selection::{Selected, Selection, TooBroad, UncagedSelection, select, select_from};

/// A cage that is ready to be built.
#[derive(Debug)]
pub struct Prepared {
    /// The cage.
    pub plan: Arc<Plan>,
    /// What its sources are, open.
    pub sources: Vec<OwnedFd>,
    /// Links with protected names, as they are before the run.
    pub links: Vec<Link>,
    /// Links inside protected directories that lead out of them.
    pub links_inside: Vec<Link>,
    /// Directories of writable grants as they were.
    pub directories: Vec<Listed>,
    /// Indexes of repositories in writable grants as they were.
    pub indexes: Vec<Index>,
    /// Repositories in writable grants, with their commits as they were.
    pub repositories: Vec<Repository>,
    /// Protected files that the cage can change, because a commit holds them.
    pub watched: Vec<Watched>,
    /// Those that it cannot although a commit holds them, with the reason.
    pub kept_locked: Vec<(HostPath, &'static str)>,
    /// The caller's home, if it has one.
    pub home: Option<HostPath>,
    /// What flags hide, by what the host has there.
    pub hidden_by_flags: Vec<(HostPath, ResolvedRule)>,
    /// What is to be hidden, would be shown and does not exist.
    pub hidden_once_there: Vec<HostPath>,
    /// What the user's own rules, and not a project's, grant read-write.
    pub writable_by_name: Vec<HostPath>,
    /// What a note about the program's calls is explained by; none where nothing is noted.
    pub grounds: Option<Arc<Grounds>>,
}

/// Why a cage is as it is.
#[derive(Debug)]
pub struct Grounds {
    /// The policy that it was compiled from.
    pub policy: Policy,
    /// What relative paths and `~` stand for.
    pub place: Place,
}

/// Resolves the selected policy on this host and compiles it for a program, under a name that no
/// other start has.
pub fn prepare(selection: &Selection, argv: &[OsString]) -> Result<Prepared, PrepareError> {
    let name = Name::new().map_err(PrepareError::NoRandomBytes)?;
    if let Some(agent) = &selection.agent {
        agent::make_settings(&agent.settings)?;
    }
    let resolved = resolve(selection)?;
    if let Some(ceiling) = &selection.ceiling {
        ceiling
            .check_resolved(&selection.policy, &resolved.facts)
            .map_err(PrepareError::BeyondCeiling)?;
    }
    confined::check(selection, &resolved.facts)?;
    let invocation = Invocation {
        id: name.text,
        argv: guest::within_memory(argv, selection.policy.limits.memory_mb)
            .into_iter()
            .map(ByteString::from)
            .collect(),
        unowned: name.unowned,
    };
    let plan = policy::compile(&selection.policy, &resolved.facts, &invocation)?;
    let hidden_by_flags = hidden_by_flags(&selection.policy, &resolved.facts);
    let hidden_once_there = hidden_once_there(&selection.policy, &resolved.facts);
    let writable_by_name = writable_by_name(&selection.policy, &resolved.facts);
    let Resolved {
        facts,
        sources,
        links,
        links_inside,
        directories,
        indexes,
        repositories,
        watched,
        kept_locked,
    } = resolved;
    Ok(Prepared {
        plan: Arc::new(plan),
        sources,
        links,
        links_inside,
        directories,
        indexes,
        repositories,
        watched,
        kept_locked,
        home: facts.caller.home,
        hidden_by_flags,
        hidden_once_there,
        writable_by_name,
        grounds: None,
    })
}

/// Where the user's own read-write rules lead.
fn writable_by_name(policy: &Policy, facts: &HostFacts) -> Vec<HostPath> {
    let of_user =
        |rule: &FsRule| rule.access == FsAccess::ReadWrite && rule.reach == Reach::Anywhere;
    let rules = policy.fs.iter().zip(&facts.rules).filter(|(rule, _)| of_user(rule));
    let place = |(_, found): (_, &ResolvedRule)| match found {
        ResolvedRule::Found { source, .. } => {
            let index = usize::try_from(source.0).ok()?;
            Some(facts.sources.get(index)?.path.clone())
        }
        ResolvedRule::AllowedAhead { place } => Some(place.clone()),
        ResolvedRule::NothingToHide => None,
    };
    rules.filter_map(place).collect()
}

/// Resolves, and makes our own directories where a cage could make them instead and so decide about
/// the next one. The file with the token is made by the daemon alone, when it starts.
fn resolve(selection: &Selection) -> Result<Resolved, PrepareError> {
    let resolved = resolve_in_peace(selection);
    let Err(ResolveError::OwnMissing(missing)) = &resolved else { return Ok(resolved?) };
    if let Some(token) = &selection.surroundings.token
        && missing.iter().any(|own| own.path == *token)
    {
        return Err(PrepareError::TokenGone(token.clone()));
    }
    own_places::make(missing)?;
    Ok(resolve_in_peace(selection)?)
}

/// Looks again where something was moved away between two looks: another cage may make and remove protected
/// names in the same tree.
fn resolve_in_peace(selection: &Selection) -> Result<Resolved, ResolveError> {
    let Selection { policy, surroundings, .. } = selection;
    for _ in 1..MOST_LOOKS {
        match ::resolve::resolve(policy, surroundings) {
            Err(error) if error.is_of_moved_path() => {}
            resolved => return resolved,
        }
    }
    ::resolve::resolve(policy, surroundings)
}

/// A policy file may hide what one day will exist; who hides by a flag means what is there.
fn hidden_by_flags(policy: &Policy, facts: &HostFacts) -> Vec<(HostPath, ResolvedRule)> {
    let rules = policy.fs.iter().zip(&facts.rules);
    let by_flag = rules.filter(|(rule, _)| {
        rule.access == FsAccess::Hide && matches!(rule.origin, RuleOrigin::Flag(_))
    });
    by_flag.map(|(rule, found)| (rule.path.clone(), found.clone())).collect()
}

/// Nothing can be mounted over what is not there. Whatever comes to be there is seen by the program.
fn hidden_once_there(policy: &Policy, facts: &HostFacts) -> Vec<HostPath> {
    let is_shown = |path: &HostPath| {
        let grants = policy.fs.iter().filter(|rule| rule.access > FsAccess::Hide);
        grants.into_iter().any(|rule| path.is_within(&rule.path))
    };
    let missing = policy.fs.iter().zip(&facts.rules).filter(|(rule, found)| {
        rule.access == FsAccess::Hide
            && **found == ResolvedRule::NothingToHide
            && is_shown(&rule.path)
    });
    missing.map(|(rule, _)| rule.path.clone()).collect()
}

impl Prepared {
    /// The same cage, of whose program something is noted. It sees and may do what it would without.
    #[must_use]
    pub fn watched(mut self, watch: Watch, selection: &Selection) -> Self {
        let (policy, place) = (selection.policy.clone(), selection.place.clone());
        self.grounds = (!watch.is_nothing()).then(|| Arc::new(Grounds { policy, place }));
        Arc::make_mut(&mut self.plan).start.watch = watch;
        self
    }

    /// What the search after the run has to know.
    pub fn at_start(&self) -> AtStart {
        let covered = self.covered().map(|source| source.path.clone()).collect();
        let (links, named) = (self.links.clone(), self.writable_by_name.clone());
        let read_only = self.granted().filter(|(_, access)| *access == Access::ReadOnly);
        let read_only = read_only.map(|(source, _)| source.path.clone()).collect();
        let (directories, indexes) = (self.directories.clone(), self.indexes.clone());
        let (links_inside, home) = (self.links_inside.clone(), self.home.clone());
        let (repositories, watched) = (self.repositories.clone(), self.watched.clone());
        AtStart {
            covered,
            links,
            links_inside,
            read_only,
            directories,
            indexes,
            repositories,
            watched,
            home,
            named,
        }
    }

    /// What the cage has a cover over, hidden or read-only. Replacing such a path on the host takes
    /// the cover away, in every mount namespace (unlink(2), since Linux 3.18).
    pub fn covered(&self) -> impl Iterator<Item = &Source> {
        let covers = self.plan.walls.mounts.iter().filter(|operation| operation.is_cover());
        let covers: HashSet<&[u8]> = covers.map(|operation| operation.at().as_bytes()).collect();
        self.plan.walls.sources.iter().filter(move |source| covers.contains(source.path.as_bytes()))
    }

    /// Grants of single files, with whether they can be written to. A file that is replaced on the
    /// host stays the old one inside.
    pub fn single_files(&self) -> impl Iterator<Item = (&Source, Access)> {
        self.granted().filter(|(source, _)| source.kind == FileKind::File)
    }

    fn granted(&self) -> impl Iterator<Item = (&Source, Access)> {
        let grants = self.plan.walls.mounts.iter().filter_map(MountOp::grant);
        grants.filter_map(|grant| Some((self.plan.source(grant.source)?, grant.access)))
    }
}

/// How often a host that changes meanwhile is looked at.
const MOST_LOOKS: usize = 16;
