//! The cages of this daemon: those that run, and those that have ended and were not closed yet. What
//! is kept of the ended ones is bounded; the oldest go first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use cage::runner::{Ended, Handle, OutputBuffer};
use rustix::process::Pid;
use tokio::sync::watch;

use crate::input::Input;
use crate::problem::{Code, Problem};

#[cfg(test)]
mod tests;

/// All cages, by their names.
#[derive(Debug, Default)]
pub(crate) struct Cages {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// In the order in which they started.
    cages: BTreeMap<u64, Arc<Cage>>,
    numbers: BTreeMap<String, u64>,
    /// Those that have ended, with the bytes of output that are kept of each.
    ended: BTreeMap<u64, u64>,
    /// All of these together.
    ended_bytes: u64,
    next: u64,
    starting: usize,
}

/// One cage, or one program without one.
#[derive(Debug)]
pub(crate) struct Cage {
    pub(crate) handle: Handle,
    pub(crate) facts: Facts,
    pub(crate) input: Input,
    end: watch::Sender<Option<Arc<End>>>,
}

/// What was known when it started.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The cage's name.
    pub(crate) cage: String,
    pub(crate) project: String,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) started: SystemTime,
    /// The hash and the line that describe the compiled cage; none without one.
    pub(crate) plan_hash: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) reduced_isolation: Vec<String>,
    /// What whoever asked for it should know.
    pub(crate) notes: Vec<String>,
    pub(crate) terminal: bool,
    pub(crate) pid: Pid,
}

/// What is known when it has ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) ended: Arc<Ended>,
    pub(crate) at: SystemTime,
}

/// Room for a cage that is being started. Dropping it gives the room back.
#[derive(Debug)]
pub(crate) struct Room(Arc<Cages>);

impl Cages {
    /// Takes room for one more cage.
    pub(crate) fn room(self: &Arc<Self>, most: usize) -> Result<Room, Problem> {
        let mut kept = self.lock();
        let running = kept.running() + kept.starting;
        if running >= most {
            let message = format!("there are {running} cages already, which is the most");
            return Err(Problem::new(Code::TooMany, message)
                .help("end some, or start the daemon with a higher `--most-cages`"));
        }
        kept.starting += 1;
        drop(kept);
        Ok(Room(Arc::clone(self)))
    }

