//! `stockade audit show` and `follow`: records as a table for a person, or as the lines that they
//! are. Nothing in a record can act on the terminal.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write as _;

use audit::{Filter, Reader, Record, RecordError, Start};
use policy::shown::shown;
use serde_json::Value;

use super::arguments::{FilterArguments, FollowArguments, ShowArguments};
use super::when::moment;
use super::{place, unreadable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;

#[cfg(test)]
mod tests;

/// `show`.
pub(super) fn show(arguments: &ShowArguments, messages: Messages) -> Result<Exit, Failure> {
    let filter = filter(&arguments.filter)?;
    let reader = match Reader::open(&place(&arguments.place)?) {
        Err(error @ audit::ReadError::NoLog(_)) => {
            messages.note(&error.to_string());
            return Ok(Exit::Success);
        }
        opened => opened.map_err(|error| unreadable(&error))?,
    };
    let mut output = Output::new(arguments.json);
    let mut damaged = None;
    let mut last = VecDeque::new();
    for item in reader.records(filter) {
        let record = match item {
            Ok(record) => record,
            Err(error @ RecordError::Damaged { .. }) => {
                damaged.get_or_insert(error);
                continue;
            }
            Err(RecordError::Unreadable(error)) => return Err(unreadable(&error)),
        };
        match arguments.last {
            None => {
                if output.print(&record)? == Reading::Over {
                    return Ok(Exit::Success);
                }
            }
            Some(count) => {
                last.push_back(record);
                if last.len() > count {
                    last.pop_front();
                }
            }
        }
    }
    for record in &last {
        output.print(record)?;
    }
    output.flush()?;
    match damaged {
        None => Ok(Exit::Success),
        Some(error) => Err(Failure::new(Exit::No, format!("the log is damaged: {error}"))
            .help("`stockade audit verify` says what was done to it")),
    }
}

/// `follow`. Ends when nobody reads any more.
pub(super) fn follow(arguments: &FollowArguments) -> Result<Exit, Failure> {
    let filter = filter(&arguments.filter)?;
    let start = if arguments.from_start { Start::Beginning } else { Start::Now };
    let directory = place(&arguments.place)?;
    let mut follower =
        audit::follow(&directory, filter, start).map_err(|error| unreadable(&error))?;
    let mut output = Output::new(arguments.json);
    loop {
        while let Some(record) = follower.next_now().map_err(|error| unreadable(&error))? {
            if output.print(&record)? == Reading::Over {
                return Ok(Exit::Success);
            }
        }
        if output.flush()? == Reading::Over {
            return Ok(Exit::Success);
        }
        let next = follower.next(None).map_err(|error| unreadable(&error))?;
        if let Some(record) = next
            && output.print(&record)? == Reading::Over
        {
            return Ok(Exit::Success);
        }
    }
}

fn filter(arguments: &FilterArguments) -> Result<Filter, Failure> {
    let FilterArguments { cage, invocation, session, event, since, until } = arguments;
    let moment = |flag: &str, word: &Option<String>| {
        word.as_deref().map(|word| moment(flag, word)).transpose()
    };
    let filter = Filter {
        cage: cage.clone(),
        invocation: invocation.clone(),
        session: session.clone(),
        event: None,
        since: moment("--since", since)?,
        until: moment("--until", until)?,
    };
    filter.of_event(event.as_deref()).map_err(|error| {
        Failure::new(Exit::Usage, format!("`--event`: {error}"))
            .help("`stockade audit schema` has their names")
    })
}

/// Standard output, until its reader goes away.
struct Output {
    writer: std::io::BufWriter<std::io::Stdout>,
    json: bool,
}

/// Whether somebody still reads what is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    GoesOn,
    Over,
}

impl Output {
    fn new(json: bool) -> Self {
        Self { writer: std::io::BufWriter::new(std::io::stdout()), json }
    }

    fn print(&mut self, record: &Record) -> Result<Reading, Failure> {
        let line = if self.json { record.line.clone() } else { row(record) };
        ended(writeln!(self.writer, "{line}"))
    }

    fn flush(&mut self) -> Result<Reading, Failure> {
        ended(self.writer.flush())
    }
}

fn ended(written: std::io::Result<()>) -> Result<Reading, Failure> {
    match written {
        Ok(()) => Ok(Reading::GoesOn),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reading::Over),
        Err(error) => {
            Err(Failure::new(Exit::No, format!("cannot write to standard output: {error}")))
        }
    }
}

/// A record for a person: time, event, the beginning of the start's id, and everything else.
fn row(record: &Record) -> String {
    let time = record.time.to_string();
    let time = time.get(..23).unwrap_or(&time).replace('T', " ");
    let start = record.text("invocation_id").unwrap_or("-");
    let start: String = start.chars().take(SHOWN_OF_AN_ID).collect();
    let mut row = format!("{time}  {:<28}  {:<13}", shown(&record.name), shown(start));
    for (name, value) in &record.fields {
        if name != "invocation_id" {
            describe(&mut row, name, value);
        }
    }
    row
}

/// An id begins with ten letters that tell the time, and goes on with ones that are chance: enough of
/// both to tell starts apart.
const SHOWN_OF_AN_ID: usize = 13;

fn describe(row: &mut String, name: &str, value: &Value) {
    let name = shown(name);
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Null => Ok(()),
        Value::Object(fields) => {
            fields.iter().for_each(|(inner, value)| {
                describe(row, &format!("{name}.{inner}"), value);
            });
            Ok(())
        }
        // What a cage is made of would fill the screen; `--json` has it.
        Value::Array(entries) if entries.len() > MOST_ENTRIES => {
            write!(row, " {name}=({} entries)", entries.len())
        }
        Value::String(text) if is_word(text) => write!(row, " {name}={}", shown(text)),
        Value::String(text) => write!(row, " {name}=\"{}\"", shown(text).replace('"', "\\x22")),
        other => write!(row, " {name}={}", shown(other)),
    };
}

/// Entries of a list that a row has room for.
const MOST_ENTRIES: usize = 4;

/// Whether a text cannot be taken for several fields.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains([' ', '"'])
}
