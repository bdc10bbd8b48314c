//! `stockade run`: builds the cage that a policy describes, runs the program in it on this process's
//! own streams, and ends as the program ended. Or without a cage, where the operator said so.

mod said;
mod sealed;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use cage::prepare::{Name, Selected, UncagedSelection};
use cage::runner::{Confinement, UncagedProgram};
use cage::session::SessionId;
use cage::state::Locations;
use cage::{
    AttachedRun, Attended, Degraded, Findings, Gatekeeper, Note, Notice, Purpose, Recording,
    RunError, Swept,
};
use jail::{Premade, StartError};
use plan::{ByteString, LimitsPlan, Plan};
use policy::shown::shown;
use policy::{EnvironmentRule, Policy, RuleOrigin, State};

use crate::after_run;
use crate::arguments::{self, Backend, RunArguments};
use crate::detach::detach;
use crate::egress::Egress;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::network;
use crate::result::{Destination, Named, RunResult};
use crate::runs;
use crate::selection::{FlagArguments, Sandbox, Selection, TooBroad, select_any};
use crate::session::{self, Entered};
use advice::guests::this_stockade;
use cage::prepare::Prepared;
use said::Clock;

/// Namespaces that were begun before anything was known; whatever failed is told when they are needed.
pub(crate) type MaybePremade = Option<Result<Premade, StartError>>;

/// The command.
pub(crate) fn run(
    mut arguments: RunArguments,
    premade: MaybePremade,
    messages: Messages,
) -> Result<Exit, Failure> {
    let RunArguments { result_fd, quiet, verbose, .. } = &arguments;
    let messages = messages.as_asked(result_fd.is_some(), *quiet, *verbose);
    let mut module = None;
    if arguments.sealed.is_none() && arguments.choice.agent.is_none() {
        let RunArguments { guest, command, files, .. } = &mut arguments;
        module = advice::guests::dispatch(*guest, command, &mut files.ro)?;
    }
    if arguments.detach {
        drop(premade);
        return detach(&arguments, messages);
    }
    let destination = match arguments.result_fd {
        Some(number) => Destination::inherited(number)?,
        None => Destination::open(arguments.json.as_ref())?,
    };
    let locations = Locations::of_this_process();
    let recording = Recording::of_nobody(&locations);
    let mut start = Start {
        messages,
        destination,
        recording,
        locations,
        session: Entered::default(),
        session_id: None,
        clock: Clock::start(),
        asks: !arguments.quiet && arguments.json.is_none() && arguments.result_fd.is_none(),
    };
    if !arguments.quiet && arguments.result_fd.is_none() {
        said::watch_the_search(messages);
    }
    let exit = match choose(&arguments, &mut start) {
        Ok(Chosen::Caged(mut selection)) => {
            if let Some(module) = module {
                let (words, policy) = (&mut arguments.command, &mut selection.policy);
                advice::guests::show_code(&this_stockade(), &module, words, policy);
            }
            run_caged(*selection, premade, &arguments, &mut start)
        }
        Ok(Chosen::Uncaged(uncaged)) => {
            drop(premade);
            run_uncaged(*uncaged, &arguments, &mut start)
        }
        Err(failure) => start.not_compiled(failure),
    };
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
    locations: Locations,
    /// Until the program is in it.
    session: Entered,
    session_id: Option<SessionId>,
    clock: Clock,
    /// Whether the person may be asked what becomes of changes: a caller that reads the result finds nothing after it.
    asks: bool,
}

/// What is to be run.
enum Chosen {
    Caged(Box<Selection>),
    Uncaged(Box<Uncaged>),
}

/// A program, and why it has no cage.
struct Uncaged {
    program: UncagedProgram,
    /// Who said so, for a person.
    because: String,
}

