//! The words of a text. Whether a slash divides or begins an expression is for whoever reads them: here it is a slash.

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether a line ended between it and the one before.
    pub(super) is_on_new_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// `#name`
    Private,
    Number,
    Text,
    Punctuation,
    /// The end of the text, or something that no text has.
    End,
}

impl Token {
    pub(super) const NOTHING: Self =
        Self { kind: Kind::End, start: 0, end: 0, is_on_new_line: false };

    pub(super) fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The first one, behind a line that names an interpreter.
pub(super) fn first(text: &str) -> Token {
    let start = match text.strip_prefix("#!") {
        Some(rest) => 2 + rest.find('\n').unwrap_or(rest.len()),
        None => 0,
    };
    next(text, start)
}

/// The one that begins here, or behind the blanks and comments that are here.
pub(super) fn next(text: &str, from: usize) -> Token {
    let (start, is_on_new_line) = skip_blanks(text, from);
    let token = |kind, length: usize| Token { kind, start, end: start + length, is_on_new_line };
    let rest = text.get(start..).unwrap_or_default();
    let Some(first) = rest.chars().next() else { return token(Kind::End, 0) };
    match first {
        '"' | '\'' => token(Kind::Text, length_of_text(rest, first)),
        '#' => token(Kind::Private, 1 + length_of_word(rest.get(1..).unwrap_or_default())),
        '0'..='9' => token(Kind::Number, length_of_number(rest)),
        '.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
            token(Kind::Number, length_of_number(rest))
        }
        _ if is_of_word(first) || first == '\\' => token(Kind::Word, length_of_word(rest)),
        _ => token(Kind::Punctuation, length_of_punctuation(rest, first)),
    }
}

fn skip_blanks(text: &str, from: usize) -> (usize, bool) {
    let mut at = from;
    let mut lines = false;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let line_end = |rest: &str| rest.find(ENDS_OF_LINES).unwrap_or(rest.len());
        if rest.starts_with("//") {
            at += line_end(rest);
        } else if rest.starts_with("/*") {
            let length = rest.get(2..).and_then(|inner| inner.find("*/"));
            let length = length.map_or(rest.len(), |length| length + 4);
            lines |= rest.get(..length).is_some_and(|comment| comment.contains(ENDS_OF_LINES));
            at += length;
        } else {
            match rest.chars().next() {
                Some(char) if ENDS_OF_LINES.contains(&char) => {
                    (at, lines) = (at + char.len_utf8(), true);
                }
                Some(char) if char.is_whitespace() || char == '\u{feff}' => at += char.len_utf8(),
                _ => return (at, lines),
            }
        }
    }
}

fn length_of_text(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if char == quote => return at + 1,
            // It was not closed. Whoever compiles it says so.
            '\n' | '\r' => return at,
            _ => {}
        }
    }
    rest.len()
}

fn length_of_word(rest: &str) -> usize {
    rest.find(|char| !is_of_word(char) && char != '\\').unwrap_or(rest.len())
}

const fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '$' || char == '_'
}

fn is_of_word(char: char) -> bool {
    is_plain(char) || (!char.is_ascii() && !char.is_whitespace() && !matches!(char, '\u{feff}'))
}

fn length_of_number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_decimal = !matches!(bytes.get(1), Some(b'x' | b'X' | b'o' | b'O' | b'b' | b'B'));
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let is_sign =
            matches!(byte, b'+' | b'-') && is_decimal && matches!(before, Some(b'e' | b'E'));
        let is_point =
            *byte == b'.' && is_decimal && !bytes.get(..at).unwrap_or_default().contains(&b'.');
        if !(byte.is_ascii_alphanumeric() || *byte == b'_' || is_sign || is_point) {
            break;
        }
        at += 1;
    }
    at
}

fn length_of_punctuation(rest: &str, first: char) -> usize {
    let is_here = |operator: &&&str| rest.starts_with(**operator);
    match OPERATORS.iter().find(is_here) {
        // `a?.5:b`
        Some(&"?.") if rest.as_bytes().get(2).is_some_and(u8::is_ascii_digit) => 1,
        Some(operator) => operator.len(),
        None => first.len_utf8(),
    }
}

/// Where an expression between slashes ends, its flags included.
pub(super) fn end_of_pattern(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let (mut is_escaped, mut is_in_class) = (false, false);
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            _ if ENDS_OF_LINES.contains(&char) => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '/' if !is_in_class => {
                return Some(start + at + 1 + length_of_word(rest.get(at + 1..)?));
            }
            _ => {}
        }
    }
    None
}

/// Where the text of a template ends that goes on here: behind its last quote, or behind `${`.
pub(super) fn end_of_template_text(text: &str, start: usize) -> Option<(usize, TemplateEnd)> {
    let rest = text.get(start..)?;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match (char, chars.peek()) {
            ('\\', _) => drop(chars.next()),
            ('`', _) => return Some((start + at + 1, TemplateEnd::Quote)),
            ('$', Some((_, '{'))) => return Some((start + at + 2, TemplateEnd::Value)),
            _ => {}
        }
    }
    None
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateEnd {
    Quote,
    Value,
}

const ENDS_OF_LINES: &[char] = &['\n', '\r', '\u{2028}', '\u{2029}'];
/// Longer ones first. Those that begin with `>` are put together by whoever knows that no list of types ends there.
const OPERATORS: &[&str] = &[
    "...", "===", "!==", "**=", "<<=", "&&=", "||=", "??=", "=>", "==", "!=", "**", "++", "--",
    "<<", "<=", "&&", "||", "??", "?.", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
];
