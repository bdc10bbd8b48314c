//! Having the kernel forget what it has not used for long, where each file that it remembers costs something here: a
//! descriptor, for one of the host.
//!
//! A thread of its own tells it, and serves nothing: the kernel waits for the directory of a name, which may be in use by
//! a request that waits for an answer of ours.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::reply::Reply;
use super::{Fuse, NAME_CHANGED};

/// Names that the kernel was told of, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Told {
    names: Mutex<Names>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Names {
    all: VecDeque<(u64, Box<[u8]>)>,
    has_ended: bool,
}

impl Fuse {
    /// Takes note of a name, and waits a little where the kernel has far too many.
    pub(super) fn note(&self, parent: u64, name: &[u8]) {
        let Some(most) = self.settings.most_remembered else { return };
        let mut names = self.told.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.all.push_back((parent, name.into()));
        if self.held.count() <= most {
            // Those of files that are forgotten by now.
            if names.all.len() > most.saturating_mul(4) {
                names.all.pop_front();
            }
            return;
        }
        self.told.changed.notify_all();
        drop(names);
        if self.held.count() > most.saturating_add(most / 4) {
            std::thread::sleep(BREATH);
        }
    }

    /// Has the kernel forget, until the connection ends.
    pub(super) fn trim(&self) {
        let Some(most) = self.settings.most_remembered else { return };
        loop {
            let oldest: Vec<_> = {
                let mut names = self.told.names.lock().unwrap_or_else(PoisonError::into_inner);
                while !names.has_ended && (self.held.count() <= most || names.all.is_empty()) {
                    let waited = self.told.changed.wait(names);
                    names = waited.unwrap_or_else(PoisonError::into_inner);
                }
                if names.has_ended {
                    return;
                }
                let count = names.all.len().min(AT_ONCE);
                names.all.drain(..count).collect()
            };
            for (parent, name) in oldest {
                let mut message = Reply::new();
                let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
                message.u64(parent).u32(length).u32(0).bytes(&name).bytes(&[0]);
                // What it has forgotten already, or holds on to, is as it should be.
                let _known = self.send(message.message(NAME_CHANGED), &[]);
            }
        }
    }

    /// Ends [`Fuse::trim`].
    pub(super) fn stop_trimming(&self) {
        self.told.names.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
        self.told.changed.notify_all();
    }
}

const AT_ONCE: usize = 128;
const BREATH: Duration = Duration::from_millis(1);
