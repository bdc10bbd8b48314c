//! Everything that the requests of all clients share.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use audit::Log;
use cage::Swept;
use cage::prepare::Caller;
use cage::runner::Runner;
use cage::state::Directory;
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};

use crate::admission::Admission;
use crate::cages::Cages;
use crate::peer::Allowed;
use crate::phase::Phases;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::unauthenticated::Unauthenticated;

/// A daemon that serves.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) settings: Settings,
    /// The daemon's own user, for whom all policies are read.
    pub(crate) caller: Caller,
    pub(crate) state: Directory,
    pub(crate) log: Arc<Log>,
    pub(crate) runner: Runner,
    pub(crate) sessions: Sessions,
    pub(crate) cages: Arc<Cages>,
    pub(crate) phase: Phases,
    pub(crate) allowed: Allowed,
    pub(crate) admission: Arc<Admission>,
    /// Connections from TCP that have not shown the token yet.
    pub(crate) unauthenticated: Arc<Unauthenticated>,
    /// Connections that there is no room for, until they have been told so.
    pub(crate) rejected: Arc<Admission>,
    /// The places of clients who are sent the whole record: each keeps all of its files open.
    pub(crate) exports: Arc<Semaphore>,
    pub(crate) started: SystemTime,
    /// Where it listens on TCP, if it does.
    pub(crate) listening: Option<SocketAddr>,
    /// What was removed of a dead predecessor's.
    pub(crate) swept: Vec<Swept>,
    pub(crate) untracked: Mutex<Vec<Untracked>>,
    /// Why the daemon should end.
    pub(crate) drain: mpsc::Sender<String>,
}

/// A program without a cage that a dead supervisor started and that still runs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Untracked {
    pub(crate) id: String,
    pub(crate) pid: u32,
    pub(crate) project: String,
    pub(crate) started_at: String,
}

impl Daemon {
    /// Has the daemon drain and end. Asking twice is asking once.
    pub(crate) fn ask_to_drain(&self, why: &str) {
        let _asked_before = self.drain.try_send(why.to_owned());
    }

    /// Programs without a cage that nobody watches over and that still run.
    pub(crate) fn untracked(&self) -> Vec<Untracked> {
        let mut untracked = self.untracked.lock().unwrap_or_else(PoisonError::into_inner);
        untracked.retain(|run| crate::untracked::is_running(run.pid));
        untracked.clone()
    }
}

/// Most clients who are sent the whole record at a time.
pub(crate) const MOST_EXPORTS: usize = 8;
