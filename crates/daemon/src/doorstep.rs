//! Where connections from TCP stand until they show the token. There is room for some, and whoever
//! has stood there longest makes room for a newcomer: those without a token, silent or wrong, can
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
pub(crate) struct Doorstep {
    most: usize,
    standing: Mutex<VecDeque<Arc<Notify>>>,
}

/// A connection from TCP, outside or let in. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Caller {
    doorstep: Arc<Doorstep>,
    sent_away: Arc<Notify>,
    admitted: OnceLock<Arc<Admitted>>,
}

impl Doorstep {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, standing: Mutex::default() })
    }

    /// Takes a connection, and sends the one away that has stood there longest if there are too many.
    pub(crate) fn take(self: &Arc<Self>) -> Caller {
        let sent_away = Arc::new(Notify::new());
        let mut standing = self.standing();
        standing.push_back(Arc::clone(&sent_away));
        if standing.len() > self.most
            && let Some(longest) = standing.pop_front()
        {
            longest.notify_one();
        }
        Caller { doorstep: Arc::clone(self), sent_away, admitted: OnceLock::new() }
    }

    /// Tells whether the connection was still there.
    fn leave(&self, whose: &Arc<Notify>) -> bool {
        let mut standing = self.standing();
        let before = standing.len();
        standing.retain(|other| !Arc::ptr_eq(other, whose));
        standing.len() < before
    }

    fn standing(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
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
        if !self.doorstep.leave(&self.sent_away) {
            return Err(Crowded::All(self.doorstep.most));
        }
        // Requests of one connection come one after the other.
        Ok(Arc::clone(self.admitted.get_or_init(|| admitted)))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.doorstep.leave(&self.sent_away);
    }
}
