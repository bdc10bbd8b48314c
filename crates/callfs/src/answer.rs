//! One open file that is a call: what is asked is gathered, the first read asks it, and the answer is read as it comes.
//! A write after that asks anew. Closing it has nobody wait for the answer any more.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::Cancel;
use rustix::io::Errno;

use crate::tree::Stream;

/// Whoever answers what is written into a file.
pub trait Answers: Send + Sync {
    /// Answers a question, in another thread or at once; [`Answer::end`] has to be called in the end.
    fn answer(&self, question: Vec<u8>, answer: &Arc<Answer>);
}

/// An answer while it comes.
#[derive(Debug, Default)]
pub struct Answer {
    state: Mutex<Coming>,
    changed: Condvar,
    cancel: Cancel,
}

#[derive(Debug, Default)]
struct Coming {
    bytes: VecDeque<u8>,
    is_over: bool,
}

impl Answer {
    /// A part of it. Waits while the reader has much to read.
    pub fn add(&self, bytes: &[u8]) {
        let mut state = self.lock();
        while state.bytes.len() > MOST_AHEAD && !self.cancel.is_cancelled() {
            state = self.wait(state);
        }
        if !self.cancel.is_cancelled() {
            state.bytes.extend(bytes);
            self.changed.notify_all();
        }
    }

    /// Nothing more comes.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Cancelled when nobody waits for it any more.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    fn give_up(&self) {
        self.cancel.cancel();
        self.lock().bytes.clear();
        self.changed.notify_all();
    }

    fn read(&self, into: &mut [u8], is_unwanted: &dyn Fn() -> bool) -> Result<usize, Errno> {
        let mut state = self.lock();
        while state.bytes.is_empty() && !state.is_over {
            if is_unwanted() || self.cancel.is_cancelled() {
                return Err(Errno::INTR);
            }
            state = self.wait(state);
        }
        let count = into.len().min(state.bytes.len());
        for (place, byte) in into.iter_mut().zip(state.bytes.drain(..count)) {
            *place = byte;
        }
        self.changed.notify_all();
        Ok(count)
    }

    /// Wakes now and then, to look whether anybody waits still.
    fn wait<'a>(&self, state: MutexGuard<'a, Coming>) -> MutexGuard<'a, Coming> {
        let waited = self.changed.wait_timeout(state, GLANCE);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Coming> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open file that is a call.
pub struct CallFile {
    answers: Arc<dyn Answers>,
    /// What a read is told that nothing was asked before.
    unasked: Unasked,
    state: Mutex<State>,
}

/// What a read comes to that nothing was written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// An error in these words.
    Refused(&'static str),
    /// It is answered: there is nothing to ask.
    Answered,
}

enum State {
    Gathering(Vec<u8>),
    Answering(Arc<Answer>),
    Closed,
}

impl CallFile {
    /// Of somebody who answers; a reader that has asked nothing is told so.
    pub fn new(answers: Arc<dyn Answers>, unasked: &'static str) -> Self {
        Self { answers, unasked: Unasked::Refused(unasked), state: Mutex::new(NOTHING) }
    }

    /// The same, where reading alone is a question too.
    pub(crate) fn readable(answers: Arc<dyn Answers>) -> Self {
        Self { answers, unasked: Unasked::Answered, state: Mutex::new(NOTHING) }
    }

    /// The answer to what was written; asks first if that was not done yet.
    fn asked(&self) -> Result<Arc<Answer>, Errno> {
        let mut state = self.lock();
        let question = match &mut *state {
            State::Answering(answer) => return Ok(Arc::clone(answer)),
            State::Closed => return Err(Errno::BADF),
            State::Gathering(question) => std::mem::take(question),
        };
        let answer = Arc::new(Answer::default());
        *state = State::Answering(Arc::clone(&answer));
        drop(state);
        match self.unasked {
            Unasked::Refused(why) if question.iter().all(u8::is_ascii_whitespace) => {
                answer.add(why.as_bytes());
                answer.end();
            }
            Unasked::Refused(_) | Unasked::Answered => self.answers.answer(question, &answer),
        }
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for CallFile {
    fn read(&self, into: &mut [u8], is_unwanted: &dyn Fn() -> bool) -> Result<usize, Errno> {
        self.asked()?.read(into, is_unwanted)
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let mut state = self.lock();
        match &mut *state {
            State::Closed => return Err(Errno::BADF),
            State::Answering(answer) => {
                let is_over = answer.lock().is_over;
                // One thing at a time: another open file asks beside it.
                if !is_over {
                    return Err(Errno::BUSY);
                }
                *state = State::Gathering(bytes.to_vec());
            }
            State::Gathering(question) if question.len() + bytes.len() > MOST_QUESTION => {
                return Err(Errno::FBIG);
            }
            State::Gathering(question) => question.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn close(&self) {
        let before = std::mem::replace(&mut *self.lock(), State::Closed);
        if let State::Answering(answer) = before {
            answer.give_up();
        }
    }
}

const NOTHING: State = State::Gathering(Vec::new());
const GLANCE: Duration = Duration::from_millis(50);
/// The most that is asked at once.
const MOST_QUESTION: usize = 8 << 20;
/// What may wait for its reader.
const MOST_AHEAD: usize = 1 << 20;

#[cfg(test)]
mod tests;
