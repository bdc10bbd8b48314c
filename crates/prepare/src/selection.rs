//! Which policy holds: the project's file, the user's configuration, or what is built in; which cage
//! of it; and whether the user's ceiling or approval covers it.

use std::borrow::Cow;
use std::time::Duration;

use audit::UncagedReason;
use policy::algebra::Refusals;
use policy::text::Flags;
use policy::{Cage, Ceiling, NetworkSettings, Place, Policy, RuleOrigin, capabilities};
use profiles::agents::Agent;
use resolve::Surroundings;

use super::agent::{self, BuiltIn};
use super::caller::Caller;
use super::confined::Confined;
use super::documents::{Agents, Author, Choice, Chosen, Documents, Sandbox};
use super::error::SelectionError;
use super::policy_files::{Permitted, PolicyFiles};
use super::profile;

/// What holds for a program: a policy, or none because the cage is disabled.
#[derive(Debug)]
pub enum Selected {
    /// A policy.
    Caged(Box<Selection>),
    /// The cage is disabled.
    Uncaged(Box<UncagedSelection>),
}

/// A policy that holds, and where.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The policy, with the caller's own rules.
    pub policy: Policy,
    /// The command of the agent that was asked for.
    pub agent_command: Vec<String>,
    /// The agent itself, if it is a built-in one.
    pub agent: Option<Agent>,
    /// What relative paths and `~` stand for.
    pub place: Place,
    /// Where and for whom the policy will be resolved.
    pub surroundings: Surroundings,
    /// What a project's file that nobody approved must stay under, wherever its links lead.
    pub ceiling: Option<Ceiling>,
    /// Rules that must not lead out of a tree, wherever their links lead.
    pub confined: Vec<Confined>,
    /// How the user's configuration has this machine reach the network.
    pub network: NetworkSettings,
}

impl Selection {
    /// A cage for a child: the part of this one that rules describe, and all of it where they are silent.
    ///
    /// # Errors
    /// If they ask for more than this cage has, with everything that is more.
    pub fn narrow(&self, rules: &Flags) -> Result<Self, Refusals> {
        Ok(Self { policy: self.policy.narrow_to(rules)?, ..self.clone() })
    }
}

/// No cage: the operator's opt-out, which keeps the time limit alone.
#[derive(Debug)]
pub struct UncagedSelection {
    /// The cage's name, or the agent's where it has none.
    pub name: String,
    /// The longest life of the program. K162
    pub walltime: Option<Duration>,
    /// Where the cage was disabled; none where programs run without cages whatever a policy says.
    pub disabled: Option<RuleOrigin>,
    /// The command of the agent that was asked for.
    pub agent_command: Vec<String>,
    /// Where the program starts, and what its environment is.
    pub surroundings: Surroundings,
}

impl UncagedSelection {
    /// Who said so, as the record has it.
    pub fn reason(&self) -> UncagedReason {
        match self.disabled {
            Some(_) => UncagedReason::DslDisabled,
            None => UncagedReason::DaemonNoSandbox,
        }
    }

    /// The same for a person.
    pub fn because(&self) -> String {
        match &self.disabled {
            Some(origin) => format!("its cage is disabled ({origin})"),
            None => "`--no-sandbox` was given".to_owned(),
        }
    }
}

/// What becomes of a working directory that is too broad to be granted without being named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TooBroad {
    /// Flags that name paths make up for it; else there is no policy.
    #[default]
    Refuse,
    /// It is left out.
    GrantNothing,
}

/// Finds the files, chooses a cage of them and adds the caller's own rules, which are the caller's
/// own authority: they may name any path that can be granted at all.
pub fn select(
    caller: &Caller,
    choice: &Choice,
    flags: &Flags,
    too_broad: TooBroad,
) -> Result<Selected, SelectionError> {
    let project = choice.project.as_deref();
    let files = match &choice.profile {
        Some(_) => PolicyFiles::read_for_profile(caller, project)?,
        None => PolicyFiles::read(caller, project)?,
    };
    let files = match &choice.agent {
        Some(name) if choice.agents == Agents::DefinedAndBuiltIn => {
            agent::files(name, files, caller, project)?
        }
        _ => files,
    };
    select_from(files, caller, choice, flags, too_broad)
}

