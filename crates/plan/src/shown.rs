//! Text from a policy file, a path or a program as a person sees it: nothing in it can move the
//! cursor, change the order of letters or hide. Never used for what a machine reads.

use std::fmt;

/// Wraps text whose `Display` is safe to print: control characters, characters that change the
/// direction of text and invisible ones are written as `\u{…}`, a backslash as itself.
#[derive(Clone, Copy)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if misleads(character) {
                write!(formatter, "{}", character.escape_unicode())?;
            } else {
                fmt::Write::write_char(formatter, character)?;
            }
        }
        Ok(())
    }
}

/// The safe form of anything that prints, such as a path.
pub fn shown(value: impl fmt::Display) -> String {
    Shown(&value.to_string()).to_string()
}

/// The safe form of a path for a sentence that only has to be recognised: the middle of a very long
/// one is left out. Not for what a person may want to copy, such as a flag.
pub fn shortened(path: impl fmt::Display) -> String {
    let whole = shown(path);
    let length = whole.chars().count();
    if length <= LONGEST_PATH {
        return whole;
    }
    let first: String = whole.chars().take(KEPT_FIRST).collect();
    let kept_last = LONGEST_PATH - KEPT_FIRST - 1;
    let last: String = whole.chars().skip(length - kept_last).collect();
    format!("{first}…{last}")
}

/// Whether a character can make text look like something that it is not.
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Soft hyphen, Arabic letter mark, Mongolian vowel separator.
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero-width characters, marks of direction, line and paragraph separators,
            // embeddings and overrides, invisible operators, isolates.
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            // Byte order mark, interlinear annotations, tags.
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
        )
}

/// Two lines of a terminal, in characters.
const LONGEST_PATH: usize = 160;

/// The end of a path tells more than its beginning.
const KEPT_FIRST: usize = 60;

#[cfg(test)]
mod tests;
