//! Whether the daemon serves, drains or ends. It only ever goes forward.

use tokio::sync::watch;

/// Where the daemon is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It takes connections and starts cages.
    Serving,
    /// It takes no new connections and starts nothing; cages are being ended.
    Draining,
    /// Nothing is left but answers that are on their way.
    Ending,
}

/// The phase, for everybody who has to know when it changes.
#[derive(Debug)]
pub(crate) struct Phases(watch::Sender<Phase>);

impl Phases {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Phase::Serving))
    }

    pub(crate) fn now(&self) -> Phase {
        *self.0.borrow()
    }

    /// Goes forward. Returns whether this call did it.
    pub(crate) fn advance(&self, to: Phase) -> bool {
        self.0.send_if_modified(|now| {
            let forward = *now < to;
            if forward {
                *now = to;
            }
            forward
        })
    }

    /// Returns when no new connection may be taken.
    pub(crate) async fn accepting_ends(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Returns when connections have to end.
    pub(crate) async fn connections_end(&self) {
        self.reached(Phase::Ending).await;
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        let mut changes = self.0.subscribe();
        // The sender lives as long as this borrow of it.
        let _reached = changes.wait_for(|now| *now >= phase).await;
    }
}
