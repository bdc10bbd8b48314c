//! What a program may do to the user's terminal: write text and draw. One filter for each terminal, whichever
//! streams lead there. Only for output to a terminal: pipes stay untouched.
//!
//! A sequence reaches the terminal whole and as one piece, or not at all: it is held until its last byte has come, and
//! passes if it is on the lists of [`control`], [`escape`] and [`string`]. So nothing is ever open on the
//! terminal that bytes of another stream, bytes after a dropped sequence, or our own words could complete.
//!
//! What passes and changes the terminal's state is noted, so that [`Filter::restore`] can undo it. Never asks the
//! terminal for anything.
#![forbid(unsafe_code)]

mod changes;
mod control;
mod escape;
pub mod pager;
mod parser;
pub mod progress;
pub mod prompt;
mod string;

use std::os::fd::{AsFd, BorrowedFd};

use changes::Changes;
use parser::{Parser, Piece};
use walls::Wall;

/// The filter of one terminal.
#[derive(Debug)]
pub struct Filter {
    /// A sequence that is open on one stream is not on the terminal, so the streams cannot mix.
    streams: [Parser; 2],
    changes: Changes,
    answers: Answers,
}

/// A stream that leads to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard output, or the program's own terminal.
    Output,
    /// Standard error.
    Error,
}

/// Who reads what the terminal types when it is asked something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// The program, which has every key: harmless questions pass.
    ToProgram,
    /// Whoever reads the terminal next, such as the user's shell: no question passes.
    ToOthers,
}

impl Filter {
    /// The filter of a terminal that nothing was written to yet.
    pub fn new(answers: Answers) -> Self {
        Self { streams: Default::default(), changes: Changes::default(), answers }
    }

    /// From here on answers of the terminal go to somebody else.
    pub fn answer(&mut self, answers: Answers) {
        self.answers = answers;
    }

    /// Appends to `passed` what of `bytes` may reach the terminal now.
    pub fn pass(&mut self, source: Source, bytes: &[u8], passed: &mut Vec<u8>) {
        if !walls::stands(Wall::TerminalFilter) {
            return passed.extend_from_slice(bytes);
        }
        let Self { streams: [output, error], changes, answers } = self;
        let parser = match source {
            Source::Output => output,
            Source::Error => error,
        };
        parser.take(bytes, &mut |piece| {
            let passes = match piece {
                Piece::Text(_) => true,
                Piece::Act(byte) => changes.note_control_byte(byte),
                Piece::Escape(body) => escape::passes(body, changes),
                Piece::Control(body) => control::passes(body, changes, *answers),
                Piece::Command(body, _) => string::command_passes(body, changes, *answers),
                Piece::Device(body) => string::device_passes(body, changes),
            };
            if passes {
                piece.write(passed);
            }
        });
    }

    /// Appends to `written` what the terminal needs before words that are not the program's: whatever the program
    /// has changed and not changed back is undone, and what it had begun is forgotten. Nothing if nothing was changed.
    pub fn restore(&mut self, written: &mut Vec<u8>) {
        self.streams = Default::default();
        self.changes.undo(written);
    }
}

/// Whether two descriptors of terminals lead to the same one. Where nobody can tell, they do: one filter holds for both.
pub fn is_same_terminal(one: impl AsFd, other: impl AsFd) -> bool {
    let (one, other) = (one.as_fd(), other.as_fd());
    let (Ok(first), Ok(second)) = (sys::terminal::device(one), sys::terminal::device(other)) else {
        return true;
    };
    first == second && may_be_same_file_system(one, other)
}

/// Every file system of pseudo-terminals counts from nought. What was opened by another name, such as `/dev/tty`, lies
/// elsewhere.
fn may_be_same_file_system(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let (Ok(one), Ok(other)) = (rustix::fs::fstat(one), rustix::fs::fstat(other)) else {
        return true;
    };
    let is_pseudo_terminal =
        |stat: &rustix::fs::Stat| PSEUDO_TERMINALS.contains(&rustix::fs::major(stat.st_rdev));
    one.st_dev == other.st_dev || !is_pseudo_terminal(&one) || !is_pseudo_terminal(&other)
}

/// Their major numbers.
const PSEUDO_TERMINALS: std::ops::RangeInclusive<u32> = 136..=143;

#[cfg(test)]
mod tests;
