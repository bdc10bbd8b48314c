//! What comes to a pool, a line each: a guest to run, or one to stop. Reads lines and nothing else.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Run(Box<Request>),
    /// The guest with this name.
    Stop(Id),
}

/// What whoever asks calls a guest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Id {
    Number(i64),
    Text(String),
}

impl Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => write!(formatter, "{text:?}"),
        }
    }
}

/// A guest, as it is asked for. It has a file or a script.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) id: Id,
    /// Where its program is: a WASM module, or else JavaScript.
    pub(super) file: Option<String>,
    /// The text of a JavaScript program.
    pub(super) script: Option<String>,
    /// What follows its name.
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// All that it reads.
    #[serde(default)]
    pub(super) input: String,
    /// In addition to those of the pool, and in place of them.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    /// Where it begins, if not where the pool did.
    pub(super) directory: Option<String>,
    /// How long it may take, and not only compute.
    pub(super) seconds: Option<f64>,
    /// What it may have of memory, if that is less than what the pool gives.
    pub(super) memory_mb: Option<u64>,
}

/// A line that asks for nothing, with the name of the guest that it is about if it has one.
#[derive(Debug, PartialEq)]
pub(super) struct BadLine {
    pub(super) id: Option<Id>,
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    id: Id,
    stop: bool,
}

impl Line {
    /// What a line asks for.
    pub(super) fn read(line: &[u8]) -> Result<Self, BadLine> {
        let bad = |id: Option<Id>, why: String| BadLine { id, why };
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| bad(None, format!("the line is not JSON: {error}")))?;
        if !value.is_object() {
            return Err(bad(None, "the line is not an object".to_owned()));
        }
        let id = value.get("id").and_then(|id| Id::deserialize(id).ok());
        if id.is_none() {
            return Err(bad(None, "`id` is a number or text, and has to be there".to_owned()));
        }
        if value.get("stop").is_some() {
            return match Stop::deserialize(value) {
                Ok(Stop { id, stop: true }) => Ok(Self::Stop(id)),
                Ok(_) => Err(bad(id, "`stop` is `true` or not there".to_owned())),
                Err(error) => Err(bad(id, error.to_string())),
            };
        }
        let request = Request::deserialize(value).map_err(|error| error.to_string());
        match request.and_then(Request::checked) {
            Ok(request) => Ok(Self::Run(Box::new(request))),
            Err(why) => Err(bad(id, why)),
        }
    }
}

impl Request {
    fn checked(self) -> Result<Self, String> {
        let zero_in = |text: &str| text.contains('\0');
        match (&self.file, &self.script) {
            (None, None) => return Err("neither `file` nor `script` says what to run".to_owned()),
            (Some(_), Some(_)) => return Err("`file` and `script` exclude each other".to_owned()),
            (Some(file), None) if file.is_empty() || zero_in(file) => {
                return Err("`file` is not a path".to_owned());
            }
            _ => {}
        }
        let is_time = |seconds: f64| seconds > 0.0 && Duration::try_from_secs_f64(seconds).is_ok();
        if !self.seconds.is_none_or(is_time) {
            return Err("`seconds` is not a time that anything could run in".to_owned());
        }
        if self.memory_mb == Some(0) {
            return Err("`memory_mb` is 0, with which nothing runs".to_owned());
        }
        let wrong = self.environment.iter().find(|(name, value)| {
            name.is_empty() || name.contains('=') || zero_in(name) || zero_in(value)
        });
        match wrong {
            Some((name, _)) => Err(format!("`{name}` in `environment` is not a variable")),
            None if self.arguments.iter().any(|argument| zero_in(argument)) => {
                Err("one of `arguments` has a zero byte".to_owned())
            }
            None => Ok(self),
        }
    }

    /// How long it may take.
    pub(super) fn time(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.seconds?).ok()
    }
}

#[cfg(test)]
mod tests;
