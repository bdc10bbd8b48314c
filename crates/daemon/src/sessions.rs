//! Sessions over the API: the same directories that `stockade run --session` uses. The daemon is in a
//! session as long as one of its cages is.

use cage::Kind;
use std::sync::Arc;
use std::time::Duration;

use audit::{Event, Log};
use cage::prepare::Selection;
use cage::session::{Life, Listed, Session, SessionError, SessionId, Sessions as Store};
use cage::{EndReason, KeepError, Purpose};
use serde::Serialize;

use crate::cages::{Cage, Cages};
use crate::log;
use crate::problem::{Code, Problem};
use crate::shown::moment;

/// The sessions of the daemon's user.
#[derive(Debug)]
pub(crate) struct Sessions {
    store: Store,
    log: Arc<Log>,
}

/// A session for a cage that is only looked at.
#[derive(Debug)]
pub(crate) struct Look(Option<Session>);

impl Drop for Look {
    fn drop(&mut self) {
        // What stays is swept by the next daemon or run.
        let _left = self.0.take().map(Session::leave);
    }
}

/// A session as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct ShownSession {
    id: String,
    /// Whether it ends with the run that began it.
    one_run: bool,
    begun_at: String,
    ending: bool,
    /// The daemon's cages in it.
    cages: Vec<String>,
    /// All processes that use it, the daemon among them.
    processes: Vec<i32>,
}

impl Sessions {
    pub(crate) fn new(store: Store, log: Arc<Log>) -> Self {
        Self { store, log }
    }

    /// The sessions themselves, for who only looks at what they hold.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Enters a session, which begins where it does not exist. The start that is in it records that.
    pub(crate) fn enter(&self, id: &SessionId) -> Result<Session, Problem> {
        Ok(self.store.enter(id)?)
    }

    /// Begins a session that nothing is in yet, where it does not exist, and records that.
    pub(crate) fn begin(&self, id: &SessionId) -> Result<Session, Problem> {
        let session = self.store.enter(id)?;
        let begun = Event::SessionBegun { session_id: id.as_str().into(), project_id: "".into() };
        if session.is_new()
            && let Err(error) = self.log.append(&begun)
        {
            drop(session);
            // The record is what failed; whatever stays of the session is swept with the next.
            let _left = self.store.end(id);
            return Err(error.into());
        }
        Ok(session)
    }

    /// Gives a cage what its policy asks to be kept, in the session that was asked for or in one of its own.
    pub(crate) fn keep(
        &self,
        asked_for: Option<Session>,
        selection: &mut Selection,
    ) -> Result<Option<Session>, KeepError> {
        cage::keep(asked_for, &self.store, selection, Purpose::Run)
    }

    /// The same for a cage that is only looked at. Nothing of it is on record, and nothing stays.
    pub(crate) fn for_a_look(&self, selection: &mut Selection) -> Result<Look, Problem> {
        let session = cage::keep(None, &self.store, selection, Purpose::Look);
        Ok(Look(session.map_err(advice::Failure::from)?))
    }

    /// Records that a session has ended.
    fn record_end(&self, id: &SessionId, killed: u64) -> Result<(), Problem> {
        self.log.append(&Event::SessionEnded { session_id: id.as_str().into(), killed })?;
        Ok(())
    }

    /// Every session there is.
    pub(crate) fn list(&self, cages: &Cages) -> Result<Vec<ShownSession>, Problem> {
        let cages = cages.list();
        Ok(self.store.list()?.iter().map(|listed| shown(listed, &cages)).collect())
    }

    /// One of them.
    pub(crate) fn show(&self, id: &SessionId, cages: &Cages) -> Result<ShownSession, Problem> {
        let listed = self.store.list()?;
        let found = listed.iter().find(|listed| listed.id == *id);
        let found = found.ok_or_else(|| Problem::no_such("session", id.as_str()))?;
        Ok(shown(found, &cages.list()))
    }

    /// Wipes a session that none of the daemon's cages is in any more, after asking others who use
    /// it to end. Returns how many were ended in all.
    pub(crate) fn wipe(&self, id: &SessionId, killed: usize) -> Result<u64, Problem> {
        let asked = self.store.end(id)?;
        // It has ended, whatever can be written about it.
        let killed = u64::try_from(killed + asked).unwrap_or(u64::MAX);
        if let Err(problem) = self.record_end(id, killed) {
            log::warning(&format!(
                "the end of session `{id}` is not on record: {}",
                problem.message
            ));
        }
        Ok(killed)
    }
}

/// Ends all cages of a session. Returns how many ran.
pub(crate) async fn end_cages(id: &SessionId, cages: &Cages) -> usize {
    let is_in = |cage: &Arc<Cage>| cage.facts.session.as_deref() == Some(id.as_str());
    let running: Vec<Arc<Cage>> = cages.list().into_iter().filter(is_in).collect();
    let running: Vec<Arc<Cage>> = running.into_iter().filter(|cage| !cage.has_ended()).collect();
    for cage in &running {
        cage.handle.begin_close(EndReason::SessionEnded);
    }
    for cage in &running {
        // Whoever does not end in time is killed by the one who watches over it.
        let _late = tokio::time::timeout(LONGEST_END, cage.ended()).await;
    }
    running.len()
}

/// The name of a session.
pub(crate) fn id(text: &str) -> Result<SessionId, Problem> {
    SessionId::parse(text).map_err(|error| Problem::new(Code::BadRequest, error.to_string()))
}

fn shown(listed: &Listed, cages: &[Arc<Cage>]) -> ShownSession {
    let is_in = |cage: &&Arc<Cage>| cage.facts.session.as_deref() == Some(listed.id.as_str());
    ShownSession {
        id: listed.id.to_string(),
        one_run: listed.life == Life::OneRun,
        begun_at: moment(listed.begun),
        ending: listed.ending,
        cages: cages
            .iter()
            .filter(is_in)
            .map(|cage| cage.handle.invocation_id().to_owned())
            .collect(),
        processes: listed.processes.iter().map(|pid| pid.as_raw_nonzero().get()).collect(),
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        let code = match &error {
            SessionError::NotFound(_) => Code::NotFound,
            SessionError::Ending(_)
            | SessionError::OfOneRun(_)
            | SessionError::InUse { .. }
            | SessionError::Exists(_)
            | SessionError::AreaInUse(_) => Code::Conflict,
            SessionError::Untrustworthy { .. } | SessionError::Kernel { .. } => {
                Code::Start(Kind::CannotBuild)
            }
        };
        Self::new(code, advice::with_causes(&error))
    }
}

const LONGEST_END: Duration = Duration::from_secs(30);
