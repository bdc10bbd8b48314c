//! `stockade run`: builds the cage that a policy describes, runs the program in it on this process's
//! own streams, and ends as the program ended. Or without a cage, where the operator said so.

mod uncaged;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::ffi::OsStrExt as _;

use aftermath::quarantine::Finding;
use cage::prepare::{Name, Selected, UncagedSelection};
use cage::runner::UncagedProgram;
use cage::session::Session;
use cage::state::Locations;
use cage::{
    AttachedRun, Attended, Bounds, Degraded, DeniedCall, Gatekeeper, Outcome, RecordError,
    Recording, SpawnError, Swept,
};
use counsel::aftermath::{Aftermath, Findings, Note};
use jail::{Premade, StartError};
use plan::{ByteString, Plan};
use policy::shown::shown;
use policy::{EnvironmentRule, Policy, RuleOrigin, State};

use crate::arguments::{self, Backend, RunArguments};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::network;
use crate::prepare::Prepared;
use crate::result::{Destination, Named, RunResult};
use crate::selection::{FlagArguments, Sandbox, Selection, TooBroad, select_any};
use crate::session;
use crate::way_out::WayOut;
use uncaged::Uncaged;

/// Namespaces that were begun before anything was known; whatever failed is told when they are needed.
pub(crate) type MaybePremade = Option<Result<Premade, StartError>>;

/// The command.
pub(crate) fn run(
    arguments: RunArguments,
    premade: MaybePremade,
    messages: Messages,
) -> Result<Exit, Failure> {
    let messages = if arguments.quiet { messages.quiet() } else { messages };
    let destination = Destination::open(arguments.json.as_ref())?;
    let locations = Locations::of_this_process();
    let recording = Recording::of_nobody(&locations);
    let mut start = Start { messages, destination, recording, session: None, swept: Vec::new() };
    let exit = match choose(&arguments, &locations, &mut start) {
        Ok(Chosen::Caged(selection)) => run_caged(*selection, premade, &arguments, &start),
        Ok(Chosen::Uncaged(program)) => {
            drop(premade);
            uncaged::run(&program, &start)
        }
        Err(failure) => start.not_compiled(failure),
    };
    if let Some(session) = start.session.take() {
        session::leave(session, &start.recording, messages);
    }
    Ok(exit)
}

/// Writes the result of a command line that cannot be read to where it asks for one: a program that
/// reads the result must not find an old one there.
pub(crate) fn tell_unreadable(words: &[OsString], error: &clap::Error) {
    if !error.use_stderr() {
        return;
    }
    let Some(asked) = arguments::json_asked_for(words) else { return };
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let failure = Failure::new(Exit::Usage, first.strip_prefix("error: ").unwrap_or(first));
    // What is wrong has been told, and a file that cannot be written is only one thing more.
    if let Ok(destination) = Destination::open(Some(&asked)) {
        let _unwritten = destination.write(|| RunResult::of_failure(Named::Nothing, &failure));
    }
}

/// What every run has, whatever is around its program.
#[derive(Debug)]
struct Start {
    messages: Messages,
    destination: Destination,
    recording: Recording,
    session: Option<Session>,
    /// What supervisors that are gone had left.
    swept: Vec<Swept>,
}

/// What is to be run.
enum Chosen {
    Caged(Box<Selection>),
    Uncaged(Box<Uncaged>),
}

/// Finds out what holds for the program, and enters its session.
fn choose(
    arguments: &RunArguments,
    locations: &Locations,
    start: &mut Start,
) -> Result<Chosen, Failure> {
    let (sandbox, too_broad) = match arguments.no_sandbox {
        true => (Sandbox::Off, TooBroad::GrantNothing),
        false => (Sandbox::On, TooBroad::Refuse),
    };
    let flags = FlagArguments {
        files: Some(&arguments.files),
        program: Some(&arguments.program),
        network: Some(&arguments.network),
        sandbox,
        too_broad,
        ..FlagArguments::default()
    };
    let selected = select_any(&arguments.choice, flags, start.messages)?;
    let project = match &selected {
        Selected::Caged(selection) => &selection.surroundings.project,
        Selected::Uncaged(uncaged) => &uncaged.surroundings.project,
    };
    start.recording.labels.project_id = project.to_string();
    start.recording.labels.subagent_name.clone_from(&arguments.choice.agent);
    let state = match &selected {
        Selected::Caged(selection) => selection.policy.state,
        Selected::Uncaged(_) => State::Ephemeral,
    };
    if let Some((session, swept)) = session::enter(locations, arguments.session.as_deref(), state)?
    {
        start.recording.labels.session_id = Some(session.id().as_str().to_owned());
        start.session = Some(session);
        start.swept = swept;
    }
    match selected {
        Selected::Caged(mut selection) => {
            let scratch = start.session.as_ref().map(|session| session.scratch().clone());
            selection.surroundings.scratch = scratch;
            Ok(Chosen::Caged(selection))
        }
        Selected::Uncaged(selection) => {
            let argv = command(&arguments.command, &selection.agent_command)?;
            let (because, reason) = (selection.because(), selection.reason());
            let UncagedSelection { walltime, surroundings, .. } = *selection;
            let program = UncagedProgram {
                argv,
                environment: surroundings.environment.to_vec(),
                working_directory: surroundings.working_directory.as_path().to_owned(),
                walltime,
                reason,
            };
            Ok(Chosen::Uncaged(Box::new(Uncaged { program, because })))
        }
    }
}

