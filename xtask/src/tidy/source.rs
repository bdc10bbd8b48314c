//! A Rust file taken apart into code and comments, line by line, so that a rule about code does not
//! trip over a string and a rule about comments does not trip over code. It is a scanner, not a
//! parser: it knows strings, characters, lifetimes and nested comments, and nothing of grammar.

/// One line of a Rust file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The code, with comments and the insides of strings left out.
    pub(super) code: String,
    /// The text of comments on this line, without their slashes.
    pub(super) comment: String,
}

impl Line {
    /// Whether the line holds a comment and nothing else.
    pub(super) fn is_comment(&self) -> bool {
        self.code.trim().is_empty() && !self.comment.is_empty()
    }

    /// Whether the line holds an attribute and nothing else.
    pub(super) fn is_attribute(&self) -> bool {
        self.code.trim_start().starts_with("#[")
    }

    /// Whether `word` stands in the code, not as part of a longer word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        has_word(&self.code, word)
    }
}

/// Whether `word` stands in `text`, not as part of a longer word.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let joins = |character: Option<char>| {
        character.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    text.match_indices(word).any(|(start, _)| {
        let (before, rest) = text.split_at(start);
        !joins(before.chars().next_back()) && !joins(rest.chars().nth(word.chars().count()))
    })
}

/// Takes a Rust file apart.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner { lines: Vec::new(), current: Line::default(), state: State::Code };
    let characters: Vec<char> = text.chars().collect();
    let mut rest = characters.as_slice();
    while let [first, ..] = rest {
        if *first == '\n' {
            scanner.end_line();
            rest = rest.get(1..).unwrap_or_default();
        } else {
            let taken = scanner.step(rest);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }
    scanner.end_line();
    scanner.lines
}

/// What the next character belongs to.
enum State {
    Code,
    LineComment,
    /// Block comments nest; the number is how deep.
    BlockComment(usize),
    /// An ordinary string, with escapes.
    Text,
    /// A raw string, closed by a quote and this many `#`.
    RawText(usize),
}

struct Scanner {
    lines: Vec<Line>,
    current: Line,
    state: State,
}

impl Scanner {
    /// Takes the next piece and returns how many characters it had, at least 1.
    fn step(&mut self, rest: &[char]) -> usize {
        match self.state {
            State::Code => self.code(rest),
            State::LineComment => self.keep_comment(rest, 1),
            State::BlockComment(depth) => match rest {
                ['*', '/', ..] if depth == 1 => self.enter(State::Code, 2),
                ['*', '/', ..] => self.enter(State::BlockComment(depth - 1), 2),
                ['/', '*', ..] => self.enter(State::BlockComment(depth + 1), 2),
                _ => self.keep_comment(rest, 1),
            },
            State::Text => match rest {
                ['\\', '\n', ..] => 1,
                ['\\', _, ..] => 2,
                ['"', ..] => self.leave_text(1),
                _ => 1,
            },
            State::RawText(hashes) => match rest {
                ['"', tail @ ..] if leading_hashes(tail) >= hashes => self.leave_text(1 + hashes),
                _ => 1,
            },
        }
    }

    fn code(&mut self, rest: &[char]) -> usize {
        match rest {
            ['/', '/', ..] => self.enter(State::LineComment, 2),
            ['/', '*', ..] => self.enter(State::BlockComment(1), 2),
            ['"', ..] => {
                self.current.code.push('"');
                self.enter(State::Text, 1)
            }
            ['r', tail @ ..] if !self.after_word() && opens_raw(tail) => {
                let hashes = leading_hashes(tail);
                self.current.code.push('"');
                self.enter(State::RawText(hashes), 2 + hashes)
            }
            ['b', 'r', tail @ ..] if !self.after_word() && opens_raw(tail) => {
                let hashes = leading_hashes(tail);
                self.current.code.push('"');
                self.enter(State::RawText(hashes), 3 + hashes)
            }
            ['\'', '\\', _, tail @ ..] => {
                // An escaped character: `'\n'`, `'\''`, `'\u{7f}'`.
                let closing = tail.iter().position(|letter| *letter == '\'').unwrap_or(0);
                self.keep_code("''", 4 + closing)
            }
            ['\'', _, '\'', ..] => self.keep_code("''", 3),
            [other, ..] => {
                self.current.code.push(*other);
                1
            }
            [] => 1,
        }
    }

    /// Whether the code so far ends inside a word, so that an `r` is no raw string's beginning.
    fn after_word(&self) -> bool {
        let last = self.current.code.chars().next_back();
        last.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    }

    fn enter(&mut self, state: State, taken: usize) -> usize {
        self.state = state;
        taken
    }

    fn leave_text(&mut self, taken: usize) -> usize {
        self.current.code.push('"');
        self.enter(State::Code, taken)
    }

    fn keep_code(&mut self, code: &str, taken: usize) -> usize {
        self.current.code.push_str(code);
        taken
    }

    fn keep_comment(&mut self, rest: &[char], taken: usize) -> usize {
        self.current.comment.extend(rest.iter().take(taken));
        taken
    }

    fn end_line(&mut self) {
        if matches!(self.state, State::LineComment) {
            self.state = State::Code;
        }
        self.lines.push(std::mem::take(&mut self.current));
    }
}

fn leading_hashes(text: &[char]) -> usize {
    text.iter().take_while(|letter| **letter == '#').count()
}

/// Whether what follows an `r` opens a raw string: `r"`, `r#"`, but not the raw word `r#type`.
fn opens_raw(text: &[char]) -> bool {
    text.get(leading_hashes(text)) == Some(&'"')
}
