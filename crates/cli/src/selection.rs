//! Which policy holds for a command line. Every command that needs a policy asks here, so that `why`
//! and `check` speak of the cage that `run` builds.

use cage::prepare::{Agents, Caller, Choice, PolicyFiles, Selected};
use policy::text::WrittenRules;

use crate::arguments::{
    ChoiceArguments, CommandSet, FileArguments, NetworkArguments, ProgramArguments, Seccomp,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;

pub(crate) use cage::prepare::{Sandbox, Selection, TooBroad};

/// The command line's own rules, as far as a command has them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlagArguments<'a> {
    /// `--ro`, `--rw`, `--hide`.
    pub(crate) files: Option<&'a FileArguments>,
    /// `--env`, `--command` and the rest.
    pub(crate) program: Option<&'a ProgramArguments>,
    /// `--net` and its like.
    pub(crate) network: Option<&'a NetworkArguments>,
    /// `--seccomp` of a command that has no other.
    pub(crate) seccomp: Option<Seccomp>,
    /// `--no-sandbox`.
    pub(crate) sandbox: Sandbox,
    /// `--narrow`, one after the other.
    pub(crate) narrow: &'a [String],
    /// Without a policy, in a directory that is too broad to be granted without being named.
    pub(crate) too_broad: TooBroad,
}

/// The policy that holds; a cage that is disabled has none.
pub(crate) fn select(
    choice: &ChoiceArguments,
    arguments: FlagArguments<'_>,
    messages: Messages,
) -> Result<Selection, Failure> {
    match select_any(choice, arguments, messages)? {
        Selected::Caged(selection) => Ok(*selection),
        Selected::Uncaged(uncaged) => Err(Failure::new(
            Exit::CannotBuild,
            format!(
                "{}: its program runs without a cage, so there is none to look at",
                uncaged.because()
            ),
        )
        .help("give it a cage, or name another one with `--cage`")),
    }
}

/// What holds: a policy, or none because the cage is disabled.
pub(crate) fn select_any(
    choice: &ChoiceArguments,
    arguments: FlagArguments<'_>,
    messages: Messages,
) -> Result<Selected, Failure> {
    let mut caller = Caller::of_this_process()?;
    for warning in &caller.locations.warnings {
        messages.warning(&warning.to_string());
    }
    if choice.agent.is_some() {
        harness::Models::of_this_process(&caller.locations)?.announce(&mut caller);
    }
    let flags = advice::flags::read(&arguments.written()?, &caller)?;
    let ChoiceArguments { project, cage, agent, profile, capability } = choice;
    let choice = Choice {
        project: project.clone(),
        cage: cage.clone(),
        agent: agent.clone(),
        agents: Agents::DefinedAndBuiltIn,
        profile: profile.clone(),
        capabilities: capability.clone(),
        sandbox: arguments.sandbox,
    };
    let mut selected = cage::prepare::select(&caller, &choice, &flags, arguments.too_broad)?;
    if let Selected::Caged(selection) = &mut selected {
        for request in arguments.narrow {
            **selection = narrowed(selection, request, &caller)?;
        }
        for note in advice::notes::of_flags(selection) {
            messages.note(&note);
        }
    }
    Ok(selected)
}

/// The part of a cage that a request describes.
fn narrowed(selection: &Selection, request: &str, caller: &Caller) -> Result<Selection, Failure> {
    let rules: WrittenRules = serde_json::from_str(request)
        .map_err(|error| Failure::new(Exit::Usage, format!("`--narrow`: {error}")))?;
    selection.narrow(&advice::flags::read(&rules, caller)?).map_err(|refusals| {
        let message = format!("the cage does not have all of `--narrow`: {refusals}");
        advice::Failure::new(cage::Kind::PolicyInvalid, message)
            .help("a child has a part of what its cage has: ask for less, or give the cage more")
            .into()
    })
}

/// The policy files that this process's user and directory have.
pub(crate) fn policy_files(project: Option<&std::path::Path>) -> Result<PolicyFiles, Failure> {
    Ok(PolicyFiles::read(&Caller::of_this_process()?, project)?)
}

impl FlagArguments<'_> {
    /// The rules as a request has them too.
    pub(crate) fn written(self) -> Result<WrittenRules, Failure> {
        let mut rules = WrittenRules::default();
        if let Some(FileArguments { ro, rw, cow, cache, hide, mount }) = self.files {
            rules.ro.clone_from(ro);
            rules.rw.clone_from(rw);
            rules.cow.clone_from(cow);
            rules.cache.clone_from(cache);
            rules.hide.clone_from(hide);
            rules.mount.clone_from(mount);
        }
        if let Some(program) = self.program {
            add_program(&mut rules, program)?;
        }
        if let Some(NetworkArguments { net, no_net, host_port, publish }) = self.network {
            rules.no_net = *no_net;
            rules.net.clone_from(net);
            rules.host_ports.clone_from(host_port);
            rules.publish.clone_from(publish);
        }
        if let Some(profile) = self.seccomp {
            rules.seccomp = Some(profile.word().to_owned());
        }
        Ok(rules)
    }
}

fn add_program(rules: &mut WrittenRules, program: &ProgramArguments) -> Result<(), Failure> {
    let ProgramArguments { env, listed, commands, seccomp, state, keep_home, .. } = program;
    let ProgramArguments { memory, pids, cpus, time, tmp_size, home_size, workspace, .. } = program;
    if let Some(name) = listed.iter().find(|name| matches!(name.as_str(), "base" | "none")) {
        return Err(advice::Failure::from(rules.not_a_program(name)).into());
    }
    rules.env.clone_from(env);
    rules.commands = match commands {
        Some(CommandSet::Base) => Some(vec!["base".to_owned()]),
        Some(CommandSet::None) => Some(vec!["none".to_owned()]),
        None => Some(listed.clone()).filter(|names| !names.is_empty()),
    };
    rules.seccomp = seccomp.map(|profile| profile.word().to_owned());
    rules.state = state.map(|state| state.word().to_owned());
    rules.home = keep_home.then(|| "kept".to_owned());
    rules.workspace.clone_from(workspace);
    rules.memory.clone_from(memory);
    rules.pids.clone_from(pids);
    rules.cpus.clone_from(cpus);
    rules.time.clone_from(time);
    rules.tmp_size.clone_from(tmp_size);
    rules.home_size.clone_from(home_size);
    Ok(())
}