/// Finds out what holds for the program.
fn choose(arguments: &RunArguments, start: &mut Start) -> Result<Chosen, Failure> {
    if let Some(text) = &arguments.sealed {
        let selection = sealed::select(text, &mut start.recording)?;
        return Ok(Chosen::Caged(Box::new(selection)));
    }
    let (sandbox, too_broad) = match arguments.no_sandbox {
        true => (Sandbox::Off, TooBroad::GrantNothing),
        false => (Sandbox::On, TooBroad::Refuse),
    };
    let flags = FlagArguments {
        files: Some(&arguments.files),
        program: Some(&arguments.program),
        network: Some(&arguments.network),
        narrow: &arguments.narrow,
        sandbox,
        too_broad,
        ..FlagArguments::default()
    };
    let selected = select_any(&arguments.choice, flags, start.messages)?;
    let project = match &selected {
        Selected::Caged(selection) => &selection.surroundings.project,
        Selected::Uncaged(uncaged) => &uncaged.surroundings.project,
    };
    advice::acknowledged::hush(&start.locations, project);
    start.recording.labels.project_id = project.to_string();
    start.recording.labels.subagent_name.clone_from(&arguments.choice.agent);
    match selected {
        Selected::Caged(mut selection) => {
            harness::refuse_unknown(&selection.policy, &start.locations)?;
            harness::model_service::set_keys_aside(&selection.policy, &start.locations)?;
            // K38: a session is named to come back to what it keeps.
            if arguments.session.is_some() && arguments.program.state.is_none() {
                selection.policy.state = State::Scratch;
            }
            Ok(Chosen::Caged(selection))
        }
        Selected::Uncaged(selection) => {
            let argv = command(&arguments.command, &selection.agent_command)?;
            let (because, reason) = (selection.because(), selection.reason());
            let UncagedSelection { walltime, surroundings, .. } = *selection;
            let name = Name::new().map_err(cage::prepare::PrepareError::NoRandomBytes)?;
            let program = UncagedProgram {
                invocation: name.text,
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

/// Builds the cage and runs the program in it, and again where somebody else changes the same tree meanwhile:
/// what is found the next time may stay.
fn run_caged(
    mut selection: Selection,
    mut premade: MaybePremade,
    arguments: &RunArguments,
    start: &mut Start,
) -> Exit {
    let mut tries = 1;
    loop {
        let tried = try_caged(&mut selection, premade.take(), arguments, start, tries);
        let Tried { plan, ended } = match tried {
            Ok(tried) => tried,
            Err(failure) => return start.not_compiled(failure),
        };
        match ended {
            Ok(attended) => {
                let exit = start.tell_end(attended, Named::Cage(&plan), &plan.walls.limits);
                // The process is about to end: giving its memory back piece by piece would only delay
                // that.
                std::mem::forget((selection, plan));
                return exit;
            }
            Err(error) if error.is_of_changed_tree() && tries < MOST_TRIES => tries += 1,
            Err(error) => return start.not_begun(error, Named::Cage(&plan)),
        }
    }
}

/// What one try to run the program came to.
struct Tried {
    plan: Arc<Plan>,
    ended: Result<Attended, RunError>,
}

/// Builds the cage and runs the program in it, with what was begun ahead. Notes are told the first time.
fn try_caged(
    selection: &mut Selection,
    premade: MaybePremade,
    arguments: &RunArguments,
    start: &mut Start,
    tries: u32,
) -> Result<Tried, Failure> {
    if tries == 1 {
        start.clock.step("policy");
    }
    let swept = start.enter(arguments, Some(&mut *selection))?;
    if tries == 1
        && let Some(agent) = &selection.agent
    {
        said::agent(agent, start.messages);
    }
    let (prepared, gatekeeper) = ready(selection, arguments)?;
    let model = harness::model_service::start(&selection.policy)?;
    if tries == 1 {
        start.clock.step("files and plan");
        tell_notes(selection, &prepared, arguments, start.messages);
        said::rules(&selection.policy, &prepared.plan, start.messages);
        said::opening(&prepared.plan, selection.place.home.as_ref(), start.messages);
        if let (None, Some(own)) = (&arguments.session, &start.session_id) {
            said::kept_beside(&prepared.plan, own, start.messages);
        }
    }
    let (plan, session) = (Arc::clone(&prepared.plan), start.session.take());
    let (notice, recording) = (&|notice: Notice<'_>| start.tell_notice(notice), &start.recording);
    let project = &recording.labels.project_id;
    let _listed = runs::register(&start.locations, &plan, project, start.session_id.as_ref());
    let run = AttachedRun {
        confinement: Confinement::Caged(Box::new(prepared)),
        backend: match arguments.backend {
            Backend::Native => cage::Backend::Native,
            Backend::Bwrap => cage::Backend::Bubblewrap,
        },
        premade,
        gatekeeper,
        model,
        degraded_limits: match arguments.degraded_limits {
            true => Degraded::Allow,
            false => Degraded::Refuse,
        },
        session,
        recording,
        swept,
        notice,
    };
    Ok(Tried { plan, ended: run.run() })
}

/// Runs a program without a cage because its operator said so: loudly, on record, and with its time limit.
fn run_uncaged(uncaged: Uncaged, arguments: &RunArguments, start: &mut Start) -> Exit {
    let Uncaged { program, because } = uncaged;
    let swept = match start.enter(arguments, None) {
        Ok(swept) => swept,
        Err(failure) => return start.not_compiled(failure),
    };
    let argv0 = program.argv.first().map(|word| shown(word.display())).unwrap_or_default();
    start.messages.warning(&format!(
        "`{argv0}` runs WITHOUT A CAGE, because {because}: it can read and change everything that you \
         can, and reach every network"
    ));
    let walltime_sec = program.walltime.map(|time| time.as_secs());
    let limits = LimitsPlan { walltime_sec, ..LimitsPlan::default() };
    let (name, session) = (program.invocation.clone(), start.session.take());
    let run = AttachedRun {
        confinement: Confinement::Uncaged(program),
        backend: cage::Backend::Native,
        premade: None,
        gatekeeper: None,
        model: None,
        degraded_limits: Degraded::Refuse,
        session,
        recording: &start.recording,
        swept,
        notice: &|notice| start.tell_notice(notice),
    };
    match run.run() {
        Ok(attended) => start.tell_end(attended, Named::Uncaged(&name), &limits),
        Err(error) => start.not_begun(error, Named::Start(&name)),
    }
}

/// What is worth knowing before the program runs.
fn tell_notes(
    selection: &Selection,
    prepared: &Prepared,
    arguments: &RunArguments,
    messages: Messages,
) {
    // Whoever sealed a request chose its interpreter with it, and reads standard error by program.
    let of_interpreters = match arguments.sealed {
        Some(_) => Vec::new(),
        None => advice::interpreters::notes(selection, prepared),
    };
    for note in advice::notes::of(prepared).into_iter().chain(of_interpreters) {
        messages.note(&note);
    }
    for sentence in &prepared.plan.walls.reduced_isolation {
        messages.note(&format!("reduced isolation: {sentence}"));
    }
    if arguments.backend == Backend::Bwrap {
        messages.note(
            "the bubblewrap backend leaves out walls that the native one has; \
             `stockade check --format bwrap` lists them",
        );
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
    let watch = arguments.explain.watch();
    Ok((prepared.watched(watch, selection), gatekeeper))
}

impl Start {
    /// Enters the session that the program is to be in, if it is to be in one.
    fn enter(
        &mut self,
        arguments: &RunArguments,
        selection: Option<&mut Selection>,
    ) -> Result<Vec<Swept>, Failure> {
        let wanted = arguments.session.as_deref();
        let (session, swept) = session::enter(&self.locations, wanted, selection, Purpose::Run)?;
        self.session_id = session.id();
        self.session = session;
        let id = self.session_id.as_ref();
        self.recording.labels.session_id = id.map(|id| id.as_str().to_owned());
        Ok(swept)
    }

    /// Tells of a run that did not happen. The result comes last, as after a run: whoever reads it
    /// on standard error takes the last line.
    fn not_run(&self, named: Named<'_>, failure: Failure) -> Exit {
        failure.tell(self.messages);
        let session = self.session_id.as_ref();
        self.write_result(|| RunResult::of_failure(named, &failure).in_session(session));
        failure.exit
    }

    /// The same for one that did not come to a cage, which is on record by a name of its own. K180
    fn not_compiled(&self, failure: Failure) -> Exit {
        let name = failure.recorded().and_then(|kind| Some((kind, Name::new().ok()?.text)));
        let Some((kind, name)) = name else { return self.not_run(Named::Nothing, failure) };
        self.recording.not_compiled(&name, self.session.get(), kind, &failure.text());
        self.not_run(Named::Start(&name), failure)
    }

    /// The same for a start that failed. What the program may have left comes first.
    fn not_begun(&self, error: RunError, named: Named<'_>) -> Exit {
        if let RunError::Begun { findings, .. } = &error {
            self.tell_findings(findings);
        }
        self.not_run(named, advice::failed_start(error, named.plan()).into())
    }

    fn tell_notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Swept(swept) => self.messages.note(&swept.to_string()),
            Notice::LimitsNotHeld(degradation) => {
                self.messages.warning(&advice::limits::not_held(degradation));
                self.messages.help(&degradation.fix);
            }
        }
    }

    /// Tells how the program ended.
    fn tell_end(&self, attended: Attended, named: Named<'_>, limits: &LimitsPlan) -> Exit {
        let (ended, messages) = (&attended.ended, self.messages);
        self.tell_findings(&ended.findings);
        said::end(ended, &self.clock, messages);
        said::limits(limits, ended, messages);
        for sentence in advice::workspaces::changed(&ended.workspaces) {
            messages.note(&sentence);
        }
        if let Some(plan) = named.plan() {
            said::denials(plan, ended, messages);
        }
        for sentence in advice::paths::sentences(&ended.observations) {
            messages.note(&sentence);
        }
        if let Some(network) = &ended.network {
            network::tell(network, messages);
        }
        if let Some(why) = &ended.unrecorded {
            messages.error(&format!("the end of the program is not on record: {why}"));
        }
        let session = self.session_id.as_ref();
        self.write_result(|| RunResult::of_run(named, ended).in_session(session));
        let exit = Exit::of_run(ended.end, ended.reason);
        if let Err(left) = attended.finish() {
            messages.warning(&left.to_string());
        }
        if let Some(session) = session.filter(|_| self.asks) {
            after_run::follow_up(session, messages);
        }
        exit
    }

    fn tell_findings(&self, findings: &Findings) {
        for finding in &findings.found {
            self.messages.warning(&finding.to_string());
        }
        for note in &findings.notes {
            match note {
                Note::Worth(text) => self.messages.note(text),
                Note::Warning(text) => self.messages.warning(text),
            }
        }
    }

    fn write_result(&self, result: impl FnOnce() -> RunResult) {
        if let Err(error) = self.destination.write(result) {
            self.messages.error(&format!("the result cannot be written: {error}"));
        }
    }
}

fn start_gatekeeper(selection: &Selection) -> Result<Option<Gatekeeper>, Failure> {
    if selection.policy.net.asks_for_nothing() {
        return Ok(None);
    }
    let egress = Egress::new(&selection.network, |name| std::env::var_os(name))?;
    Ok(Some(Gatekeeper::start(&egress.resolvers, egress.settings)?))
}

/// The agent's command with what the command line adds to it, else what that asks for.
pub(crate) fn command(given: &[OsString], of_agent: &[String]) -> Result<Vec<OsString>, Failure> {
    if given.is_empty() && of_agent.is_empty() {
        return Err(Failure::new(Exit::Usage, "there is no program to run")
            .help("put it at the end: `stockade run -- PROGRAM ARGUMENT…`"));
    }
    Ok(of_agent.iter().map(OsString::from).chain(given.iter().cloned()).collect())
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

/// How often a cage is begun whose tree somebody else changes meanwhile.
const MOST_TRIES: u32 = 10;
