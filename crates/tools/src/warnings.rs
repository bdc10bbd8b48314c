//! What is useless or dangerous about a set of tools under a policy, said before anything runs. Pure: it reads the
//! policy, and changes nothing.

use policy::net::Hosts;
use policy::shown::shown;
use policy::{Commands, FsAccess, Place, Policy, secrets};

use crate::tool::{Needs, Tool};

/// Something that whoever grants should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A tool that can do nothing here.
    Useless(String),
    /// Things that are harmless alone and are not together.
    Dangerous(String),
}

impl std::fmt::Display for Warning {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Useless(text) | Self::Dangerous(text)) = self;
        formatter.write_str(text)
    }
}

/// What is worth saying about tools under a policy.
pub fn warnings(policy: &Policy, place: &Place, tools: &[&dyn Tool]) -> Vec<Warning> {
    let with = |needs: Needs| {
        let names: Vec<String> = tools
            .iter()
            .filter(|tool| tool.needs() == needs)
            .map(|tool| format!("`{}`", tool.name()))
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let mut warnings = Vec::new();
    if let Some(names) = with(Needs::Write)
        && !policy.fs.iter().any(|rule| rule.access >= FsAccess::Cache)
    {
        warnings.push(Warning::Useless(format!(
            "{names} can change nothing but memory: no path is granted for writing (`--cow .` grants the project)"
        )));
    }
    if let Some(names) = with(Needs::Read)
        && !policy.fs.iter().any(|rule| rule.access >= FsAccess::ReadOnly)
    {
        warnings.push(Warning::Useless(format!(
            "{names} can see nothing but the system: no path is granted"
        )));
    }
    let runs = with(Needs::Run);
    if let Some(names) = &runs
        && policy.commands == Commands::None
    {
        warnings
            .push(Warning::Useless(format!("{names} has no shell: the policy grants no commands")));
    }
    let reaches = with(Needs::Network);
    if let Some(names) = &reaches
        && policy.net.asks_for_nothing()
    {
        warnings.push(Warning::Useless(format!(
            "{names} can reach nothing: the policy grants no network (`--net HOST` grants a host)"
        )));
    }
    if runs.is_none() && reaches.is_none() && !policy.net.asks_for_nothing() {
        warnings.push(Warning::Useless(
            "the policy grants a network, and no granted tool can use it".to_owned(),
        ));
    }
    if runs.is_some() || with(Needs::Read).is_some() {
        warnings.extend(readable_secrets(policy, place));
    }
    warnings
}

/// Secrets that can be read where the network leads to more than named hosts.
fn readable_secrets(policy: &Policy, place: &Place) -> Option<Warning> {
    let is_open = policy.net.allow.keys().find(|destination| match destination.hosts() {
        Hosts::Name(_) => false,
        Hosts::Network(network) => network.prefix_len() < network.max_prefix_len(),
        Hosts::OneLabelBelow(_) | Hosts::AnyLabelsBelow(_) | Hosts::EveryName => true,
    })?;
    let homes: Vec<_> = place.home.iter().collect();
    let granted = policy.fs.iter().filter(|rule| rule.access >= FsAccess::ReadOnly);
    let (rule, secret) = granted.into_iter().find_map(|rule| {
        secrets::holding(&homes, &rule.path).into_iter().next().map(|secret| (rule, secret))
    })?;
    Some(Warning::Dangerous(format!(
        "`{}` ({}) can be read while `{is_open}` can be reached: whatever steers the model can send the one to the other",
        shown(&rule.path),
        secret.name
    )))
}

#[cfg(test)]
mod tests;