    /// The cage of this name. A beginning of at least four letters is enough if only one has it.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Cage>, Problem> {
        let kept = self.lock();
        // Ids are written in capitals and often typed without.
        let wanted = name.to_ascii_uppercase();
        let is_long_enough = wanted.len() >= SHORTEST_BEGINNING;
        let from = kept.numbers.range(wanted.clone()..);
        let mut found = from.take_while(|(id, _)| is_long_enough && id.starts_with(&wanted));
        match (found.next(), found.next()) {
            (Some((_, number)), None) => {
                let cage = kept.cages.get(number).cloned();
                cage.ok_or_else(|| Problem::no_such("cage", name))
            }
            (Some(_), Some(_)) => {
                let name = policy::shown::shown(name);
                let message = format!("several cages have names that begin with `{name}`");
                Err(Problem::new(Code::Conflict, message).help("give more of the name"))
            }
            (None, _) => Err(Problem::no_such("cage", name)),
        }
    }

    /// All of them, in the order in which they started.
    pub(crate) fn list(&self) -> Vec<Arc<Cage>> {
        self.lock().cages.values().cloned().collect()
    }

    /// How many run, and how many have ended and are kept.
    pub(crate) fn count(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.running(), kept.ended.len())
    }

    /// Forgets one that has ended.
    pub(crate) fn forget(&self, cage: &Cage) {
        let mut kept = self.lock();
        if let Some(number) = kept.numbers.get(cage.handle.invocation_id()).copied() {
            kept.forget(number);
        }
    }

    /// Takes note that one has ended, and forgets the oldest of these until what is kept of them is
    /// within bounds. One that was forgotten in the meantime stays so.
    pub(crate) fn note_end(&self, cage: &Cage) {
        let mut kept = self.lock();
        let Some(number) = kept.numbers.get(cage.handle.invocation_id()).copied() else { return };
        kept.take_note(number, cage.kept_bytes());
        while kept.keeps_too_much() {
            let Some(oldest) = kept.ended.first_key_value().map(|(number, _)| *number) else {
                break;
            };
            kept.forget(oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A thread that panicked while it held the lock has aborted the process.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// How many have not ended.
    fn running(&self) -> usize {
        self.cages.len() - self.ended.len()
    }

    /// Takes note that one has ended, of which so many bytes are kept.
    fn take_note(&mut self, number: u64, bytes: u64) {
        let before = self.ended.insert(number, bytes).unwrap_or_default();
        self.ended_bytes = self.ended_bytes - before + bytes;
    }

    fn keeps_too_much(&self) -> bool {
        let count = self.ended.len();
        count > MOST_ENDED || (count > 1 && self.ended_bytes > MOST_ENDED_BYTES)
    }

    fn forget(&mut self, number: u64) {
        self.ended_bytes -= self.ended.remove(&number).unwrap_or_default();
        if let Some(cage) = self.cages.remove(&number) {
            self.numbers.remove(cage.handle.invocation_id());
        }
    }
}

impl Room {
    /// Fills the room.
    pub(crate) fn fill(self, handle: Handle, facts: Facts, input: Input) -> Arc<Cage> {
        let cage = Arc::new(Cage { handle, facts, input, end: watch::Sender::new(None) });
        let mut kept = self.0.lock();
        let number = kept.next;
        kept.next += 1;
        kept.numbers.insert(cage.handle.invocation_id().to_owned(), number);
        kept.cages.insert(number, Arc::clone(&cage));
        drop(kept);
        cage
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut kept = self.0.lock();
        kept.starting = kept.starting.saturating_sub(1);
    }
}

impl Cage {
    /// How it ended, if it has.
    pub(crate) fn end(&self) -> Option<Arc<End>> {
        self.end.borrow().clone()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Returns when it has ended and the host was looked at.
    pub(crate) async fn ended(&self) -> Arc<End> {
        let mut changes = self.end.subscribe();
        loop {
            if let Some(end) = changes.borrow_and_update().clone() {
                return end;
            }
            if changes.changed().await.is_err() {
                // The sender lives as long as this borrow of it.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until the cage has ended.
    pub(crate) async fn attend(&self) -> End {
        let ended = self.handle.ended().await;
        self.input.close().await;
        End { ended, at: SystemTime::now() }
    }

    /// Tells everybody who waits for the end.
    pub(crate) fn tell(&self, end: End) {
        self.end.send_replace(Some(Arc::new(end)));
    }

    /// One of its outputs.
    pub(crate) fn output(&self, stream: Stream) -> Option<&Arc<OutputBuffer>> {
        match stream {
            Stream::Stdout => self.handle.stdout(),
            Stream::Stderr => self.handle.stderr(),
        }
    }

    /// How much output is kept in memory.
    fn kept_bytes(&self) -> u64 {
        let outputs = [self.handle.stdout(), self.handle.stderr()];
        outputs
            .into_iter()
            .flatten()
            .map(|output| output.kept())
            .map(|kept| kept.end - kept.start)
            .sum()
    }
}

/// An output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output, or what is written to the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Its name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    /// Its descriptor, which stands before its bytes in an attachment.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Stdout => 1,
            Self::Stderr => 2,
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self, Problem> {
        match name {
            "stdout" => Ok(Self::Stdout),
            "stderr" => Ok(Self::Stderr),
            _ => Err(Problem::no_such("output", name).help("there are: stdout, stderr")),
        }
    }
}

/// Fewer letters would mean another cage tomorrow.
const SHORTEST_BEGINNING: usize = 4;

/// Most ended cages that are kept.
const MOST_ENDED: usize = 1024;

/// Most bytes of their output.
const MOST_ENDED_BYTES: u64 = 128 << 20;