fn run_caged(
    mut selection: Selection,
    premade: MaybePremade,
    arguments: &RunArguments,
    start: &Start,
) -> Exit {
    let messages = start.messages;
    let mut premade = premade;
    let mut tries = 1;
    let Tried { prepared, aftermath, ended } = loop {
        let tried = match try_caged(&mut selection, premade, arguments, start, tries) {
            Ok(tried) => tried,
            Err(failure) => return start.not_compiled(failure),
        };
        // Somebody changes the same tree, and nothing has begun: what is found now may stay.
        let is_changed = matches!(tried.ended, Err(SpawnError::TreeChanged { .. }));
        if !is_changed || tries == MOST_TRIES {
            break tried;
        }
        tries += 1;
        premade = None;
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            if error.may_have_begun() {
                after(&aftermath, messages);
            }
            let failure = counsel::failed_start(error, &prepared.plan).into();
            return start.not_run(Named::Cage(&prepared.plan), failure);
        }
    };
    let findings = after(&aftermath, messages);
    if let Ended::Native(attended) = &ended {
        let outcome = &attended.outcome;
        tell_limits(&prepared.plan, outcome, messages);
        tell_denials(&prepared.plan, outcome, messages);
        if let Some(network) = &outcome.network {
            network::tell(network, messages);
        }
        start.tell_unrecorded(attended.unrecorded.as_ref());
    }
    let session = start.session.as_ref().map(Session::id);
    start.write_result(|| ended.result(&prepared.plan, &findings).in_session(session));
    let exit = ended.exit();
    if let Ended::Native(attended) = ended
        && let Err(error) = attended.finish()
    {
        messages.warning(&format!("a control group is left behind: {error}"));
    }
    // The process is about to end: giving its memory back piece by piece would only delay that.
    std::mem::forget((selection, prepared, findings));
    exit
}

/// What one try to run the program came to.
struct Tried {
    prepared: Prepared,
    aftermath: Aftermath,
    ended: Result<Ended, SpawnError>,
}

/// Builds the cage and runs the program in it, with what was begun ahead. Notes are told the first time.
fn try_caged(
    selection: &mut Selection,
    premade: MaybePremade,
    arguments: &RunArguments,
    start: &Start,
    tries: u32,
) -> Result<Tried, Failure> {
    let (mut prepared, gatekeeper) = ready(selection, arguments)?;
    if tries == 1 {
        tell_notes(&prepared, arguments.backend, start.messages);
    }
    let aftermath = Aftermath::of(&prepared);
    let ended = match arguments.backend {
        Backend::Native => run_native(premade, &mut prepared, gatekeeper, arguments, start),
        Backend::Bwrap => {
            drop(premade);
            cage::bwrap::run(&prepared.plan, &start.recording).map(Ended::Other)
        }
    };
    Ok(Tried { prepared, aftermath, ended })
}

/// What is worth knowing before the program runs.
fn tell_notes(prepared: &Prepared, backend: Backend, messages: Messages) {
    for note in counsel::notes::of(prepared) {
        messages.note(&note);
    }
    for sentence in &prepared.plan.walls.reduced_isolation {
        messages.note(&format!("reduced isolation: {sentence}"));
    }
    if backend == Backend::Bwrap {
        messages.note(
            "the bubblewrap backend leaves out walls that the native one has; \
             `stockade check --format bwrap` lists them",
        );
    }
}

