//! `stockade run`: builds the cage that a policy describes, runs the program in it on this process's
//! own streams, and ends as the program ended.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::ffi::OsStrExt as _;
use std::time::SystemTime;

use cage::quarantine::Finding;
use cage::{AttachedRun, Attended, Bounds, Degraded, DeniedCall, Gatekeeper, Outcome, SpawnError};
use counsel::aftermath::{Aftermath, Findings, Note};
use jail::{Nursery, StartError};
use plan::{ByteString, Plan};
use policy::shown::shown;
use policy::{EnvironmentRule, Policy, RuleOrigin};

use crate::arguments::{Backend, RunArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::network;
use crate::notes;
use crate::prepare::{Prepared, prepare};
use crate::result::{Destination, RunResult};
use crate::selection::{FlagArguments, Selection, select};
use crate::way_out::WayOut;

/// The command. `nursery` is what was begun before anything was known.
pub(crate) fn run(
    arguments: RunArguments,
    nursery: Option<Result<Nursery, StartError>>,
    messages: Messages,
) -> Result<Exit, Failure> {
    let messages = if arguments.quiet { messages.quiet() } else { messages };
    let destination = Destination::open(arguments.json.as_ref())?;
    let (mut prepared, gatekeeper) = match ready(&arguments, messages) {
        Ok(ready) => ready,
        Err(failure) => return Ok(told(&destination, None, failure, messages)),
    };
    let started = SystemTime::now();
    let ended = match arguments.backend {
        Backend::Native => {
            let degraded =
                if arguments.degraded_limits { Degraded::Allow } else { Degraded::Refuse };
            run_native(nursery, &mut prepared, gatekeeper, degraded, messages)
        }
        Backend::Bwrap => {
            drop(nursery);
            messages.note(
                "the bubblewrap backend leaves out walls that the native one has; \
                 `stockade check --format bwrap` lists them",
            );
            cage::bwrap::run(&prepared.plan).map(Ended::Other)
        }
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            let failure = counsel::failed_start(error, &prepared.plan).into();
            return Ok(told(&destination, Some(&prepared.plan), failure, messages));
        }
    };
    let findings = after(&prepared, started, messages);
    if let Ended::Native(attended) = &ended {
        let outcome = &attended.outcome;
        tell_limits(&prepared.plan, outcome, messages);
        tell_denials(&prepared.plan, outcome, messages);
        if let Some(network) = &outcome.network {
            network::tell(network, messages);
        }
    }
    let result = || ended.result(&prepared.plan, &findings);
    if let Err(error) = destination.write(result) {
        messages.error(&format!("the result cannot be written: {error}"));
    }
    let exit = ended.exit();
    if let Ended::Native(attended) = ended
        && let Err(error) = attended.finish()
    {
        messages.warning(&format!("a control group is left behind: {error}"));
    }
    Ok(exit)
}

fn run_native(
    nursery: Option<Result<Nursery, StartError>>,
    prepared: &mut Prepared,
    gatekeeper: Option<Gatekeeper>,
    degraded: Degraded,
    messages: Messages,
) -> Result<Ended, SpawnError> {
    let bounds = Bounds::prepare(&prepared.plan, degraded)?;
    if let Some(degradation) = bounds.degradation() {
        messages.warning(&counsel::limits::not_held(degradation));
        messages.help(&degradation.fix);
    }
    let run = AttachedRun {
        nursery: nursery.unwrap_or_else(Nursery::open)?,
        plan: &prepared.plan,
        sources: std::mem::take(&mut prepared.sources),
        gatekeeper,
        bounds,
        session: None,
    };
    Ok(Ended::Native(Box::new(run.run()?)))
}

/// How a program ended, by what ran it.
enum Ended {
    /// Nothing runs in the cage any more; the kernel takes it down while this process tells what
    /// happened.
    Native(Box<Attended>),
    Other(jail::End),
}

impl Ended {
    fn exit(&self) -> Exit {
        match self {
            Self::Native(attended) => Exit::of_run(attended.outcome.end, attended.outcome.reason),
            Self::Other(end) => Exit::of_program(*end),
        }
    }

    fn result(&self, plan: &Plan, findings: &[Finding]) -> RunResult {
        match self {
            Self::Native(attended) => RunResult::of_run(plan, &attended.outcome, findings),
            Self::Other(end) => RunResult::of_end(plan, *end, findings),
        }
    }
}

