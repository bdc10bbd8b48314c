//! The cage of an agent: started by the one start that all programs have, with a worker as its program, and a session
//! that keeps what is changed.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use advice::Failure;
use agent::{Hands, HandsError};
use cage::prepare::{Selection, prepare};
use cage::runner::{
    Handle, Input, Keep, Labels, Output, OutputReader, Overflow, Request, Runner, RunnerOptions,
    Streams,
};
use cage::session::{Session, Sessions};
use cage::state::{Directory, Locations, StateError};
use cage::{Egress, Ended, Kind, Purpose, with_causes};
use tools::protocol::Start;

use crate::Tell;
use crate::selection;

/// A cage with a worker in it.
pub(crate) struct Caged {
    pub(crate) hands: Arc<Hands>,
    handle: Handle,
    pub(crate) session: Option<String>,
}

/// Starts the processes that start cages. Before the first thread.
pub(crate) fn runner(selection: &Selection, locations: &Locations) -> Result<Runner, Failure> {
    crate::warnings::refuse_unknown(&selection.policy, locations)?;
    crate::model_service::set_keys_aside(&selection.policy, locations)?;
    let state = locations.state.clone().ok_or(StateError::NoPlace)?;
    let egress = Egress::new(&selection.network, |name| std::env::var_os(name))?;
    let model = Some(crate::model_service::command());
    let options = RunnerOptions { egress, model, ..RunnerOptions::new(state) };
    Runner::start(options).map_err(|error| advice::failed_start(error, None))
}

/// Opens the sessions of this user.
pub(crate) fn sessions(locations: &Locations) -> Result<Sessions, Failure> {
    let path = locations.state.as_ref().ok_or(StateError::NoPlace)?;
    let state = Directory::open(path)?;
    Sessions::open(state.path())
        .map_err(|error| Failure::new(Kind::CannotBuild, with_causes(&error)))
}

impl Caged {
    /// Starts it, in the session of a name if there is to be one.
    pub(crate) fn start(
        runner: &Runner,
        selection: &mut Selection,
        session: Option<&str>,
        (tools, locations, tell): (&[String], &Locations, &dyn Tell),
    ) -> Result<Self, Failure> {
        let session = enter(selection, session, locations)?;
        let name = session.as_ref().map(|session| session.id().as_str().to_owned());
        let prepared = prepare(selection, &selection::command()?)?;
        for note in advice::notes::of(&prepared) {
            tell.note(&note);
        }
        let plan = Arc::clone(&prepared.plan);
        let working_directory = selection.surroundings.working_directory.clone();
        let labels = Labels {
            project_id: selection.surroundings.project.to_string(),
            session_id: name.clone(),
            subagent_name: None,
        };
        let streams = Streams::Separate {
            stdin: Input::Pipe,
            stdout: Output::Keep(Keep { bytes: PIPE, overflow: Overflow::Backpressure }),
            stderr: Output::Keep(Keep { bytes: STDERR, overflow: Overflow::Discard }),
        };
        let request = Request { labels, streams, session, ..Request::from(prepared) };
        let handle =
            runner.spawn(request).map_err(|error| advice::failed_start(error, Some(&plan)))?;
        let (Some(stdin), Some(stdout)) = (handle.take_stdin(), handle.stdout()) else {
            return Err(Failure::new(Kind::CannotBuild, "the worker in the cage has no pipe"));
        };
        let start = Start {
            tools: tools.to_vec(),
            working_directory: working_directory.as_path().to_owned(),
            spill: vec!["/scratch".into(), "/tmp".into()],
            most_result: MOST_RESULT,
        };
        let hands = Hands::start(stdout.reader(), File::from(stdin), start, READY);
        let hands = hands.map_err(|error| not_ready(&error, &handle))?;
        Ok(Self { hands: Arc::new(hands), handle, session: name })
    }

    /// The name of its start, by which it is on record.
    pub(crate) fn invocation(&self) -> &str {
        self.handle.invocation_id()
    }

    /// Ends it, and waits until nothing of it is left.
    pub(crate) fn end(self) -> Arc<Ended> {
        let Self { hands, handle, .. } = self;
        // The end of its input ends the worker; whatever else runs there is ended with it.
        drop(hands);
        handle.close()
    }
}

pub(crate) fn enter(
    selection: &mut Selection,
    wanted: Option<&str>,
    locations: &Locations,
) -> Result<Option<Session>, Failure> {
    let failed =
        |error: cage::session::SessionError| Failure::new(Kind::CannotBuild, with_causes(&error));
    if wanted.is_none() && !selection.policy.keeps_something() {
        return Ok(None);
    }
    let sessions = sessions(locations)?;
    // What cannot be swept is left for the next run.
    let _left = cage::sweep_sessions(&sessions);
    let wanted = wanted.map(cage::session::SessionId::parse).transpose();
    let wanted = wanted.map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let entered = wanted.map(|id| sessions.enter(&id)).transpose().map_err(failed)?;
    Ok(cage::keep(entered, &sessions, selection, Purpose::Run)?)
}

fn not_ready(error: &HandsError, handle: &Handle) -> Failure {
    handle.kill();
    let said = handle.stderr().map(|output| last_words(output.reader())).unwrap_or_default();
    let failure = Failure::new(Kind::CannotBuild, with_causes(error));
    match said.is_empty() {
        true => failure,
        false => failure.help(format!("it said: {}", policy::shown::shown(&said))),
    }
}

pub(crate) fn last_words(reader: OutputReader) -> String {
    let mut text = Vec::new();
    let _as_far_as_it_goes = reader.take(2000).read_to_end(&mut text);
    String::from_utf8_lossy(&text).trim().to_owned()
}

const PIPE: usize = 8 << 20;
const STDERR: usize = 64 << 10;
/// Bytes of a result that a model sees at one time.
pub(crate) const MOST_RESULT: usize = 30_000;
const READY: Duration = Duration::from_secs(60);
