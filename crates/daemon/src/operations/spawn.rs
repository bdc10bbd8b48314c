//! Starts a program: in the cage that its project's policy describes, or without one where the
//! policy or the daemon's operator says so. What is asked for is decided anew for every start; a cage
//! that runs is never changed.

use cage::Kind;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::SystemTime;

use advice::Failure;
use cage::prepare::{
    Name, PrepareError, Sandbox, Selected, Selection, TooBroad, UncagedSelection, prepare,
};
use cage::runner::{
    Confinement, Handle, Input as Source, Keep, Labels, Output, Overflow, Request as Start,
    RunError, Streams, TerminalSize, UncagedProgram,
};
use cage::session::Session;
use cage::{Degradation, Degraded, Recorder};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use plan::ByteString;
use policy::{EnvironmentRule, Policy, RuleOrigin};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::blocking;
use super::cages::{LONGEST_WAIT_MS, wait_at_most};
use plan::seccomp::Watch;

use crate::answer::{self, Answer};
use crate::cages::{Cage, Facts};
use crate::daemon::Daemon;
use crate::input::{self, Input};
use crate::log;
use crate::not_started::not_started;
use crate::phase::Phase;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::request::object;
use crate::shown::{ShownCage, unrecorded_end};
use crate::subject::{Subject, split};

/// What a request says beside which cage is meant.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Spawn {
    argv: Vec<String>,
    session: Option<String>,
    stdin: Stdin,
    /// A terminal in place of the three streams.
    #[serde(deserialize_with = "some_object")]
    terminal: Option<Terminal>,
    #[serde(deserialize_with = "object")]
    output: Kept,
    /// Starts the program also where its limits cannot be held in full.
    degraded_limits: bool,
    /// Has what the program did not get of the file system noted.
    explain: bool,
}

fn some_object<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    object(deserializer).map(Some)
}

#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Stdin {
    #[default]
    Null,
    Pipe,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Terminal {
    rows: u16,
    columns: u16,
    /// What the program finds in `TERM`.
    kind: String,
}

impl Default for Terminal {
    fn default() -> Self {
        Self { rows: 24, columns: 80, kind: "xterm-256color".to_owned() }
    }
}

/// How much of each output is kept, and what happens to more.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Kept {
    bytes: usize,
    overflow: WhenFull,
}

