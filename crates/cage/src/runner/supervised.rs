//! One program that a runner supervises: the ends of its streams that stay outside, how far its end has
//! come, and whoever waits for that. Decides nothing.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::pump::Pump;
use super::watch::Key;
use crate::outcome::Ended;
use crate::program::Program;

/// One program.
#[derive(Debug)]
pub(super) struct Supervised {
    pub(super) key: Key,
    pub(super) program: Arc<Program>,
    pub(super) stdin: Mutex<Option<OwnedFd>>,
    pub(super) stdout: Option<Pump>,
    pub(super) stderr: Option<Pump>,
    /// The program's terminal, if it has one; let go with the program.
    pub(super) terminal: Option<Mutex<Option<OwnedFd>>>,
    end: Mutex<End>,
    changed: Condvar,
}

/// How far a program's end has come.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Whether nothing of its cage runs any more.
    pub(super) is_gone: bool,
    /// Whether its gatekeeper has nothing more to say, or there is none.
    pub(super) network_is_reported: bool,
    /// Whether it has been judged; what is left to do takes its time.
    pub(super) is_judged: bool,
    result: Option<Arc<Ended>>,
    wakers: Vec<Waker>,
}

/// The ends of a program's streams that stay outside.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<Pump>,
    pub(super) stderr: Option<Pump>,
    pub(super) terminal: Option<OwnedFd>,
}

impl Supervised {
    pub(super) fn new(key: Key, program: Arc<Program>, ends: Ends) -> Self {
        let has_network = program.body().is_some_and(|body| body.network().is_some());
        let Ends { stdin, stdout, stderr, terminal } = ends;
        Self {
            key,
            program,
            stdin: Mutex::new(stdin),
            stdout,
            stderr,
            terminal: terminal.map(|terminal| Mutex::new(Some(terminal))),
            end: Mutex::new(End { network_is_reported: !has_network, ..End::default() }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn end(&self) -> MutexGuard<'_, End> {
        // A thread that panicked while it held the lock has left the state as it was.
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pumps(&self) -> impl Iterator<Item = &Pump> {
        self.stdout.iter().chain(&self.stderr)
    }

    /// Lets go of what holds the program, which ends it.
    pub(super) fn release(&self) {
        self.program.release();
        if let Some(terminal) = &self.terminal {
            drop(terminal.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    /// Tells everybody who waits.
    pub(super) fn conclude(&self, ended: Ended) {
        let mut end = self.end();
        end.result = Some(Arc::new(ended));
        let wakers = std::mem::take(&mut end.wakers);
        drop(end);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The end, if it has come.
    pub(super) fn result(&self) -> Option<Arc<Ended>> {
        self.end().result.clone()
    }

    /// Waits for the end.
    pub(super) fn wait(&self) -> Arc<Ended> {
        let mut end = self.end();
        loop {
            if let Some(result) = &end.result {
                return Arc::clone(result);
            }
            end = self.changed.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The end, or a waker for when it comes.
    pub(super) fn result_or_wake(&self, waker: &Waker) -> Option<Arc<Ended>> {
        let mut end = self.end();
        if end.result.is_none() && !end.wakers.iter().any(|known| known.will_wake(waker)) {
            end.wakers.push(waker.clone());
        }
        end.result.clone()
    }

    /// Lets go of what has been written and nobody will read.
    pub(super) fn abandon_output(&self) {
        let has_ended = self.result().is_some();
        for pump in self.pumps() {
            pump.buffer.abandon();
            if has_ended {
                pump.stop();
            }
        }
    }
}
