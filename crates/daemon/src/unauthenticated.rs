//! Connections from TCP that have not shown the token yet. There is room for some of them. When a newcomer
//! finds none, the one that has waited longest is ended: clients without a token, silent or wrong, can
//! crowd out each other and nobody else.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::admission::{Admission, Admitted, Crowded};
use crate::peer::Origin;

#[cfg(test)]
mod tests;

/// The connections that have shown no token yet, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Unauthenticated {
    most: usize,
    waiting: Mutex<VecDeque<Arc<Notify>>>,
}

/// A connection from TCP, outside or let in. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Caller {
    unauthenticated: Arc<Unauthenticated>,
    sent_away: Arc<Notify>,
    admitted: OnceLock<Arc<Admitted>>,
}

impl Unauthenticated {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, waiting: Mutex::default() })
    }

    /// Takes a connection, and sends the one away that has waited longest if there are too many.
    pub(crate) fn take(self: &Arc<Self>) -> Caller {
        let sent_away = Arc::new(Notify::new());
        let mut waiting = self.waiting();
        waiting.push_back(Arc::clone(&sent_away));
        if waiting.len() > self.most
            && let Some(longest) = waiting.pop_front()
        {
            longest.notify_one();
        }
        Caller { unauthenticated: Arc::clone(self), sent_away, admitted: OnceLock::new() }
    }

    /// Returns whether the connection was still there.
    fn leave(&self, whose: &Arc<Notify>) -> bool {
        let mut waiting = self.waiting();
        let before = waiting.len();
        waiting.retain(|other| !Arc::ptr_eq(other, whose));
        waiting.len() < before
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// Returns when the connection has to make room for another.
    pub(crate) async fn is_sent_away(&self) {
        self.sent_away.notified().await;
    }

    /// Lets in whoever has shown the token, to a place that is kept as long as the connection.
    pub(crate) fn enter(&self, admission: &Arc<Admission>) -> Result<Arc<Admitted>, Crowded> {
        if let Some(admitted) = self.admitted.get() {
            return Ok(Arc::clone(admitted));
        }
        let admitted = Arc::new(admission.admit(Origin::Network)?);
        // One that has been sent away is about to be ended, and must not begin anything.
        if !self.unauthenticated.leave(&self.sent_away) {
            return Err(Crowded::All(self.unauthenticated.most));
        }
        // Requests of one connection come one after the other.
        Ok(Arc::clone(self.admitted.get_or_init(|| admitted)))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.unauthenticated.leave(&self.sent_away);
    }
}