impl Default for Kept {
    fn default() -> Self {
        Self { bytes: USUALLY_KEPT, overflow: WhenFull::Discard }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WhenFull {
    Backpressure,
    Discard,
}

/// What a start came to.
struct Started {
    handle: Handle,
    facts: Facts,
}

/// Starts a program and answers when it runs, or when it has ended if the client waits for that.
pub(super) async fn spawn(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["wait_ms"])?;
    let wait_ms = query.number("wait_ms", LONGEST_WAIT_MS)?;
    let fields: Map<String, Value> = crate::request::json(request).await?;
    let (subject, spawn) = split::<Spawn>(fields)?;
    if daemon.phase.now() != Phase::Serving {
        return Err(Problem::new(Code::Draining, "the daemon ends and starts nothing any more"));
    }
    let room = daemon.cages.room(daemon.settings.most_cages)?;
    let kind = if spawn.terminal.is_some() { input::Kind::Terminal } else { input::Kind::Pipe };
    let starting = Arc::clone(daemon);
    let started = blocking(move || start_in_peace(&starting, &subject, &spawn)).await?;
    let Started { handle, facts } = started;
    let input = Input::new(handle.take_stdin(), kind).map_err(|error| {
        let message = format!("the program's input cannot be watched: {error}");
        Problem::new(Code::Internal, message)
    })?;
    let cage = room.fill(handle, facts, input);
    tokio::spawn(see_to_its_end(Arc::clone(daemon), Arc::clone(&cage)));
    if let Some(longest) = wait_ms {
        wait_at_most(longest, &cage).await;
    }
    answer::json_with(StatusCode::CREATED, &ShownCage::from(&*cage))
}

/// Waits until a cage has ended, and tells whoever waits for that.
async fn see_to_its_end(daemon: Arc<Daemon>, cage: Arc<Cage>) {
    let end = cage.attend().await;
    if let Some(why) = &end.ended.unrecorded {
        let id = cage.handle.invocation_id();
        log::warning(&format!("`{id}`: {}", unrecorded_end(why)));
    }
    // First of all, so that whoever has heard of the end finds it counted.
    daemon.cages.note_end(&cage);
    cage.tell(end);
}

/// Why nothing was started.
enum NotStarted {
    /// Somebody changed what the cage covers while it was built.
    TreeChanged(Problem),
    Other(Problem),
}

impl<E: Into<Problem>> From<E> for NotStarted {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Starts a program, and again where somebody else changes the same tree meanwhile: what is found the next time
/// may stay.
fn start_in_peace(daemon: &Daemon, subject: &Subject, spawn: &Spawn) -> Result<Started, Problem> {
    let mut tries = 1;
    loop {
        match start(daemon, subject, spawn) {
            Ok(started) => return Ok(started),
            Err(NotStarted::TreeChanged(_)) if tries < MOST_TRIES => tries += 1,
            Err(NotStarted::TreeChanged(problem) | NotStarted::Other(problem)) => {
                return Err(problem);
            }
        }
    }
}

fn start(daemon: &Daemon, subject: &Subject, spawn: &Spawn) -> Result<Started, NotStarted> {
    check(spawn)?;
    let caller = subject.caller(&daemon.caller)?;
    let session = match &spawn.session {
        Some(name) => Some(daemon.sessions.enter(&crate::sessions::id(name)?)?),
        None => None,
    };
    let sandbox = if daemon.settings.no_sandbox { Sandbox::Off } else { Sandbox::On };
    let selected = match subject.select(&caller, sandbox, TooBroad::Refuse) {
        Ok(selected) => selected,
        Err(failure) => {
            let project = subject.project.as_ref().map(|project| project.display().to_string());
            let labels = labels(&project.unwrap_or_default(), subject, session.as_ref());
            return Err(not_compiled(daemon, labels, session.as_ref(), failure).into());
        }
    };
    match selected {
        Selected::Caged(selection) => start_caged(daemon, subject, spawn, *selection, session),
        Selected::Uncaged(selection) => {
            Ok(start_uncaged(daemon, subject, spawn, *selection, session)?)
        }
    }
}

/// Every call is as fast as it can be unless somebody asked.
fn watch(spawn: &Spawn) -> Watch {
    if spawn.explain { Watch::Lookups } else { Watch::Nothing }
}

fn start_caged(
    daemon: &Daemon,
    subject: &Subject,
    spawn: &Spawn,
    mut selection: Selection,
    session: Option<Session>,
) -> Result<Started, NotStarted> {
    let argv = command(&spawn.argv, &selection.agent_command)?;
    if let Some(terminal) = &spawn.terminal {
        tell_terminal(&mut selection.policy, &terminal.kind);
    }
    let project = selection.place.project.to_string();
    let session = match daemon.sessions.keep(session, &mut selection).map_err(Failure::from) {
        Ok(session) => session,
        Err(failure) => {
            let labels = labels(&project, subject, None);
            return Err(not_compiled(daemon, labels, None, failure).into());
        }
    };
    let labels = labels(&project, subject, session.as_ref());
    let prepared = match prepare(&selection, &argv).map_err(Failure::from) {
        Ok(prepared) => prepared.watched(watch(spawn), &selection),
        Err(failure) => {
            return Err(not_compiled(daemon, labels, session.as_ref(), failure).into());
        }
    };
    let mut notes = advice::notes::of_flags(&selection);
    notes.extend(advice::notes::of(&prepared));
    notes.extend(advice::interpreters::notes(&selection, &prepared));
    let plan = Arc::clone(&prepared.plan);
    let session_id = labels.session_id.clone();
    let streams = streams(spawn);
    let degraded_limits = if spawn.degraded_limits { Degraded::Allow } else { Degraded::Refuse };
    let request = Start { labels, streams, session, degraded_limits, ..Start::caged(prepared) };
    let started = SystemTime::now();
    let handle = daemon.runner.spawn(request).map_err(|error| {
        if let RunError::Begun { findings, .. } = &error {
            for finding in &findings.found {
                log::warning(&finding.to_string());
            }
        }
        let is_changed = error.is_of_changed_tree();
        let problem = not_started(error, Some(&plan));
        if is_changed { NotStarted::TreeChanged(problem) } else { NotStarted::Other(problem) }
    })?;
    notes.extend(handle.degradation().into_iter().flat_map(tell_degradation));
    let facts = Facts {
        cage: plan.walls.cage.clone(),
        project,
        session: session_id,
        agent: subject.agent.clone(),
        argv: shown_words(&argv),
        started,
        plan_hash: handle.plan_hash(),
        summary: Some(plan.start.summary.clone()),
        reduced_isolation: plan.walls.reduced_isolation.clone(),
        notes,
        terminal: spawn.terminal.is_some(),
        pid: handle.pid(),
    };
    Ok(Started { handle, facts })
}

fn start_uncaged(
    daemon: &Daemon,
    subject: &Subject,
    spawn: &Spawn,
    selection: UncagedSelection,
    session: Option<Session>,
) -> Result<Started, Problem> {
    let argv = command(&spawn.argv, &selection.agent_command)?;
    let reason = selection.reason();
    let UncagedSelection { name, walltime, surroundings, .. } = selection;
    let directory = surroundings.working_directory;
    let invocation = Name::new().map_err(PrepareError::NoRandomBytes).map_err(Failure::from)?;
    let program = UncagedProgram {
        invocation: invocation.text,
        argv: argv.clone(),
        environment: surroundings.environment.to_vec(),
        working_directory: directory.as_path().to_owned(),
        walltime,
        reason,
    };
    let project = subject.project.as_ref().map(|project| project.display().to_string());
    let project = project.unwrap_or_else(|| directory.to_string());
    let labels = labels(&project, subject, session.as_ref());
    let session_id = labels.session_id.clone();
    let (streams, confinement) = (streams(spawn), Confinement::Uncaged(program));
    // Only the time limit holds without a cage, and that is held in full.
    let degraded_limits = Degraded::Refuse;
    let request = Start { labels, streams, confinement, session, degraded_limits };
    let started = SystemTime::now();
    let handle = daemon.runner.spawn(request).map_err(|error| not_started(error, None))?;
    log::warning(&format!(
        "`{}` runs without a cage as process {}",
        shown_words(&argv).join(" "),
        handle.pid()
    ));
    let facts = Facts {
        cage: name,
        project,
        session: session_id,
        agent: subject.agent.clone(),
        argv: shown_words(&argv),
        started,
        plan_hash: None,
        summary: None,
        reduced_isolation: vec!["the program runs without a cage".to_owned()],
        notes: Vec::new(),
        terminal: false,
        pid: handle.pid(),
    };
    Ok(Started { handle, facts })
}

/// A policy that makes no cage is on record as well. K180
fn not_compiled(
    daemon: &Daemon,
    labels: Labels,
    session: Option<&Session>,
    failure: Failure,
) -> Problem {
    let kind = failure.kind;
    let problem = Problem::from(failure);
    if !kind.is_recorded() {
        return problem;
    }
    let name = match Name::new() {
        Ok(name) => name.text,
        Err(errno) => return Problem::new(Code::Internal, std::io::Error::from(errno).to_string()),
    };
    let recorder = Recorder::new(Arc::clone(&daemon.log), &name, labels);
    match recorder.not_compiled(session, kind, &problem.message) {
        Ok(()) => problem,
        Err(error) => error.into(),
    }
}

fn check(spawn: &Spawn) -> Result<(), Problem> {
    let bad = |message: &str| Err(Problem::new(Code::BadRequest, message));
    if spawn.terminal.is_some() && spawn.stdin == Stdin::Pipe {
        return bad("a program has a terminal or a pipe as its input, not both");
    }
    let kind = spawn.terminal.as_ref().map_or("", |terminal| &terminal.kind);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    if kind.len() > LONGEST_KIND || !kind.bytes().all(is_plain) {
        return bad("`terminal.kind` must be the name of a terminal, such as `xterm-256color`");
    }
    if spawn.output.bytes == 0 && matches!(spawn.output.overflow, WhenFull::Backpressure) {
        return bad("a program that waits until its output is read must have room for some: \
                    `output.bytes` is 0");
    }
    if spawn.output.bytes > MOST_KEPT {
        return Err(Problem::new(
            Code::BadRequest,
            format!("at most {MOST_KEPT} bytes of an output are kept"),
        ));
    }
    Ok(())
}

/// What was asked for, else what the agent's definition says.
fn command(given: &[String], agent: &[String]) -> Result<Vec<OsString>, Failure> {
    let words = if given.is_empty() { agent } else { given };
    if words.is_empty() {
        return Err(Failure::new(Kind::Usage, "there is no program to run")
            .help("give it and its arguments as `argv`"));
    }
    Ok(words.iter().map(OsString::from).collect())
}

/// On a terminal a program has to know its kind, or it cannot draw.
fn tell_terminal(policy: &mut Policy, kind: &str) {
    let origin = RuleOrigin::BuiltIn("the kind of the terminal");
    let value = Some(ByteString::from(OsString::from(kind)));
    policy.env.entry("TERM".to_owned()).or_insert(EnvironmentRule { value, origin });
}

/// Limits that are not held in full, told to the client and to whoever reads what the daemon says.
/// K148, K149
fn tell_degradation(degradation: &Degradation) -> [String; 2] {
    let sentence = advice::limits::not_held(degradation);
    log::warning(&sentence);
    [sentence, degradation.fix.clone()]
}

fn labels(project: &str, subject: &Subject, session: Option<&Session>) -> Labels {
    Labels {
        project_id: project.to_owned(),
        session_id: session.map(|session| session.id().to_string()),
        subagent_name: subject.agent.clone(),
    }
}

fn streams(spawn: &Spawn) -> Streams {
    let overflow = match spawn.output.overflow {
        WhenFull::Backpressure => Overflow::Backpressure,
        WhenFull::Discard => Overflow::Discard,
    };
    let keep = Keep { bytes: spawn.output.bytes, overflow };
    match &spawn.terminal {
        Some(Terminal { rows, columns, .. }) => {
            let size = TerminalSize { rows: *rows, columns: *columns };
            Streams::Terminal { size, keep }
        }
        None => Streams::Separate {
            stdin: match spawn.stdin {
                Stdin::Null => Source::Null,
                Stdin::Pipe => Source::Pipe,
            },
            stdout: Output::Keep(keep),
            stderr: Output::Keep(keep),
        },
    }
}

fn shown_words(argv: &[OsString]) -> Vec<String> {
    argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// As much of an output as is kept where a request does not say.
const USUALLY_KEPT: usize = 1 << 20;

/// Most that a request can have kept.
const MOST_KEPT: usize = 64 << 20;

const LONGEST_KIND: usize = 64;

/// How often a cage is begun whose tree somebody else changes meanwhile.
const MOST_TRIES: u32 = 10;
