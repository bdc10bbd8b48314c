//! Profiles: policies of the user's for any project, built in or written in the user's configuration, and
//! what the project's own file takes away from them. A project's file gives a profile nothing.

use policy::text::{Document, Rules};
use policy::{Cage, FsAccess, Policy, built_in, text};
use profiles::{BUILT_IN, Host};

use super::caller::Caller;
use super::documents::Documents;
use super::error::{Definition, SelectionError};
use super::policy_files::PolicyFiles;
use super::selection::TooBroad;
use crate::project::PROJECT_FILE_NAME;

/// The names of the profiles that there are, with what each is for.
pub type ProfileNames = Vec<(String, String)>;

impl PolicyFiles {
    /// The host as this caller's profiles are made from it.
    pub fn host(&self, caller: &Caller) -> Host {
        Host {
            environment: caller.environment.clone(),
            home: caller.home(),
            project: self.project.root.clone(),
            own_state: caller.locations.own_state(),
            system: plan::HostPath::root(),
        }
    }

    /// The policy that a project could begin with, which the parser has taken.
    pub fn begun(&self, caller: &Caller) -> Result<String, SelectionError> {
        built_in::policy(&self.project.root, self.place.home.as_slice())?;
        let text = profiles::project_policy(&self.host(caller));
        text::parse_project(PROJECT_FILE_NAME, text.as_bytes(), &self.place)?;
        Ok(text)
    }

    /// Every profile that this user has.
    pub fn profiles(&self) -> Result<ProfileNames, SelectionError> {
        let documents = self.parse()?;
        let own = documents.user.iter().flat_map(|document| &document.profiles);
        let mut names: ProfileNames = own
            .map(|(name, profile)| {
                let about = match &profile.from {
                    Some(from) => format!("of your configuration, adds to `{from}`"),
                    None => "of your configuration".to_owned(),
                };
                (name.clone(), about)
            })
            .collect();
        for known in BUILT_IN {
            if !names.iter().any(|(name, _)| name == known.name) {
                names.push((known.name.to_owned(), known.about.to_owned()));
            }
        }
        Ok(names)
    }

    /// The text of a built-in profile as it is for this caller here.
    pub fn built_in_profile(&self, name: &str, caller: &Caller) -> Result<String, SelectionError> {
        match profiles::known(name) {
            Some(known) => Ok(known.text(&self.host(caller))),
            None => Err(undefined(name, &self.parse()?)),
        }
    }
}

/// A profile's policy.
pub(super) fn policy(
    name: &str,
    files: &PolicyFiles,
    documents: &Documents,
    caller: &Caller,
    flags: &Rules,
    too_broad: TooBroad,
) -> Result<Policy, SelectionError> {
    let layers = layers(name, files, documents, caller)?;
    layered(name, &layers, files, documents, flags, too_broad)
}

/// The policy of some layers, with what the user's `[defaults]` say and what the project's file takes away.
pub(super) fn layered(
    name: &str,
    layers: &[Rules],
    files: &PolicyFiles,
    documents: &Documents,
    flags: &Rules,
    too_broad: TooBroad,
) -> Result<Policy, SelectionError> {
    if files.place.project_is_too_broad() {
        // The profile leaves such a project out, and there would be nothing to work on.
        files.without_policy(flags, too_broad)?;
    }
    let mut policy = Policy::closed(name);
    if let Some(user) = &documents.user {
        policy = policy.with_user_flags(&user.defaults);
    }
    for layer in layers {
        policy = policy.with_user_flags(layer);
    }
    if let Some(project) = &documents.project {
        take_away(&mut policy, project);
    }
    Ok(policy)
}

/// What a profile consists of, the first one first.
fn layers(
    name: &str,
    files: &PolicyFiles,
    documents: &Documents,
    caller: &Caller,
) -> Result<Vec<Rules>, SelectionError> {
    let own = |name: &str| documents.user.as_ref()?.profiles.get(name);
    let mut layers = Vec::new();
    let mut seen = vec![name.to_owned()];
    let mut next = name.to_owned();
    while let Some(profile) = own(&next) {
        layers.push(profile.rules.clone());
        let Some(from) = profile.from.clone() else {
            layers.reverse();
            return Ok(layers);
        };
        if from == next {
            break;
        }
        if seen.contains(&from) {
            return Err(SelectionError::ProfileCycle { name: from });
        }
        seen.push(from.clone());
        next = from;
    }
    let Some(known) = profiles::known(&next) else { return Err(undefined(&next, documents)) };
    let text = known.text(&files.host(caller));
    let mut document = text::parse_user(&format!("profile {next}"), text.as_bytes(), &files.place)?;
    layers.extend(document.profiles.shift_remove(&next).map(|profile| profile.rules));
    layers.reverse();
    Ok(layers)
}

fn undefined(name: &str, documents: &Documents) -> SelectionError {
    let own = documents.user.iter().flat_map(|document| document.profiles.keys());
    let built_in = BUILT_IN.iter().map(|known| known.name);
    let mut defined: Vec<String> =
        own.map(String::as_str).chain(built_in).map(str::to_owned).collect();
    defined.sort();
    defined.dedup();
    SelectionError::Undefined { what: Definition::Profile, name: name.to_owned(), defined }
}

/// What the project's default cage hides, denies and bounds holds in a profile as well. What it grants is
/// for a cage of its own.
fn take_away(policy: &mut Policy, project: &Document) {
    let Some(Cage::Enabled(own)) = project.cages.get(built_in::DEFAULT_CAGE) else { return };
    for rule in own.fs.iter().filter(|rule| rule.access == FsAccess::Hide) {
        if !policy.fs.iter().any(|known| known.path == rule.path) {
            policy.fs.push(rule.clone());
        }
    }
    for (destination, origin) in &own.net.deny {
        policy.net.deny.entry(destination.clone()).or_insert_with(|| origin.clone());
    }
    for (host, reason) in &own.net.reasons {
        policy.net.reasons.entry(host.clone()).or_insert_with(|| reason.clone());
    }
    let (bounds, own) = (&mut policy.limits, own.limits);
    bounds.memory_mb = least(bounds.memory_mb, own.memory_mb);
    bounds.cpu_weight = least(bounds.cpu_weight, own.cpu_weight);
    bounds.cpu_millis = least(bounds.cpu_millis, own.cpu_millis);
    bounds.pids = least(bounds.pids, own.pids);
    bounds.walltime_sec = least(bounds.walltime_sec, own.walltime_sec);
    bounds.workspace_mb = least(bounds.workspace_mb, own.workspace_mb);
    bounds.tmp_mb = least(bounds.tmp_mb, own.tmp_mb);
    bounds.home_mb = least(bounds.home_mb, own.home_mb);
}

fn least<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}
