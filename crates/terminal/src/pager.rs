//! Long answers on a terminal go through the user's pager. What is written has nothing in it that acts on a terminal
//! but colours; the pager is told to let those through and nothing else.

use std::ffi::{OsStr, OsString};
use std::io::{BufWriter, IsTerminal as _, StdoutLock, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};

#[cfg(test)]
mod tests;

/// Where an answer is written to.
#[derive(Debug)]
pub enum Output {
    /// Standard output.
    Stdout(BufWriter<StdoutLock<'static>>),
    /// The pager.
    Pager {
        /// Its process.
        child: Child,
        /// What it reads.
        stdin: Option<BufWriter<ChildStdin>>,
    },
}

/// Whether a pager may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// On a terminal.
    Wanted,
    /// Nowhere.
    Unwanted,
}

impl Output {
    /// The pager, where standard output is a terminal and there is one; else standard output.
    pub fn open(paging: Paging) -> Self {
        let paged = (paging == Paging::Wanted && std::io::stdout().is_terminal())
            .then(start_pager)
            .flatten();
        paged.unwrap_or_else(|| Self::Stdout(BufWriter::new(std::io::stdout().lock())))
    }

    /// Writes what is left and waits for the reader.
    pub fn finish(mut self) -> std::io::Result<()> {
        let flushed = self.flush();
        if let Self::Pager { child, stdin } = &mut self {
            drop(stdin.take());
            // Keys are the pager's as long as it runs.
            let waited = child.wait();
            let _restored = sys::signal::restore_default(SIGINT);
            waited?;
        }
        flushed
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Pager { stdin: Some(stdin), .. } => stdin.write(bytes),
            Self::Pager { stdin: None, .. } => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Pager { stdin: Some(stdin), .. } => stdin.flush(),
            Self::Pager { stdin: None, .. } => Ok(()),
        }
    }
}

/// The user's pager, if it can be started.
fn start_pager() -> Option<Output> {
    let given = ["STOCKADE_PAGER", "PAGER"].into_iter().find_map(std::env::var_os);
    let mut command = match given {
        Some(given) if given.is_empty() || given == "cat" => return None,
        // As other programs take it: a line of shell.
        Some(given) => {
            let program = first_word(&given);
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(or_else_cat(given)).arg("sh").arg(program);
            command
        }
        None => {
            let mut command = Command::new("less");
            command.arg("-R");
            command
        }
    };
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none_or(|value: OsString| value.is_empty()) {
            command.env(name, value);
        }
    }
    sys::signal::restore_all_defaults_in(&mut command);
    let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
    let stdin = child.stdin.take().map(BufWriter::new);
    // Ctrl-C is a key of the pager's, which must not be left alone with the terminal.
    let _ignored = sys::signal::ignore(SIGINT);
    Some(Output::Pager { child, stdin })
}

/// A pager that is not there must not swallow the answer.
fn or_else_cat(line: OsString) -> OsString {
    let mut script = OsString::from("if command -v \"$1\" >/dev/null; then\n");
    script.push(line);
    script.push("\nelse echo \"stockade: there is no pager '$1'\" >&2; cat; fi");
    script
}

/// The program that a line of shell names; the shell itself where the line begins with something else.
fn first_word(line: &OsStr) -> OsString {
    let first =
        line.as_bytes().split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty());
    let is_name = |word: &&[u8]| {
        word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/._+-".contains(byte))
    };
    OsStr::from_bytes(first.filter(is_name).unwrap_or(b"sh")).to_owned()
}

const SIGINT: i32 = 2;
