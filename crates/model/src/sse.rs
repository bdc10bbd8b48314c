//! The parser of event streams (`text/event-stream`). Sans-io: bytes in, events out, in the same way however they are
//! split. Holds at most one event, and refuses one that is too long. Never reconnects: ids and retry times are ignored.

use thiserror::Error;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its kind; empty where the server names none.
    pub name: String,
    /// Its data, lines joined by newlines.
    pub data: String,
}

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SseError {
    /// An event is too long.
    #[error("an event of the stream is longer than {most} bytes")]
    TooLong {
        /// Most bytes.
        most: usize,
    },
    /// An event is no text.
    #[error("an event of the stream is not UTF-8")]
    NotText,
}

/// Reads one stream.
#[derive(Debug)]
pub struct Parser {
    most: usize,
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    /// A line feed now belongs to the carriage return before it.
    after_return: bool,
    is_first_line: bool,
}

impl Parser {
    /// Of a stream whose events have at most so many bytes.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            name: String::new(),
            data: None,
            after_return: false,
            is_first_line: true,
        }
    }

    /// Takes the next bytes, and hands over every event that they complete. An event that the stream ends within is
    /// none.
    ///
    /// # Errors
    /// If the stream is not what it should be; nothing more may be fed then.
    pub fn feed(&mut self, bytes: &[u8], events: &mut impl FnMut(Event)) -> Result<(), SseError> {
        for &byte in bytes {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' => self.end_line(events)?,
                b'\r' => {
                    self.after_return = true;
                    self.end_line(events)?;
                }
                other => {
                    let held = self.line.len()
                        + self.name.len()
                        + self.data.as_ref().map_or(0, String::len);
                    if held >= self.most {
                        return Err(SseError::TooLong { most: self.most });
                    }
                    self.line.push(other);
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut impl FnMut(Event)) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = str::from_utf8(&line).map_err(|_| SseError::NotText)?;
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            if let Some(data) = self.data.take() {
                events(Event { name, data });
            }
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("event", _) => value.clone_into(&mut self.name),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            // Comments, and fields that mean nothing here.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
