//! How a program that ran has ended, as a caller of a [`Runner`](super::Runner) is told.

use std::time::Duration;

use jail::{End, Layers};
use limits::Usage;

use crate::outcome::{DeniedCall, EndReason, NetworkOutcome};

/// The end of a program, of which nothing is left.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How the program ended.
    pub end: End,
    /// Why.
    pub reason: EndReason,
    /// From its first instruction to its end.
    pub duration: Duration,
    /// Which of the layers that a kernel may lack were around it; none without a cage.
    pub layers: Option<Layers>,
    /// System calls that were refused, most frequent first.
    pub denials: Vec<DeniedCall>,
    /// What became of its network, if it had one.
    pub network: Option<NetworkOutcome>,
    /// What it has used, if it had limits other than that of time.
    pub usage: Option<Usage>,
    /// Why its end is not on record, if it is not.
    pub unrecorded: Option<String>,
}

impl Ended {
    /// The status as a shell tells it: the program's own, or 128 and the number of the signal that
    /// ended it.
    pub fn exit_code(&self) -> i32 {
        match self.end {
            End::Exited(status) => status,
            End::Signalled(signal) => signal.saturating_add(SIGNAL_BASE),
        }
    }

    /// Whether the program ended by itself with status zero. K186
    pub fn is_success(&self) -> bool {
        self.end == End::Exited(0) && self.reason == EndReason::Exited
    }
}

const SIGNAL_BASE: i32 = 128;
