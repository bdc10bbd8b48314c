//! The cage that an agent's tools run in: the policy that holds for every other run here, with the project as a
//! copy-on-write view where nothing else lets the agent work, and with the worker's program.

use std::ffi::OsString;

use advice::Failure;
use agent::View;
use cage::Kind;
use cage::prepare::{Agents, Caller, Choice, Selected, Selection, TooBroad, select};
use plan::HostPath;
use policy::access::AccessMap;
use policy::shown::shown;
use policy::text::WrittenRules;
use policy::{FsAccess, Policy, State};

use crate::arguments::CageArguments;

/// Finds the policy.
pub(crate) fn find(
    arguments: &CageArguments,
    needs_write: bool,
    key_variable: Option<&str>,
) -> Result<Selection, Failure> {
    let caller = Caller::of_this_process()?;
    let own = advice::doctor::own_executable()?;
    let mut rules = rules(arguments);
    if !own.as_bytes().starts_with(b"/usr/") {
        rules.ro.push(own.as_path().to_owned());
    }
    let mut selection = selected(arguments, &caller, &rules)?;
    let names_files =
        !(arguments.ro.is_empty() && arguments.rw.is_empty() && arguments.cow.is_empty());
    let project = selection.place.project.clone();
    let level = AccessMap::new(&selection.policy.fs).level(&project);
    if needs_write && !names_files && level < FsAccess::Cow {
        if selection.place.project_is_too_broad() {
            let project = shown(&project);
            return Err(Failure::new(
                Kind::TooBroad,
                format!("`{project}` is too broad for an agent to work in"),
            )
            .help("go to a project's directory, or name one by `--project`"));
        }
        rules.cow.push(project.as_path().to_owned());
        selection = selected(arguments, &caller, &rules)?;
    }
    // The session's transcript and what was changed belong together.
    if arguments.session.is_some() {
        selection.policy.state = State::Scratch;
    }
    if let Some(name) = key_variable
        && selection.policy.env.contains_key(name)
    {
        return Err(Failure::new(
            Kind::PolicyInvalid,
            format!("the policy passes `{name}` into the cage, which is the model's key"),
        )
        .help("leave it out of `env`, or keep the key elsewhere and name it by `--key`"));
    }
    Ok(selection)
}

/// Finds the policy for somebody else's program.
pub(crate) fn for_server(arguments: &CageArguments) -> Result<Selection, Failure> {
    let mut selection = selected(arguments, &Caller::of_this_process()?, &rules(arguments))?;
    if arguments.session.is_some() {
        selection.policy.state = State::Scratch;
    }
    Ok(selection)
}

fn rules(arguments: &CageArguments) -> WrittenRules {
    WrittenRules {
        ro: arguments.ro.clone(),
        rw: arguments.rw.clone(),
        cow: arguments.cow.clone(),
        net: arguments.net.clone(),
        ..WrittenRules::default()
    }
}

fn selected(
    arguments: &CageArguments,
    caller: &Caller,
    rules: &WrittenRules,
) -> Result<Selection, Failure> {
    let flags = advice::flags::read(rules, caller)?;
    let choice = Choice {
        project: arguments.project.clone(),
        cage: arguments.name.clone(),
        profile: arguments.profile.clone(),
        agents: Agents::DefinedAndBuiltIn,
        ..Choice::default()
    };
    match select(caller, &choice, &flags, TooBroad::Refuse)? {
        Selected::Caged(selection) => Ok(*selection),
        Selected::Uncaged(uncaged) => Err(Failure::new(
            Kind::UncagedNotAllowed,
            format!("{}: no agent of ours runs without one", uncaged.because()),
        )
        .help("name another cage by `--cage`, or a profile by `--profile`")),
    }
}

/// The worker, as the cage's program.
pub(crate) fn command() -> Result<Vec<OsString>, Failure> {
    let own = advice::doctor::own_executable()?;
    let program = own.as_path().as_os_str().to_owned();
    Ok(vec![program.clone(), crate::WORKER.into(), program])
}

/// What the agent is told about what there is.
pub(crate) fn view(selection: &Selection, working_directory: &HostPath, tools: &[String]) -> View {
    view_of(&selection.policy, working_directory, tools)
}

/// The same of a child, by its own policy.
pub(crate) fn view_of(policy: &Policy, working_directory: &HostPath, tools: &[String]) -> View {
    let own = advice::doctor::own_executable().ok();
    let rules = policy.fs.iter().filter(|rule| Some(&rule.path) != own.as_ref());
    let word = |access: FsAccess| match access {
        FsAccess::Hide => "hidden",
        FsAccess::ReadOnly => "read-only",
        FsAccess::Cache | FsAccess::Cow | FsAccess::ReadWrite => "can be changed",
    };
    let paths = rules.map(|rule| format!("`{}` ({})", shown(&rule.path), word(rule.access)));
    View {
        working_directory: working_directory.as_path().display().to_string(),
        tools: tools.to_vec(),
        paths: paths.take(MOST_SHOWN).collect(),
        hosts: policy.net.allow.keys().map(ToString::to_string).take(MOST_SHOWN).collect(),
        is_reviewed: policy.fs.iter().any(|rule| rule.access == FsAccess::Cow),
    }
}

const MOST_SHOWN: usize = 40;
