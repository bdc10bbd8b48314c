//! Which control sequences (`ESC [ … letter`) pass: those on this list, with parameters that every terminal reads alike. Not
//! printing, resizing or moving the window, locking the keyboard, drawing elsewhere than on the screen, or questions whose answer
//! holds what the program or the screen says.

use super::Answers;
use super::changes::{Change, Changes, Mode, private_mode, standard_mode};

/// A control sequence taken apart.
struct Control<'a> {
    /// One of `<=>?`, which makes it another sequence.
    prefix: Option<u8>,
    parameters: &'a [u8],
    /// One byte from space to `/`, which makes it another one too.
    intermediate: Option<u8>,
    last: u8,
}

/// Whether `ESC [` and these may reach the terminal.
pub(super) fn passes(body: &[u8], changes: &mut Changes, answers: Answers) -> bool {
    let Some(control) = Control::parse(body) else { return false };
    match (control.prefix, control.intermediate) {
        (None, None) => control.is_standard(changes, answers),
        (None, Some(intermediate)) => control.is_extended(intermediate, changes, answers),
        (Some(prefix), None) => control.is_private(prefix, changes, answers),
        // Asks whether a mode is set.
        (Some(b'?'), Some(b'$')) => control.last == b'p' && answers == Answers::ToProgram,
        (Some(_), Some(_)) => false,
    }
}