/// Everything up to the compiled cage. A gatekeeper that will be needed jails itself meanwhile.
fn ready(
    arguments: &RunArguments,
    messages: Messages,
) -> Result<(Prepared, Option<Gatekeeper>), Failure> {
    let flags = FlagArguments {
        files: Some(&arguments.files),
        program: Some(&arguments.program),
        network: Some(&arguments.network),
        ..FlagArguments::default()
    };
    let mut selection = select(&arguments.choice, flags, messages)?;
    pass_terminal_on(&mut selection.policy);
    let argv = command(&arguments.command, &selection)?;
    let gatekeeper = match arguments.backend {
        Backend::Native => start_gatekeeper(&selection)?,
        Backend::Bwrap => None,
    };
    let prepared = prepare(&selection, &argv)?;
    notes::tell(&prepared, messages);
    for sentence in &prepared.plan.summary.reduced_isolation {
        messages.note(&format!("reduced isolation: {sentence}"));
    }
    Ok((prepared, gatekeeper))
}

fn start_gatekeeper(selection: &Selection) -> Result<Option<Gatekeeper>, Failure> {
    if selection.policy.net.asks_for_nothing() {
        return Ok(None);
    }
    let way_out = WayOut::new(&selection.network, |name| std::env::var_os(name))?;
    Ok(Some(Gatekeeper::start(&way_out.resolvers, way_out.settings)?))
}

/// What was asked for on the command line, else what the agent's definition says.
pub(crate) fn command(given: &[OsString], selection: &Selection) -> Result<Vec<OsString>, Failure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    if selection.agent_command.is_empty() {
        return Err(Failure::new(Exit::Usage, "there is no program to run")
            .help("put it at the end: `stockade run -- PROGRAM ARGUMENT…`"));
    }
    Ok(selection.agent_command.iter().map(OsString::from).collect())
}

/// On a terminal a program has to know its kind, or it cannot draw. The name says nothing else.
fn pass_terminal_on(policy: &mut Policy) {
    let on_terminal = std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal();
    let plain = |value: &OsString| {
        value.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(byte))
    };
    for name in ["TERM", "COLORTERM"] {
        let value = std::env::var_os(name).filter(|value| on_terminal && plain(value));
        if let (Some(value), false) = (value, policy.env.contains_key(name)) {
            let origin = RuleOrigin::BuiltIn("the kind of the terminal");
            let rule = EnvironmentRule { value: Some(ByteString::from(value)), origin };
            policy.env.insert(name.to_owned(), rule);
        }
    }
}

/// What has to be looked at on the host when a cage has ended.
fn after(prepared: &Prepared, started: SystemTime, messages: Messages) -> Vec<Finding> {
    let Findings { found, notes } = Aftermath::of(prepared).look(started);
    for finding in &found {
        messages.warning(&finding.to_string());
    }
    for note in notes {
        match note {
            Note::Worth(text) => messages.note(&text),
            Note::Warning(text) => messages.warning(&text),
        }
    }
    found
}

/// Which limits the program ran into.
fn tell_limits(plan: &Plan, outcome: &Outcome, messages: Messages) {
    let Outcome { reason, usage, .. } = outcome;
    if let Some(sentence) = counsel::limits::ended_by(&plan.limits, *reason, usage.as_ref()) {
        messages.error(&sentence);
    }
    for sentence in counsel::limits::met(&plan.limits, outcome) {
        messages.note(&sentence);
    }
}

/// Refused system calls in one line; programs often try and go on without.
fn tell_denials(plan: &Plan, outcome: &Outcome, messages: Messages) {
    if outcome.denials.is_empty() {
        return;
    }
    let shown_call = |denial: &DeniedCall| {
        let verb = if denial.killed { " (killed)" } else { "" };
        format!("{} ×{}{verb}", shown(&denial.name), denial.count)
    };
    let mut calls: Vec<String> =
        outcome.denials.iter().take(MOST_DENIALS_TOLD).map(shown_call).collect();
    if outcome.denials.len() > MOST_DENIALS_TOLD {
        calls.push(format!("{} more", outcome.denials.len() - MOST_DENIALS_TOLD));
    }
    let first = outcome.denials.first().map(|denial| shown(&denial.name)).unwrap_or_default();
    messages.note(&format!(
        "refused {} (seccomp {} profile); `stockade why --syscall {first}` tells more",
        calls.join(", "),
        plan.seccomp.profile.name(),
    ));
}

/// Tells of a run that did not happen. The result comes last, as after a run: whoever reads it on
/// standard error takes the last line.
fn told(
    destination: &Destination,
    plan: Option<&Plan>,
    failure: Failure,
    messages: Messages,
) -> Exit {
    failure.tell(messages);
    if let Err(error) = destination.write(|| RunResult::of_failure(plan, &failure)) {
        messages.error(&format!("the result cannot be written: {error}"));
    }
    failure.exit
}

const MOST_DENIALS_TOLD: usize = 5;
