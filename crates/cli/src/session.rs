//! `stockade session`: which sessions there are, and ending some. And entering the one that a run
//! belongs to.

mod list;
mod prune;

use audit::Event;
use cage::session::{AreaKind, Session, SessionError, SessionId, Sessions};
use cage::state::Locations;
use cage::state::{Directory, StateError};
use cage::{Purpose, Recording, Swept};
use plan::HostPath;

use crate::arguments::sessions::{SessionArguments, SessionCommand};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::selection::Selection;

/// The command.
pub(crate) fn session(arguments: &SessionArguments, messages: Messages) -> Result<Exit, Failure> {
    let locations = Locations::of_this_process();
    let sessions = open(&locations)?;
    match &arguments.command {
        SessionCommand::List { json } => list::list(&sessions, *json)?,
        SessionCommand::Prune(arguments) => {
            return prune::prune(&sessions, arguments, &locations, messages);
        }
        SessionCommand::End { id } => {
            end(&sessions, &parse(id)?, &locations, messages)?;
        }
    }
    Ok(Exit::Success)
}

/// Other sessions that keep changes of this directory. Nothing is looked for in them: one without changes ends.
pub(crate) fn beside(own: &SessionId, directory: &HostPath) -> Vec<SessionId> {
    let Ok(sessions) = open(&Locations::of_this_process()) else { return Vec::new() };
    let listed = sessions.list().unwrap_or_default().into_iter().map(|listed| listed.id);
    let keeps = |id: &SessionId| {
        let areas = sessions.areas(id).unwrap_or_default();
        areas.iter().any(|area| area.kind() == AreaKind::Workspace && area.of() == directory)
    };
    listed.filter(|id| id != own && keeps(id)).collect()
}

/// Ends a session whose changes nobody is to see, if it has not ended because there are none.
pub(crate) fn end_unreviewed(id: &str, messages: Messages) -> Result<(), Failure> {
    let locations = Locations::of_this_process();
    let (sessions, id) = (open(&locations)?, parse(id)?);
    match sessions.areas(&id) {
        Err(SessionError::NotFound(_)) => Ok(()),
        _ => end(&sessions, &id, &locations, messages),
    }
}

fn end(
    sessions: &Sessions,
    id: &SessionId,
    locations: &Locations,
    messages: Messages,
) -> Result<(), Failure> {
    let killed = sessions.end(id).map_err(failed)?;
    let killed = u64::try_from(killed).unwrap_or(u64::MAX);
    record_end(&Recording::of_nobody(locations), id, killed, messages);
    Ok(())
}

/// Enters the session that was asked for, or begins one for this run where the policy keeps something. Where neither is
/// so nothing is looked at. Without a policy a program has no need of anything.
pub(crate) fn enter(
    locations: &Locations,
    wanted: Option<&str>,
    selection: Option<&mut Selection>,
    purpose: Purpose,
) -> Result<(Entered, Vec<Swept>), Failure> {
    let wanted = wanted.map(parse).transpose()?;
    let keeps = selection.as_ref().is_some_and(|selection| selection.policy.keeps_something());
    if wanted.is_none() && !keeps {
        return Ok((Entered(None), Vec::new()));
    }
    let sessions = open(locations)?;
    let swept = cage::sweep_sessions(&sessions).map_err(failed)?;
    let asked_for = wanted.map(|id| sessions.enter(&id)).transpose().map_err(failed)?;
    let session = match selection {
        Some(selection) => {
            cage::keep(asked_for, &sessions, selection, purpose).map_err(advice::Failure::from)?
        }
        None => asked_for,
    };
    Ok((Entered(session), swept))
}

/// A session that this process has entered, if it has. Dropping it leaves nothing of one of a single run: nothing
/// has run in it.
#[derive(Debug, Default)]
pub(crate) struct Entered(Option<Session>);

impl Entered {
    pub(crate) fn id(&self) -> Option<SessionId> {
        self.0.as_ref().map(|session| session.id().clone())
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
    let locations = Locations::of_this_process();
    Ok(enter(&locations, None, Some(selection), Purpose::Look)?.0)
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            // What stays is swept by the next run.
            let _left = session.leave();
        }
    }
}

/// Removes sessions that nobody needs any more. What cannot be removed is left for the next run.
pub(crate) fn sweep() {
    if let Ok(sessions) = open(&Locations::of_this_process()) {
        let _left = cage::sweep_sessions(&sessions);
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

pub(crate) fn parse(id: &str) -> Result<SessionId, Failure> {
    SessionId::parse(id).map_err(|error| Failure::new(Exit::Usage, error.to_string()))
}

pub(crate) fn open(locations: &Locations) -> Result<Sessions, Failure> {
    let path = locations.state.as_ref().ok_or(StateError::NoPlace)?;
    let state = Directory::open(path)?;
    Sessions::open(state.path()).map_err(failed)
}

pub(crate) fn failed(error: SessionError) -> Failure {
    let exit = match &error {
        SessionError::NotFound(_) => Exit::No,
        SessionError::Ending(_)
        | SessionError::OfOneRun(_)
        | SessionError::Exists(_)
        | SessionError::InUse { .. }
        | SessionError::AreaInUse(_) => Exit::Refused,
        SessionError::Untrustworthy { .. } | SessionError::Kernel { .. } => Exit::CannotBuild,
    };
    let failure = Failure::new(exit, with_causes(&error));
    match error {
        SessionError::NotFound(_) => failure.help("`stockade session list` shows those there are"),
        SessionError::InUse { .. } => failure.help("end these processes, then try again"),
        _ => failure,
    }
}