/// As [`select`], from files that were read before.
pub fn select_from(
    files: PolicyFiles,
    caller: &Caller,
    choice: &Choice,
    flags: &Flags,
    too_broad: TooBroad,
) -> Result<Selected, SelectionError> {
    let documents = files.parse()?;
    let is_plugin = !choice.capabilities.is_empty();
    if is_plugin && choice.sandbox == Sandbox::Off {
        return Err(SelectionError::PluginWithoutCage);
    }
    let built_in = match &choice.agent {
        Some(name) if choice.agents == Agents::DefinedAndBuiltIn && !is_plugin => {
            agent::built_in(name, &files, &documents, caller, flags, too_broad)?
        }
        _ => None,
    };
    let chosen = match (&built_in, &choice.profile) {
        _ if is_plugin => None,
        (Some(BuiltIn { agent, policy }), _) => {
            let cage = Cow::Owned(Cage::Enabled(policy.clone()));
            Some(Chosen { cage, name: agent.name, agent: None, author: Author::User })
        }
        (None, Some(name)) => {
            let policy = profile::policy(name, &files, &documents, caller, flags, too_broad)?;
            let cage = Cow::Owned(Cage::Enabled(policy));
            Some(Chosen { cage, name, agent: None, author: Author::User })
        }
        (None, None) => documents.choose(choice)?,
    };
    let agent = chosen.as_ref().and_then(|chosen| chosen.agent);
    let agent_command = match &built_in {
        Some(built_in) => built_in.agent.command.clone(),
        None => agent.map(|agent| agent.command.clone()).unwrap_or_default(),
    };
    let permitted = match &chosen {
        Some(chosen) => files.permit(&documents, chosen)?,
        None if is_plugin => plugin(&choice.capabilities, &files.place, &documents)?,
        None => {
            let policy = files.without_policy(flags, too_broad)?;
            Permitted { cage: Cage::Enabled(policy), ceiling: None }
        }
    };
    let surroundings = caller.surroundings(files.project.root.clone());
    let Permitted { cage, ceiling } = permitted;
    let mut disabled = None;
    let policy = match cage {
        Cage::Enabled(policy) => policy.with_user_flags(flags),
        Cage::Disabled { limits, origin } => {
            let name = chosen.as_ref().map(|chosen| chosen.name.to_owned()).unwrap_or_default();
            disabled = Some(origin);
            Policy { limits, ..Policy::closed(&name) }.with_user_flags(flags)
        }
    };
    if disabled.is_some() || choice.sandbox == Sandbox::Off {
        if let Some(flag) = flags.that_needs_a_cage() {
            return Err(SelectionError::NeedsCage { flag });
        }
        let Policy { name, limits, .. } = policy;
        let walltime = limits.walltime_sec.map(Duration::from_secs);
        let disabled = disabled.filter(|_| choice.sandbox == Sandbox::On);
        let uncaged = UncagedSelection { name, walltime, disabled, agent_command, surroundings };
        return Ok(Selected::Uncaged(Box::new(uncaged)));
    }
    if let Some(list) = policy.net.list_with_too_many_ports() {
        return Err(SelectionError::TooManyPorts { list });
    }
    let place = files.place;
    let network = documents.user.map(|document| document.network).unwrap_or_default();
    let confined = Vec::new();
    let agent = built_in.map(|built_in| built_in.agent);
    let selection =
        Selection { policy, agent_command, agent, place, surroundings, ceiling, confined, network };
    Ok(Selected::Caged(Box::new(selection)))
}

/// What capabilities give a plugin, under the user's ceiling. There is nothing to approve and nothing
/// to disable. K208, K209
fn plugin(
    capabilities: &[String],
    place: &Place,
    documents: &Documents,
) -> Result<Permitted, SelectionError> {
    let asked = capabilities::policy(capabilities.iter().map(String::as_str), place)?;
    let policy = documents.ceiling.apply(&asked).map_err(SelectionError::PluginBeyondCeiling)?;
    Ok(Permitted { cage: Cage::Enabled(policy), ceiling: Some(documents.ceiling.clone()) })
}
