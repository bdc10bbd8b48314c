//! TypeScript as JavaScript: types become blanks, and everything else stays where it is, so that lines and columns of errors
//! are those of the file. What is more than a type (`enum`, namespaces, parameters that are properties) is refused by name.
//!
//! Never checks a type, and never changes what a program does.
#![forbid(unsafe_code)]

use std::collections::HashSet;

mod classes;
mod expressions;
mod lexer;
mod modules;
mod patterns;
mod statements;
#[cfg(test)]
mod tests;
mod types;

use lexer::{Kind, Token};

/// Why a text is not JavaScript with types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// From one on.
    pub line: usize,
    /// In bytes, from one on.
    pub column: usize,
    /// What is wrong there.
    pub why: Why,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is no TypeScript that is understood here: what was expected.
    Syntax(&'static str),
    /// It is more than a type: what it is.
    NotErasable(&'static str),
}

/// The text without its types.
///
/// # Errors
///
/// If it is more than JavaScript with types, or not understood.
pub fn strip(text: &str) -> Result<String, Refused> {
    let mut stripper = Stripper::new(text);
    match stripper.program() {
        Ok(()) => Ok(stripper.finish()),
        Err(Stop { at, why }) => {
            let before = text.get(..at).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
            Err(Refused { line, column, why })
        }
    }
}

/// Why reading went no further, and where.
#[derive(Clone, Copy, Debug)]
struct Stop {
    at: usize,
    why: Why,
}

type Read<T = ()> = Result<T, Stop>;

/// One text that is read. It holds one token at a time; whoever tries something goes back to a [`Mark`].
struct Stripper<'a> {
    text: &'a str,
    token: Token,
    /// Where the token before ended.
    end: usize,
    /// What becomes blank.
    blanks: Vec<(usize, usize)>,
    /// What stands where a blank would be.
    instead: Vec<(usize, u8)>,
    /// Brackets that are not the beginning of an arrow function: found out once.
    no_arrows: HashSet<usize>,
    /// Whether a colon may belong to the `?` that this stands behind.
    before_colon: bool,
    depth: usize,
    /// Tokens that were read, those that were read twice as well.
    steps: usize,
}

/// Where to go back to.
#[derive(Clone, Copy)]
struct Mark {
    token: Token,
    end: usize,
    blanks: usize,
    instead: usize,
}

impl<'a> Stripper<'a> {
    fn new(text: &'a str) -> Self {
        let mut stripper = Self {
            text,
            token: Token::NOTHING,
            end: 0,
            blanks: Vec::new(),
            instead: Vec::new(),
            no_arrows: HashSet::new(),
            before_colon: false,
            depth: 0,
            steps: 0,
        };
        stripper.token = lexer::first(text);
        stripper
    }

    fn finish(self) -> String {
        let mut bytes = self.text.as_bytes().to_vec();
        for (start, end) in self.blanks {
            for byte in bytes.get_mut(start..end).unwrap_or_default() {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        for (at, byte) in self.instead {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        // Whole tokens became blank, so characters did.
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn mark(&self) -> Mark {
        let Self { token, end, .. } = *self;
        Mark { token, end, blanks: self.blanks.len(), instead: self.instead.len() }
    }

    fn back_to(&mut self, mark: Mark) {
        self.token = mark.token;
        self.end = mark.end;
        self.blanks.truncate(mark.blanks);
        self.instead.truncate(mark.instead);
    }

    /// Goes back if it comes to nothing.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Option<T> {
        let (mark, before_colon, depth) = (self.mark(), self.before_colon, self.depth);
        let done = read(self).ok();
        if done.is_none() {
            self.back_to(mark);
            (self.before_colon, self.depth) = (before_colon, depth);
        }
        done
    }

    /// One level further in: a text that is too deep is refused before it fills the stack, and one that means ever more
    /// the longer it is looked at before it takes long.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEEPEST || self.steps > self.text.len().saturating_mul(8).max(MOST_STEPS) {
            return Err(self.stop(Why::Syntax("a simpler text")));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    fn stop(&self, why: Why) -> Stop {
        Stop { at: self.token.start, why }
    }

    fn expected<T>(&self, what: &'static str) -> Read<T> {
        Err(self.stop(Why::Syntax(what)))
    }

    fn not_erasable<T>(&self, what: &'static str) -> Read<T> {
        Err(self.stop(Why::NotErasable(what)))
    }

    fn words(&self) -> &'a str {
        self.token.of(self.text)
    }

    /// Whether the token is this punctuation or this word.
    fn is(&self, what: &str) -> bool {
        matches!(self.token.kind, Kind::Word | Kind::Punctuation) && self.words() == what
    }

    fn is_any(&self, all: &[&str]) -> bool {
        all.iter().any(|one| self.is(one))
    }

    fn is_word(&self) -> bool {
        self.token.kind == Kind::Word
    }

    /// The token behind this one.
    fn ahead(&self) -> Token {
        lexer::next(self.text, self.token.end)
    }

    fn ahead_is(&self, what: &str) -> bool {
        let ahead = self.ahead();
        matches!(ahead.kind, Kind::Word | Kind::Punctuation) && ahead.of(self.text) == what
    }

    /// Whether a word stands behind this one in the same line.
    fn ahead_is_word_here(&self) -> bool {
        let ahead = self.ahead();
        ahead.kind == Kind::Word && !ahead.is_on_new_line
    }

    fn advance(&mut self) {
        self.steps += 1;
        self.end = self.token.end;
        self.token = self.ahead();
    }

    fn take(&mut self, what: &str) -> bool {
        let is = self.is(what);
        if is {
            self.advance();
        }
        is
    }

    fn expect(&mut self, what: &'static str) -> Read {
        if self.take(what) { Ok(()) } else { self.expected(what) }
    }

    /// From here to where the last token ended.
    fn blank_from(&mut self, start: usize) {
        self.blanks.push((start, self.end));
    }

    /// The same of a statement: what stood before it ends here, as it did.
    fn blank_statement(&mut self, start: usize) {
        self.blank_from(start);
        self.instead.retain(|(at, _)| *at < start);
        self.instead.push((start, b';'));
    }

    /// The token itself.
    fn blank_token(&mut self) {
        let start = self.token.start;
        self.advance();
        self.blank_from(start);
    }
}

const DEEPEST: usize = 300;
const MOST_STEPS: usize = 1 << 16;
