//! Standard output: what a command was asked to print. A reader that goes away is no error.

use std::io::Write as _;
use std::process::ExitCode;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::{Colour, Messages};

/// Prints text as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    unless_the_reader_left(written)
}

/// Prints what the command line's parser has to say: help, a version, or what is wrong with it.
pub(crate) fn print_usage(answer: &clap::Error) -> ExitCode {
    let text = answer.render().to_string();
    // Help is an answer, even to a line that lacks something, and no message.
    let printed = if text.starts_with("error:") {
        std::io::stderr().lock().write_all(format!("stockade: {text}").as_bytes())
    } else {
        answer.print().and_then(|()| std::io::stdout().flush())
    };
    match unless_the_reader_left(printed) {
        Ok(()) => ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(u8::MAX)),
        Err(failure) => {
            failure.tell(Messages::new(Colour::Auto));
            failure.exit.into()
        }
    }
}

/// A reader that goes away has read enough.
pub(crate) fn unless_the_reader_left(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::No, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a value as JSON for a person or a program to read.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{}\n", escaped(&format!("{value:#}"))))
}

/// The same JSON, without what could do something to a terminal: a program's own words may be in it. Such
/// characters stand in its texts alone, where JSON has another spelling for each.
fn escaped(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || !policy::shown::misleads(character) {
            safe.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            safe.push_str(&format!("\\u{unit:04x}"));
        }
    }
    safe
}

#[cfg(test)]
mod tests;