impl<'a> Control<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        let (last, rest) = body.split_last()?;
        let (prefix, rest) = match rest.split_first() {
            Some((prefix @ b'<'..=b'?', rest)) => (Some(*prefix), rest),
            _ => (None, rest),
        };
        let (intermediate, parameters) = match rest.split_last() {
            Some((byte @ b' '..=b'/', parameters)) => (Some(*byte), parameters),
            _ => (None, rest),
        };
        let are_plain = parameters.iter().all(|byte| matches!(byte, b'0'..=b';'));
        let control = Self { prefix, parameters, intermediate, last: *last };
        // More than these are read differently, or not at all, by some terminals.
        let are_few = control.numbers().count() <= MOST_PARAMETERS
            && parameters.split(|byte| matches!(byte, b':' | b';')).count() <= MOST_PARTS;
        (are_plain && are_few).then_some(control)
    }

    /// One number for each parameter; none for one that has several, or is too large.
    fn numbers(&self) -> impl Iterator<Item = Option<u32>> {
        self.parameters.split(|byte| *byte == b';').map(|digits| match digits {
            [] => Some(0),
            digits => std::str::from_utf8(digits).ok()?.parse().ok(),
        })
    }

    /// The numbers, if there are no more than so many.
    fn few<const COUNT: usize>(&self) -> Option<[u32; COUNT]> {
        let mut found = [0; COUNT];
        let mut places = found.iter_mut();
        for number in self.numbers() {
            *places.next()? = number?;
        }
        Some(found)
    }

    fn is_standard(&self, changes: &mut Changes, answers: Answers) -> bool {
        match self.last {
            // Moving the cursor, lines, and characters that are written again.
            b'@'..=b'I'
            | b'L'
            | b'M'
            | b'P'
            | b'S'
            | b'T'
            | b'X'
            | b'Z'
            | b'`'..=b'b'
            | b'd'..=b'f' => {
                changes.make(Change::Cursor);
                self.few::<2>().is_some()
            }
            // Erasing, and tabulators.
            b'J' | b'K' | b'g' => self.few::<1>().is_some(),
            b'h' => self.switches(true, standard_mode, changes),
            b'l' => self.switches(false, standard_mode, changes),
            b'm' => {
                self.note_attributes(changes);
                true
            }
            b'r' => {
                changes.set(Change::ScrollRegion, !self.parameters.is_empty());
                changes.make(Change::Cursor);
                self.few::<2>().is_some()
            }
            // Margins at the sides, where these are switched on, and else the cursor.
            b's' => {
                changes.save_cursor();
                self.few::<2>().is_some()
            }
            b'u' => {
                changes.restore_cursor();
                self.parameters.is_empty()
            }
            b't' => self.is_about_window(changes, answers),
            // What the terminal is, that it is there, where the cursor is.
            b'c' => self.few() == Some([0]) && answers == Answers::ToProgram,
            b'n' => matches!(self.few(), Some([5 | 6])) && answers == Answers::ToProgram,
            _ => false,
        }
    }

    /// A sequence that only resets is read so by every terminal. A font, which is another character set on the Linux
    /// console, is not reset with the rest.
    fn note_attributes(&self, changes: &mut Changes) {
        changes.set(Change::Attributes, !matches!(self.few(), Some([0, 0 | 10])));
        let mut numbers = self.numbers();
        while let Some(number) = numbers.next() {
            match number {
                Some(10) => changes.unmake(Change::Font),
                Some(11..=19) => changes.make(Change::Font),
                // A colour's own numbers follow.
                Some(38 | 48 | 58) => match numbers.next().flatten() {
                    Some(5) => drop(numbers.next()),
                    Some(2) => drop(numbers.nth(2)),
                    _ => changes.make(Change::Font),
                },
                _ => {}
            }
        }
    }

    /// Sizes of the window, and the stack of its titles.
    fn is_about_window(&self, changes: &mut Changes, answers: Answers) -> bool {
        match self.few() {
            Some([22, 0..=2, 0]) => changes.push_title(),
            Some([23, 0..=2, 0]) => changes.pop_title(),
            Some([11 | 13..=16 | 18 | 19, _, 0]) => answers == Answers::ToProgram,
            _ => false,
        }
    }

    fn is_extended(&self, intermediate: u8, changes: &mut Changes, answers: Answers) -> bool {
        match (intermediate, self.last) {
            (b' ', b'q') => match self.few() {
                Some([style]) => {
                    changes.set(Change::CursorStyle, style != 0);
                    true
                }
                None => false,
            },
            // Rectangles: filled, erased, copied, in other attributes. Columns.
            (b'$', b'r' | b't' | b'v' | b'x' | b'z' | b'{') | (b'\'', b'}' | b'~') => {
                changes.make(Change::Cursor);
                true
            }
            // The soft reset, which leaves some terminals without wrapping.
            (b'!', b'p') => {
                changes.make(Change::NoWrap);
                self.parameters.is_empty()
            }
            // Asks whether a mode is set.
            (b'$', b'p') => answers == Answers::ToProgram,
            _ => false,
        }
    }

    fn is_private(&self, prefix: u8, changes: &mut Changes, answers: Answers) -> bool {
        match (prefix, self.last) {
            (b'?', b'h') => self.switches(true, private_mode, changes),
            (b'?', b'l') => self.switches(false, private_mode, changes),
            (b'?', b'J' | b'K') => self.few::<1>().is_some(),
            // The cursor of the Linux console.
            (b'?', b'c') => match self.few() {
                Some([first, _, _]) if !self.parameters.is_empty() => {
                    changes.set(Change::ConsoleCursor, first != 0);
                    true
                }
                _ => false,
            },
            // Where the cursor is, and whether the colours are dark.
            (b'?', b'n') => matches!(self.few(), Some([6 | 996])) && answers == Answers::ToProgram,
            // What the terminal is, its name and version, what its keys send.
            (b'>', b'c' | b'q') => self.few() == Some([0]) && answers == Answers::ToProgram,
            (b'?', b'm') => self.few() == Some([4]) && answers == Answers::ToProgram,
            (b'?', b'u') => self.parameters.is_empty() && answers == Answers::ToProgram,
            // What keys send.
            (b'>', b'm') => match self.few() {
                Some([4, value]) => {
                    changes.set(Change::OtherKeys, value != 0);
                    true
                }
                _ => false,
            },
            (b'>', b'u') => self.few::<1>().is_some() && changes.push_keyboard(),
            (b'<', b'u') => match self.few() {
                Some([count]) => changes.pop_keyboards(count.max(1)),
                None => false,
            },
            (b'=', b'u') => {
                changes.make(Change::KeyboardFlags);
                self.few::<2>().is_some()
            }
            _ => false,
        }
    }

    /// Whether all modes are known. Notes what they change.
    fn switches(&self, on: bool, mode: fn(u32) -> Option<Mode>, changes: &mut Changes) -> bool {
        let modes: Option<Vec<(u32, Mode)>> =
            self.numbers().map(|number| Some((number?, mode(number?)?))).collect();
        let Some(modes) = modes else { return false };
        if on && modes.iter().any(|(_, mode)| *mode == Mode::OffOnly) {
            return false;
        }
        for (number, mode) in modes {
            // Those that save the cursor when they are set, and put it back when they are reset.
            match (number, on) {
                (1048 | 1049, true) => changes.save_cursor(),
                (1048 | 1049, false) => changes.restore_cursor(),
                _ => {}
            }
            match mode {
                Mode::Off(change) => changes.set(change, on),
                Mode::On(change) => changes.set(change, !on),
                Mode::OffOnly | Mode::Free => {}
            }
        }
        true
    }
}

/// As many as every terminal takes.
const MOST_PARAMETERS: usize = 16;
const MOST_PARTS: usize = 32;
