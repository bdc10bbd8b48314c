//! The tree of models: `new` begins a session and names it, `models` names the models; in a session's directory `ask` and
//! `stream` ask, `model`, `temperature`, `system` and `thinking` say how, `usage` counts and `ctl` takes `reset` and
//! `close`. The name of a session is random, and no listing shows it: who does not know it has no part of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Cancel, Reply, Request};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use crate::answer::{Answer, Answers, CallFile};
use crate::tree::{Node, Opened, ROOT, Tree};

mod session;
mod setting;

use session::{Question, Session};
use setting::{Setting, Value};

/// Whoever asks models.
pub trait Speaks: Send + Sync {
    /// The names of the models there are.
    ///
    /// # Errors
    /// In words for whoever reads them.
    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, String>;

    /// Asks, and shows the words of the answer while they come.
    ///
    /// # Errors
    /// In words for whoever reads them.
    fn ask(
        &self,
        request: &Request,
        cancel: &Cancel,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Asked, String>;
}

/// What an answer was.
pub type Asked = Reply;

/// The tree of models.
pub struct Models {
    by: Arc<dyn Speaks>,
    sessions: Arc<Mutex<Sessions>>,
}

#[derive(Default)]
struct Sessions {
    last: u64,
    open: BTreeMap<u64, Arc<Session>>,
}

impl fmt::Debug for Models {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Models").field("sessions", &self.lock().open.len()).finish()
    }
}

impl Models {
    /// Of somebody who asks them.
    pub fn new(by: Arc<dyn Speaks>) -> Self {
        Self { by, sessions: Arc::default() }
    }

    fn session(&self, number: u64) -> Option<(Arc<Session>, u64)> {
        let index = number.checked_sub(FIRST)? / STEP;
        let session = self.lock().open.get(&index).cloned()?;
        Some((session, (number - FIRST) % STEP))
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tree for Models {
    fn node(&self, number: u64) -> Option<Node> {
        match number {
            ROOT => return Some(Node::Directory),
            NEW | MODELS => return Some(Node::Stream),
            _ => {}
        }
        match usize::try_from(self.session(number)?.1) {
            Ok(0) => Some(Node::Directory),
            Ok(which) => FILES.get(which - 1).map(|_| Node::Stream),
            Err(_) => None,
        }
    }

    fn child(&self, directory: u64, name: &[u8]) -> Option<u64> {
        if directory != ROOT {
            let names = self.names(directory).into_iter();
            return names
                .into_iter()
                .find_map(|(known, at)| (known.as_bytes() == name).then_some(at));
        }
        match name {
            b"new" => Some(NEW),
            b"models" => Some(MODELS),
            name => {
                let sessions = self.lock();
                let found = sessions.open.iter().find(|(_, session)| session.is_named(name));
                found.map(|(index, _)| FIRST + index * STEP)
            }
        }
    }

    fn parent(&self, _: u64) -> u64 {
        ROOT
    }

    fn names(&self, directory: u64) -> Vec<(String, u64)> {
        if directory == ROOT {
            return vec![("new".to_owned(), NEW), ("models".to_owned(), MODELS)];
        }
        match self.session(directory) {
            Some((_, 0)) => {
                let numbers = directory + 1..;
                FILES.iter().zip(numbers).map(|(name, at)| ((*name).to_owned(), at)).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn open(&self, number: u64) -> Result<Opened, Errno> {
        let stream: Box<dyn crate::Stream> = match number {
            ROOT => return Err(Errno::ISDIR),
            NEW => Box::new(CallFile::readable(Arc::new(Begin(Arc::clone(&self.sessions))))),
            MODELS => Box::new(CallFile::readable(Arc::new(List(Arc::clone(&self.by))))),
            number => {
                let (session, which) = self.session(number).ok_or(Errno::NOENT)?;
                let which = usize::try_from(which).unwrap_or_default();
                let name = which.checked_sub(1).and_then(|which| FILES.get(which));
                match *name.ok_or(Errno::ISDIR)? {
                    word @ ("ask" | "stream") => {
                        let (by, streams) = (Arc::clone(&self.by), word == "stream");
                        let question = Question { session, by, streams };
                        Box::new(CallFile::new(Arc::new(question), UNASKED))
                    }
                    "model" => Box::new(Setting::new(session, Value::Model)),
                    "temperature" => Box::new(Setting::new(session, Value::Temperature)),
                    "system" => Box::new(Setting::new(session, Value::System)),
                    "thinking" => Box::new(Setting::new(session, Value::Thinking)),
                    "usage" => Box::new(Setting::new(session, Value::Usage)),
                    _ => {
                        let (sessions, index) =
                            (Arc::clone(&self.sessions), (number - FIRST) / STEP);
                        let close = move || {
                            let mut sessions =
                                sessions.lock().unwrap_or_else(PoisonError::into_inner);
                            sessions.open.remove(&index);
                        };
                        Box::new(Setting::new(session, Value::Control(Box::new(close))))
                    }
                }
            }
        };
        Ok(Opened::Stream(stream))
    }
}

/// Reading `new` begins a session.
struct Begin(Arc<Mutex<Sessions>>);

impl Answers for Begin {
    fn answer(&self, _: Vec<u8>, answer: &Arc<Answer>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = if sessions.open.len() >= MOST_SESSIONS {
            format!(
                "error: {MOST_SESSIONS} sessions are open, which is the most: write `close` into `ctl` of one\n"
            )
        } else {
            match random_name() {
                Ok(name) => {
                    sessions.last += 1;
                    let index = sessions.last;
                    sessions.open.insert(index, Arc::new(Session::new(name.clone())));
                    format!("{name}\n")
                }
                Err(errno) => format!("error: no name can be had: {errno}\n"),
            }
        };
        drop(sessions);
        answer.add(text.as_bytes());
        answer.end();
    }
}

/// Reading `models` asks for them.
struct List(Arc<dyn Speaks>);

impl Answers for List {
    fn answer(&self, _: Vec<u8>, answer: &Arc<Answer>) {
        let (by, coming) = (Arc::clone(&self.0), Arc::clone(answer));
        let list = move || {
            let text = match by.models(coming.cancel()) {
                Ok(names) => names.into_iter().map(|name| name + "\n").collect(),
                Err(why) => format!("error: {why}\n"),
            };
            coming.add(text.as_bytes());
            coming.end();
        };
        in_a_thread(answer, list);
    }
}

/// Does what may take long.
fn in_a_thread(answer: &Answer, act: impl FnOnce() + Send + 'static) {
    if std::thread::Builder::new().name("llm".to_owned()).spawn(act).is_err() {
        answer.add(b"error: too many questions at one time\n");
        answer.end();
    }
}

fn random_name() -> Result<String, Errno> {
    let mut bytes = [0; 16];
    let count = rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())?;
    if count != bytes.len() {
        return Err(Errno::IO);
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// In a session's directory, in the order of their numbers.
const FILES: [&str; 8] =
    ["ask", "stream", "model", "temperature", "system", "thinking", "usage", "ctl"];
const NEW: u64 = 2;
const MODELS: u64 = 3;
const FIRST: u64 = 16;
const STEP: u64 = 16;
const MOST_SESSIONS: usize = 64;
const UNASKED: &str = "error: nothing was asked: write the question into this open file first\n";

#[cfg(test)]
mod tests;
