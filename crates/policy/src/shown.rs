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

#[cfg(test)]
mod tests;
