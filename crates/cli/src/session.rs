//! `stockade session`: which sessions there are, and ending one. And entering the one that a run
//! belongs to.

use std::time::SystemTime;

use audit::{Event, Timestamp};
use cage::session::{Life, Listed, Session, SessionError, SessionId, Sessions};
use cage::state::Locations;
use cage::state::{Directory, StateError};
use cage::{Recording, Swept};
use plan::HostPath;
use policy::State;
use serde::Serialize;

use crate::arguments::{SessionArguments, SessionCommand};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::selection::Selection;

/// The command.
pub(crate) fn session(arguments: &SessionArguments, messages: Messages) -> Result<Exit, Failure> {
    let locations = Locations::of_this_process();
    let sessions = open(&locations)?;
    match &arguments.command {
        SessionCommand::List { json } => {
            let listed = sessions.list().map_err(failed)?;
            if *json {
                let shown: Vec<Shown> = listed.iter().map(Shown::of).collect();
                let value = serde_json::to_value(shown)
                    .map_err(|error| Failure::new(Exit::No, error.to_string()))?;
                print_json(&value)?;
            } else {
                print(&table(&listed, SystemTime::now()))?;
            }
        }
        SessionCommand::End { id } => {
            let id = parse(id)?;
            let killed = sessions.end(&id).map_err(failed)?;
            let killed = u64::try_from(killed).unwrap_or(u64::MAX);
            record_end(&Recording::of_nobody(&locations), &id, killed, messages);
        }
    }
    Ok(Exit::Success)
}

/// Enters the session that was asked for, or begins one for this run where `/scratch` needs it. Where
/// neither is so nothing is looked at.
pub(crate) fn enter(
    locations: &Locations,
    wanted: Option<&str>,
    state: State,
) -> Result<(Entered, Vec<Swept>), Failure> {
    let wanted = wanted.map(parse).transpose()?;
    if wanted.is_none() && state == State::Ephemeral {
        return Ok((Entered(None), Vec::new()));
    }
    let sessions = open(locations)?;
    let swept = cage::sweep_sessions(&sessions).map_err(failed)?;
    let session = match &wanted {
        Some(id) => sessions.enter(id),
        None => sessions.begin_for_one_run(),
    };
    Ok((Entered(Some(session.map_err(failed)?)), swept))
}

/// A session that this process has entered, if it has. Dropping it leaves nothing of one of a single run: nothing
/// has run in it.
#[derive(Debug, Default)]
pub(crate) struct Entered(Option<Session>);

impl Entered {
    pub(crate) fn id(&self) -> Option<SessionId> {
        self.0.as_ref().map(|session| session.id().clone())
    }

    /// What the cage has as `/scratch`.
    pub(crate) fn scratch(&self) -> Option<HostPath> {
        self.0.as_ref().map(|session| session.scratch().clone())
    }

    pub(crate) fn get(&self) -> Option<&Session> {
        self.0.as_ref()
    }

    /// The session, for whoever runs a program in it.
    pub(crate) fn take(&mut self) -> Option<Session> {
        self.0.take()
    }
}

/// Begins a session for a look at a cage, if the cage has need of one.
pub(crate) fn for_a_look(selection: &mut Selection) -> Result<Entered, Failure> {
    let (entered, _) = enter(&Locations::of_this_process(), None, selection.policy.state)?;
    selection.surroundings.scratch = entered.scratch();
    Ok(entered)
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            // What stays is swept by the next run.
            let _left = session.leave();
        }
    }
}

fn record_end(recording: &Recording, id: &SessionId, killed: u64, messages: Messages) {
    let ended = Event::SessionEnded { session_id: id.as_str().into(), killed };
    // Nothing of this command comes after it, so that it is also where the log ends for now.
    let recorded = recording.open().and_then(|log| {
        log.append(&ended)?;
        Ok(log.checkpoint()?)
    });
    if let Err(error) = recorded {
        messages
            .error(&format!("the end of session `{id}` is not on record: {}", with_causes(&error)));
    }
}

fn parse(id: &str) -> Result<SessionId, Failure> {
    SessionId::parse(id).map_err(|error| Failure::new(Exit::Usage, error.to_string()))
}

fn open(locations: &Locations) -> Result<Sessions, Failure> {
    let path = locations.state.as_ref().ok_or(StateError::NoPlace)?;
    let state = Directory::open(path)?;
    Sessions::open(state.path()).map_err(failed)
}

fn failed(error: SessionError) -> Failure {
    let exit = match &error {
        SessionError::NotFound(_) => Exit::No,
        SessionError::Ending(_) | SessionError::OfOneRun(_) | SessionError::InUse { .. } => {
            Exit::Refused
        }
        SessionError::Untrustworthy { .. } | SessionError::Kernel { .. } => Exit::CannotBuild,
    };
    let failure = Failure::new(exit, with_causes(&error));
    match error {
        SessionError::NotFound(_) => failure.help("`stockade session list` shows those there are"),
        SessionError::InUse { .. } => failure.help("end these processes, then try again"),
        _ => failure,
    }
}

/// A session for a program.
#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    life: &'static str,
    begun: String,
    processes: Vec<i32>,
    ending: bool,
}

impl Shown {
    fn of(listed: &Listed) -> Self {
        Self {
            id: listed.id.as_str().to_owned(),
            life: life_word(listed.life),
            begun: Timestamp::from(listed.begun).to_string(),
            processes: listed.processes.iter().map(|pid| pid.as_raw_nonzero().get()).collect(),
            ending: listed.ending,
        }
    }
}

fn life_word(life: Life) -> &'static str {
    match life {
        Life::Kept => "kept",
        Life::OneRun => "one_run",
    }
}

/// Sessions for a person.
fn table(listed: &[Listed], now: SystemTime) -> String {
    if listed.is_empty() {
        return "no sessions\n".to_owned();
    }
    let width = listed.iter().map(|one| one.id.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for one in listed {
        let age = now.duration_since(one.begun).unwrap_or_default().as_secs();
        let age = match age {
            0..=119 => format!("{age} s"),
            120..=7199 => format!("{} min", age / 60),
            7200..=172_799 => format!("{} h", age / 3600),
            _ => format!("{} days", age / 86_400),
        };
        let life = match one.life {
            Life::Kept => "kept",
            Life::OneRun => "of one run",
        };
        let users = match (one.ending, one.processes.len()) {
            (true, _) => "being ended".to_owned(),
            (false, 0) => "not in use".to_owned(),
            (false, 1) => "in use by one process".to_owned(),
            (false, more) => format!("in use by {more} processes"),
        };
        let id = one.id.as_str();
        text.push_str(&format!("{id:width$}  {life:10}  begun {age} ago  {users}\n"));
    }
    text
}
