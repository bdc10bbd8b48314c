//! The agent's end of the pipe to the worker in a cage. Several calls run at one time; their results come in the order of
//! the calls. What the worker sends is the cage's word: bounded, matched with what was asked, and nothing else.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::Cancel;
use serde_json::{Map, Value};
use thiserror::Error;
use tools::Reader;
use tools::protocol::{FromWorker, Start, ToWorker, receive, send};

/// Why there are no hands.
#[derive(Debug, Error)]
pub enum HandsError {
    /// The worker cannot be spoken to.
    #[error("the worker in the cage cannot be reached")]
    Lost(#[source] io::Error),
    /// The worker says that it cannot work.
    #[error("the worker in the cage cannot work: {0}")]
    Refused(String),
    /// It has other tools than it was granted.
    #[error("the worker in the cage does not have the granted tools")]
    Tools,
    /// It says nothing.
    #[error("the worker in the cage does not answer")]
    Silent,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// For the model.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

impl Ran {
    /// A failure, in words for the model.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }
}

type Waiting = Arc<Mutex<Option<HashMap<u64, Sender<FromWorker>>>>>;
type Lines = Arc<Mutex<HashMap<u64, Sender<Vec<u8>>>>>;

/// A worker that runs tools.
pub struct Hands {
    to_worker: Arc<Mutex<Box<dyn Write + Send>>>,
    /// Who reads what children say.
    children: Lines,
    /// None when the worker is gone.
    waiting: Waiting,
    next: AtomicU64,
    most_result: usize,
    tools: Vec<String>,
}

impl std::fmt::Debug for Hands {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hands").field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl Hands {
    /// Begins with a worker, which has so long to say that it is ready.
    ///
    /// # Errors
    /// If it is not.
    pub fn start(
        from_worker: impl Read + Send + 'static,
        to_worker: impl Write + Send + 'static,
        start: Start,
        wait: Duration,
    ) -> Result<Self, HandsError> {
        let (tools, most_result) = (start.tools.clone(), start.most_result);
        let mut to_worker: Box<dyn Write + Send> = Box::new(to_worker);
        send(&mut to_worker, &ToWorker::Start(start)).map_err(HandsError::Lost)?;
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let (sender, receiver) = channel();
        let children = Lines::default();
        let of_thread = (Arc::clone(&waiting), Arc::clone(&children));
        let builder = std::thread::Builder::new().name("worker".to_owned());
        builder
            .spawn(move || listen(from_worker, &sender, &of_thread.0, &of_thread.1))
            .map_err(HandsError::Lost)?;
        match receiver.recv_timeout(wait) {
            Ok(FromWorker::Ready { tools: has }) => {
                // Names alone: what a tool is for is said by the table outside, not by the cage.
                let mut has: Vec<String> = has.into_iter().map(|tool| tool.name).collect();
                let mut wanted = tools.clone();
                has.sort();
                wanted.sort();
                if has != wanted {
                    return Err(HandsError::Tools);
                }
            }
            Ok(FromWorker::Failed { text }) => {
                return Err(HandsError::Refused(text.chars().take(500).collect()));
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                return Err(HandsError::Lost(io::ErrorKind::UnexpectedEof.into()));
            }
            Err(RecvTimeoutError::Timeout) => return Err(HandsError::Silent),
        }
        Ok(Self {
            to_worker: Arc::new(Mutex::new(to_worker)),
            children,
            waiting,
            next: AtomicU64::new(1),
            most_result,
            tools,
        })
    }

    /// Has the worker start one that has less, inside of all that it is in itself. What is read from it and written to it
    /// is for hands of its own; it ends when the writing end is dropped.
    ///
    /// # Errors
    /// If the worker is gone.
    pub fn open_child(
        &self,
        narrowing: Value,
        directory: std::path::PathBuf,
    ) -> io::Result<(FromChild, ToChild)> {
        let child = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, lines) = channel();
        lock(&self.children).insert(child, sender);
        let open = ToWorker::OpenChild { child, narrowing, directory };
        let to_child = ToChild {
            child,
            to_worker: Arc::clone(&self.to_worker),
            children: Arc::clone(&self.children),
            line: Vec::new(),
        };
        send(&mut *lock(&self.to_worker), &open)?;
        Ok((FromChild { lines, rest: io::Cursor::default() }, to_child))
    }

    /// The granted tools.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// What was read is no longer before the model's eyes.
    pub fn forget(&self) {
        // A worker that is gone has forgotten it too.
        let _gone = send(&mut *lock(&self.to_worker), &ToWorker::Forget);
    }

    /// Runs a call for whoever asked, who has seen nothing of what others were shown.
    pub fn run(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        limit: Duration,
        cancel: &Cancel,
    ) -> Ran {
        let calls = [(tool, arguments)];
        let mut ran = self.run_all(&calls, Reader::Anybody, limit, cancel, &mut |_, _| {});
        ran.pop().unwrap_or_else(|| Ran::failed("error: nothing came of it"))
    }

    /// Runs calls at one time, for one reader. The results are in the order of the calls.
    pub(crate) fn run_all(
        &self,
        calls: &[(&str, &Map<String, Value>)],
        reader: Reader,
        limit: Duration,
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, &str),
    ) -> Vec<Ran> {
        let (sender, receiver) = channel();
        let mut results: Vec<Option<Ran>> = calls.iter().map(|_| None).collect();
        let mut places = HashMap::new();
        for (place, (tool, arguments)) in calls.iter().enumerate() {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            if let Some(waiting) = lock(&self.waiting).as_mut() {
                waiting.insert(id, sender.clone());
            }
            let (tool, arguments) = ((*tool).to_owned(), (*arguments).clone());
            // Up to the next second: what ends with the budget of time ends after it, not before.
            let seconds = limit.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX).max(1);
            let call = ToWorker::Call { id, tool, arguments, seconds, reader };
            let sent = send(&mut *lock(&self.to_worker), &call);
            let is_there = lock(&self.waiting).is_some();
            if sent.is_err() || !is_there {
                if let Some(result) = results.get_mut(place) {
                    *result = Some(Ran::failed(GONE));
                }
            } else {
                places.insert(id, place);
            }
        }
        drop(sender);
        self.wait(&receiver, &mut places, &mut results, limit, cancel, progress);
        results.into_iter().map(|result| result.unwrap_or_else(|| Ran::failed(GONE))).collect()
    }

    fn wait(
        &self,
        receiver: &Receiver<FromWorker>,
        places: &mut HashMap<u64, usize>,
        results: &mut [Option<Ran>],
        limit: Duration,
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, &str),
    ) {
        let until = Instant::now() + limit + SLACK;
        let mut given_up: Option<(Instant, &str)> = None;
        while !places.is_empty() {
            if given_up.is_none() {
                let why = match (cancel.is_cancelled(), Instant::now() >= until) {
                    (true, _) => Some("error: the person stopped this call"),
                    (_, true) => Some("error: the call took too long"),
                    _ => None,
                };
                if let Some(why) = why {
                    given_up = Some((Instant::now(), why));
                    for id in places.keys() {
                        let _gone =
                            send(&mut *lock(&self.to_worker), &ToWorker::Cancel { id: *id });
                    }
                }
            }
            if let Some((_, why)) = given_up.filter(|(at, _)| at.elapsed() >= LAST_WAIT) {
                for (id, place) in places.drain() {
                    if let Some(waiting) = lock(&self.waiting).as_mut() {
                        waiting.remove(&id);
                    }
                    if let Some(result) = results.get_mut(place) {
                        *result = Some(Ran::failed(why));
                    }
                }
                return;
            }
            match receiver.recv_timeout(SLICE) {
                Ok(FromWorker::Progress { id, text }) => {
                    if let Some(place) = places.get(&id) {
                        progress(*place, &text);
                    }
                }
                Ok(FromWorker::Done { id, text, is_error, .. }) => {
                    if let Some(place) = places.remove(&id)
                        && let Some(result) = results.get_mut(place)
                    {
                        *result = Some(Ran { text: self.bounded(text), is_error });
                    }
                }
                Ok(
                    FromWorker::Ready { .. }
                    | FromWorker::Failed { .. }
                    | FromWorker::FromChild { .. }
                    | FromWorker::ChildGone { .. },
                )
                | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The worker bounds results; the agent does not rely on it.
    fn bounded(&self, text: String) -> String {
        let most = self.most_result.saturating_mul(2).saturating_add(1000);
        match text.len() > most {
            true => text.chars().take(most / 4).collect(),
            false => text,
        }
    }
}

/// Hands what the worker says to whoever waits for it, until it says nothing more or makes no sense.
fn listen(from_worker: impl Read, first: &Sender<FromWorker>, waiting: &Waiting, children: &Lines) {
    let mut input = BufReader::new(from_worker);
    while let Ok(Some(message)) = receive::<FromWorker>(&mut input) {
        let id = match &message {
            FromWorker::Ready { .. } | FromWorker::Failed { .. } => {
                let _late = first.send(message);
                continue;
            }
            FromWorker::Progress { id, .. } => {
                lock(waiting).as_ref().and_then(|waiting| waiting.get(id).cloned())
            }
            FromWorker::FromChild { child, line } => {
                let line = format!("{line}\n").into_bytes();
                let heard = lock(children).get(child).map(|reader| reader.send(line));
                // Whoever does not read it any more has closed the child.
                let _closed = heard;
                continue;
            }
            FromWorker::ChildGone { child } => {
                lock(children).remove(child);
                continue;
            }
            FromWorker::Done { id, .. } => {
                lock(waiting).as_mut().and_then(|waiting| waiting.remove(id))
            }
        };
        if let Some(sender) = id {
            let _given_up = sender.send(message);
        }
    }
    // Whoever waits hears of it by the end of its channel.
    *lock(waiting) = None;
    lock(children).clear();
}

/// What a child's worker says.
#[derive(Debug)]
pub struct FromChild {
    lines: Receiver<Vec<u8>>,
    rest: io::Cursor<Vec<u8>>,
}

impl Read for FromChild {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.rest.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.lines.recv() {
                Ok(line) => self.rest = io::Cursor::new(line),
                Err(_) => return Ok(0),
            }
        }
    }
}

/// What a child's worker is told. Dropping it ends the child.
pub struct ToChild {
    child: u64,
    to_worker: Arc<Mutex<Box<dyn Write + Send>>>,
    children: Lines,
    line: Vec<u8>,
}

impl Write for ToChild {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.line, rest);
            line.pop();
            let line = String::from_utf8(line).map_err(io::Error::other)?;
            let child = self.child;
            send(&mut *lock(&self.to_worker), &ToWorker::ToChild { child, line })?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ToChild {
    fn drop(&mut self) {
        lock(&self.children).remove(&self.child);
        // A worker that is gone has no children.
        let _gone = send(&mut *lock(&self.to_worker), &ToWorker::CloseChild { child: self.child });
    }
}

impl std::fmt::Debug for ToChild {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToChild").field("child", &self.child).finish_non_exhaustive()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const GONE: &str = "error: the cage has ended, and no tool can be called any more";
const SLICE: Duration = Duration::from_millis(50);
/// What a worker has to end its calls when somebody stops them.
const LAST_WAIT: Duration = Duration::from_millis(500);
/// What a worker has beyond the limit to say that it is over.
const SLACK: Duration = Duration::from_secs(10);
