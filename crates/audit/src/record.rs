//! One record as it was read, whoever wrote it: its frame is right, its event may be of a later
//! version.

use serde_json::{Map, Value};

use crate::event::Event;
use crate::hash::Hash;
use crate::line::{Line, LineError};
use crate::time::Timestamp;

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its number, from 1.
    pub sequence: u64,
    /// When it was written.
    pub time: Timestamp,
    /// The hash of the record before it.
    pub previous: Hash,
    /// Its own.
    pub hash: Hash,
    /// The event's name.
    pub name: String,
    /// The event's fields.
    pub fields: Map<String, Value>,
    /// The line that it was read from, without its end.
    pub line: String,
}

impl Record {
    /// Reads a line without its end.
    pub fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        let line = Line::parse(bytes)?;
        let object = format!("{{{}}}", line.fields);
        let mut fields: Map<String, Value> =
            serde_json::from_str(&object).map_err(|_| LineError::Malformed)?;
        let Some(Value::String(name)) = fields.remove("event") else {
            return Err(LineError::Malformed);
        };
        let text = std::str::from_utf8(bytes).map_err(|_| LineError::Malformed)?;
        Ok(Self {
            sequence: line.sequence,
            time: line.time,
            previous: line.previous,
            hash: line.hash,
            name,
            fields,
            line: text.to_owned(),
        })
    }

    /// The event; none if this version does not know it.
    pub fn event(&self) -> Option<Event> {
        let mut fields = self.fields.clone();
        fields.insert("event".to_owned(), Value::String(self.name.clone()));
        serde_json::from_value(Value::Object(fields)).ok()
    }

    /// A field that is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}
