//! A file of a session that says how it is asked, or how it stands: written it is changed at once, so that whoever closes
//! it knows; read it is as it was at the first read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Thinking;
use rustix::io::Errno;

use super::session::Session;
use crate::tree::Stream;

/// Which of them.
pub(super) enum Value {
    Model,
    Temperature,
    System,
    Thinking,
    Usage,
    /// Takes orders; this one ends the session.
    Control(Box<dyn Fn() + Send + Sync>),
}

/// An open file.
pub(super) struct Setting {
    session: Arc<Session>,
    value: Value,
    open: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    written: Vec<u8>,
    shown: Option<Vec<u8>>,
}

impl Setting {
    pub(super) fn new(session: Arc<Session>, value: Value) -> Self {
        Self { session, value, open: Mutex::default() }
    }

    fn shown(&self) -> String {
        let talk = self.session.talk();
        match &self.value {
            Value::Model => format!("{}\n", talk.model),
            Value::System => talk.system.clone(),
            Value::Temperature => match talk.temperature {
                Some(temperature) => format!("{temperature}\n"),
                None => "default\n".to_owned(),
            },
            Value::Thinking => match talk.thinking {
                Thinking::Off => "off\n".to_owned(),
                Thinking::Max => "max\n".to_owned(),
                Thinking::Budget(tokens) => format!("{tokens}\n"),
            },
            Value::Usage => {
                let used = talk.usage;
                format!(
                    "input {}\ncached {}\ncache_written {}\noutput {}\nanswers {}\n",
                    used.input, used.cached, used.cache_written, used.output, talk.answers
                )
            }
            Value::Control(_) => format!("messages {}\n", talk.messages.len()),
        }
    }

    fn set(&self, bytes: &[u8]) -> Result<(), Errno> {
        let text = str::from_utf8(bytes).map_err(|_| Errno::INVAL)?;
        let word = text.trim();
        let mut talk = self.session.talk();
        match &self.value {
            Value::Model => {
                let is_name = !word.is_empty() && !word.chars().any(char::is_whitespace);
                if !is_name || word.len() > MOST_NAME {
                    return Err(Errno::INVAL);
                }
                talk.model = word.to_owned();
            }
            Value::System => talk.system = text.to_owned(),
            Value::Temperature if word == "default" => talk.temperature = None,
            Value::Temperature => {
                let number = word.parse().ok().filter(|number| (0.0..=2.0).contains(number));
                talk.temperature = Some(number.ok_or(Errno::INVAL)?);
            }
            Value::Thinking => {
                talk.thinking = match (word, word.parse::<u32>()) {
                    ("off", _) | (_, Ok(0)) => Thinking::Off,
                    ("max", _) => Thinking::Max,
                    (_, Ok(tokens)) if tokens <= MOST_THINKING => Thinking::Budget(tokens),
                    _ => return Err(Errno::INVAL),
                }
            }
            Value::Usage => return Err(Errno::ACCESS),
            Value::Control(_) if word == "reset" => talk.messages.clear(),
            Value::Control(close) if word == "close" => {
                drop(talk);
                close();
            }
            Value::Control(_) => return Err(Errno::INVAL),
        }
        Ok(())
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for Setting {
    fn read(&self, into: &mut [u8], _: &dyn Fn() -> bool) -> Result<usize, Errno> {
        let mut contents = self.contents();
        let shown = contents.shown.get_or_insert_with(|| self.shown().into_bytes());
        let count = into.len().min(shown.len());
        for (place, byte) in into.iter_mut().zip(shown.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let mut contents = self.contents();
        if contents.written.len() + bytes.len() > MOST_WRITTEN {
            return Err(Errno::FBIG);
        }
        contents.written.extend_from_slice(bytes);
        // An order is taken once, a text as far as it has come.
        self.set(&contents.written)?;
        if matches!(self.value, Value::Control(_)) {
            contents.written.clear();
        }
        Ok(bytes.len())
    }

    fn close(&self) {}
}

const MOST_NAME: usize = 200;
const MOST_THINKING: u32 = 30_000;
const MOST_WRITTEN: usize = 1 << 20;