fn run_native(
    premade: MaybePremade,
    prepared: &mut Prepared,
    gatekeeper: Option<Gatekeeper>,
    arguments: &RunArguments,
    start: &Start,
) -> Result<Ended, SpawnError> {
    let plan = &prepared.plan;
    let degraded = if arguments.degraded_limits { Degraded::Allow } else { Degraded::Refuse };
    let bounds = Bounds::prepare(plan, degraded)
        .map_err(SpawnError::from)
        .inspect_err(|error| start.recording.failed(&plan.start.invocation, error))?;
    let mut swept = start.swept.clone();
    if bounds.has_group() {
        swept.extend(cage::sweep_groups());
    }
    for one in &swept {
        start.messages.note(&one.to_string());
    }
    if let Some(degradation) = bounds.degradation() {
        start.messages.warning(&counsel::limits::not_held(degradation));
        start.messages.help(&degradation.fix);
    }
    let run = AttachedRun {
        premade: premade.unwrap_or_else(Premade::begin)?,
        plan,
        sources: std::mem::take(&mut prepared.sources),
        gatekeeper,
        bounds,
        session: start.session.as_ref(),
        recording: &start.recording,
        swept: &swept,
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
    selection: &mut Selection,
    arguments: &RunArguments,
) -> Result<(Prepared, Option<Gatekeeper>), Failure> {
    pass_terminal_on(&mut selection.policy);
    let argv = command(&arguments.command, &selection.agent_command)?;
    let gatekeeper = match arguments.backend {
        Backend::Native => start_gatekeeper(selection)?,
        Backend::Bwrap => None,
    };
    let prepared = cage::prepare::prepare(selection, &argv)?;
    Ok((prepared, gatekeeper))
}

impl Start {
    /// Tells of a run that did not happen. The result comes last, as after a run: whoever reads it
    /// on standard error takes the last line.
    fn not_run(&self, named: Named<'_>, failure: Failure) -> Exit {
        failure.tell(self.messages);
        let session = self.session.as_ref().map(Session::id);
        self.write_result(|| RunResult::of_failure(named, &failure).in_session(session));
        failure.exit
    }

    /// The same for one that did not come to a cage, which is on record by a name of its own. K180
    fn not_compiled(&self, failure: Failure) -> Exit {
        let name = failure.recorded().and_then(|kind| Some((kind, Name::new().ok()?.text)));
        let Some((kind, name)) = name else { return self.not_run(Named::Nothing, failure) };
        self.recording.not_compiled(&name, kind, &failure.text());
        self.not_run(Named::Start(&name), failure)
    }

    fn write_result(&self, result: impl FnOnce() -> RunResult) {
        if let Err(error) = self.destination.write(result) {
            self.messages.error(&format!("the result cannot be written: {error}"));
        }
    }

    fn tell_unrecorded(&self, error: Option<&RecordError>) {
        if let Some(error) = error {
            let error = with_causes(error);
            self.messages.error(&format!("the end of the program is not on record: {error}"));
        }
    }
}

fn start_gatekeeper(selection: &Selection) -> Result<Option<Gatekeeper>, Failure> {
    if selection.policy.net.asks_for_nothing() {
        return Ok(None);
    }
    let way_out = WayOut::new(&selection.network, |name| std::env::var_os(name))?;
    Ok(Some(Gatekeeper::start(&way_out.resolvers, way_out.settings)?))
}

/// What was asked for on the command line, else what the agent's definition says.
pub(crate) fn command(given: &[OsString], of_agent: &[String]) -> Result<Vec<OsString>, Failure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    if of_agent.is_empty() {
        return Err(Failure::new(Exit::Usage, "there is no program to run")
            .help("put it at the end: `stockade run -- PROGRAM ARGUMENT…`"));
    }
    Ok(of_agent.iter().map(OsString::from).collect())
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
fn after(aftermath: &Aftermath, messages: Messages) -> Vec<Finding> {
    let Findings { found, notes } = aftermath.look();
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
    let Outcome { reason, usage, duration, .. } = outcome;
    if let Some(sentence) = counsel::limits::ended_by(&plan.walls.limits, *reason, usage.as_ref()) {
        messages.error(&sentence);
    }
    for sentence in counsel::limits::met(&plan.walls.limits, usage.as_ref(), *duration) {
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
        plan.walls.seccomp.profile.name(),
    ));
}

const MOST_DENIALS_TOLD: usize = 5;

/// How often a cage is begun whose tree somebody else changes meanwhile.
const MOST_TRIES: u32 = 10;
