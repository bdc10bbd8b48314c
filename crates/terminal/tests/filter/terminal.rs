//! A terminal that notes what it was told to do. The parser is that of Alacritty; what a sequence means is written down
//! here from the manuals of terminals, apart from the filter's own lists. Shared with the fuzz target.

use std::collections::BTreeSet;

use vte::{Params, Parser, Perform};

/// A terminal as its user sees it.
#[derive(Default)]
pub(crate) struct Terminal {
    parser: Parser,
    pub(crate) screen: Screen,
}

/// What a terminal was told.
#[derive(Default)]
pub(crate) struct Screen {
    /// Everything that was shown, in whichever state.
    pub(crate) shown: String,
    /// What no program may have it do.
    pub(crate) forbidden: Vec<String>,
    /// What makes it type an answer.
    pub(crate) asked: Vec<String>,
    pub(crate) state: State,
    /// What the cursor of each screen was saved with.
    saved: [Pen; 2],
    /// Whether both screens save their cursor in one place, as some do.
    pub(crate) has_one_place: bool,
}

/// How a terminal is set up. The default is what a shell expects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) pen: Pen,
    /// Private modes that are not as they normally are.
    pub(crate) modes: BTreeSet<u16>,
    pub(crate) insert: bool,
    pub(crate) dim_cursor: bool,
    pub(crate) console_cursor: bool,
    pub(crate) cursor_style: bool,
    pub(crate) region: bool,
    pub(crate) keypad: bool,
    pub(crate) frame: bool,
    pub(crate) link: bool,
    pub(crate) other_keys: bool,
    pub(crate) keyboard_flags: bool,
    pub(crate) keyboards: u32,
    pub(crate) titles: u32,
    pub(crate) colours: BTreeSet<Vec<u8>>,
}

/// What a terminal saves with its cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pen {
    pub(crate) attributes: bool,
    pub(crate) font: bool,
    pub(crate) drawing: bool,
    pub(crate) shifted: bool,
}

impl Terminal {
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.screen, bytes);
    }

    /// Whether words that come now are shown as they are. Takes a character that programs do not write.
    pub(crate) fn shows_what_comes(&mut self) -> bool {
        let before = self.screen.shown.len();
        self.take("\u{e000}".as_bytes());
        self.screen.shown.get(before..) == Some("\u{e000}")
    }
}

impl Screen {
    fn forbid(&mut self, what: String) {
        self.forbidden.push(what);
    }

    fn place(&mut self) -> &mut Pen {
        let is_alternate = [47, 1047, 1049].iter().any(|mode| self.state.modes.contains(mode));
        let [main, alternate] = &mut self.saved;
        if is_alternate && !self.has_one_place { alternate } else { main }
    }

    fn save(&mut self) {
        *self.place() = self.state.pen;
    }

    fn restore(&mut self) {
        self.state.pen = *self.place();
    }

    fn switch(&mut self, mode: u16, on: bool) {
        match (mode, on) {
            // Other emulations, other widths, other windows, files, the status line, locked until somebody answers.
            (2, false) | (3 | 6 | 38 | 40 | 42 | 46 | 1001, true) => {
                self.forbid(format!("private mode {mode} {on}"));
            }
            (1048, true) => self.save(),
            (1048, false) => self.restore(),
            (1049, true) => {
                self.save();
                self.state.modes.insert(mode);
            }
            (1049, false) => {
                self.state.modes.remove(&mode);
                self.restore();
            }
            // No harm is known either way.
            (3 | 4 | 6 | 12 | 1001 | 1007 | 1034 | 1036, _) => {}
            (7 | 8 | 25, on) | (_, on) => {
                let is_normal = on == matches!(mode, 7 | 8 | 25);
                if is_normal {
                    self.state.modes.remove(&mode);
                } else {
                    self.state.modes.insert(mode);
                }
            }
        }
    }

    fn draw_with(&mut self, params: &Params) {
        let mut numbers = params.iter();
        while let Some(number) = numbers.next() {
            match number {
                [0] => self.state.pen.attributes = false,
                [10] => self.state.pen.font = false,
                [11..=19] => self.state.pen.font = true,
                [38 | 48 | 58] => {
                    self.state.pen.attributes = true;
                    match numbers.next() {
                        Some([5]) => drop(numbers.next()),
                        Some([2]) => drop(numbers.nth(2)),
                        _ => {}
                    }
                }
                _ => self.state.pen.attributes = true,
            }
        }
    }
}

impl Perform for Screen {
    fn print(&mut self, shown: char) {
        if matches!(shown, '\u{80}'..='\u{9f}') {
            self.forbid(format!("the control {shown:?}"));
        }
        self.shown.push(shown);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            0x0e => self.state.pen.shifted = true,
            0x0f => self.state.pen.shifted = false,
            0 | 7..=0x0d | 0x7f => {}
            byte => self.forbid(format!("the control byte {byte:#x}")),
        }
    }

    fn hook(&mut self, params: &Params, intermediates: &[u8], _: bool, action: char) {
        let first = params.iter().next().and_then(|one| one.first()).copied();
        match (intermediates, action, first) {
            ([], 'q', _) => {}
            ([b'='], 's', Some(1)) => self.state.frame = true,
            ([b'='], 's', Some(2)) => self.state.frame = false,
            _ => self.forbid(format!("device control {intermediates:?} {action}")),
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        let shown = || params.iter().map(|one| one.escape_ascii().to_string()).collect::<Vec<_>>();
        // A title, a mark or a link with a question mark in it asks nothing.
        let is_text = matches!(params, [b"0" | b"1" | b"2" | b"8" | b"133", ..]);
        if !is_text && params.iter().skip(1).any(|one| *one == b"?") {
            self.asked.push(format!("command {:?}", shown()));
        }
        match params {
            [b"0" | b"1" | b"2" | b"133", ..] => {}
            [b"8", _, target @ ..] => {
                let target = target.join(&b';');
                self.state.link = !target.is_empty();
                let is_web = target.starts_with(b"http://") || target.starts_with(b"https://");
                if self.state.link && !is_web {
                    self.forbid(format!("the link {:?}", shown()));
                }
            }
            [b"104"] => drop(self.state.colours.remove(&b"4"[..])),
            [b"104", ..] => {}
            [b"110" | b"111" | b"112" | b"117" | b"119"] => {
                let of = params.first().and_then(|one| one.get(1..)).unwrap_or_default();
                self.state.colours.remove(of);
            }
            [b"10" | b"11" | b"12" | b"17" | b"19", b"?"] => {}
            [number @ (b"4" | b"10" | b"11" | b"12" | b"17" | b"19"), first, rest @ ..] => {
                if *number != b"4" && !rest.is_empty() {
                    self.forbid(format!("more colours than one, {:?}", shown()));
                }
                let _also_a_question = first;
                self.state.colours.insert(number.to_vec());
            }
            _ => self.forbid(format!("command {:?}", shown())),
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, last: char) {
        let numbers: Vec<u16> =
            params.iter().map(|one| one.first().copied().unwrap_or_default()).collect();
        let first = numbers.first().copied().unwrap_or_default();
        let what = || {
            format!(
                "control sequence {:?} {numbers:?} {last}",
                intermediates.escape_ascii().to_string()
            )
        };
        if ignore {
            return self.forbid(what());
        }
        let asks = matches!(
            (intermediates, last),
            ([] | [b'>'] | [b'='], 'c')
                | ([] | [b'?'], 'n')
                | ([b'$'] | [b'?', b'$'], 'p')
                | ([b'>'], 'q')
                | ([b'?'], 'u' | 'm')
        ) || matches!((intermediates, last, first), ([], 't', 11 | 13..=21));
        if asks {
            self.asked.push(what());
        }
        match (intermediates, last) {
            // Printing; checksums of the screen; what the terminal is set to; macros; tests; the status line; other levels.
            (
                _,
                'i' | 'y' | 'w' | '|' | ']' | '\\' | '^' | '_' | 'j' | 'k' | 'o' | 'v' | 'x' | '~'
                | '}' | '{',
            ) if !matches!(
                (intermediates, last),
                ([b'$'], 'v' | 'x' | '{') | ([b'\''], '}' | '~')
            ) =>
            {
                self.forbid(what());
            }
            ([], 't') if !matches!(first, 11 | 13..=16 | 18 | 19 | 22 | 23) => self.forbid(what()),
            ([], 't') if first == 22 => self.state.titles += 1,
            ([], 't') if first == 23 => match self.state.titles.checked_sub(1) {
                Some(left) => self.state.titles = left,
                None => self.forbid("a title that is not the program's".to_owned()),
            },
            ([], 't') | ([b'$'], 't') => {}
            (_, 't') => self.forbid(what()),
            ([], 'T') if numbers.len() > 2 => self.forbid(what()),
            ([b'?'], 's' | 'r' | 'i' | 'S') | ([b'$' | b'&' | b' '], 'u') | ([], 'q') => {
                self.forbid(what())
            }
            ([b'"' | b'+' | b'#' | b'>'], 'p') | ([b'"' | b'*'], 'q') | ([b'*'], _) => {
                self.forbid(what())
            }
            ([b'?'], 'n') if !matches!(first, 6 | 996) => self.forbid(what()),
            ([b'?'], 'h' | 'l') => {
                for mode in numbers {
                    self.switch(mode, last == 'h');
                }
            }
            ([], 'h' | 'l') => {
                for mode in &numbers {
                    match (mode, last) {
                        (2 | 20, 'h') | (12, 'l') => self.forbid(what()),
                        (4, last) => self.state.insert = last == 'h',
                        (34, last) => self.state.dim_cursor = last == 'l',
                        _ => {}
                    }
                }
            }
            ([], 'm') => self.draw_with(params),
            ([b'>'], 'm') => {
                self.state.other_keys = numbers.get(1).is_some_and(|value| *value != 0)
            }
            ([b'?'], 'c') => self.state.console_cursor = first != 0,
            ([b' '], 'q') => self.state.cursor_style = first != 0,
            ([], 'r') => self.state.region = numbers != [0],
            ([], 's') => self.save(),
            ([], 'u') => self.restore(),
            ([b'>'], 'u') => self.state.keyboards += 1,
            ([b'<'], 'u') => {
                let count = u32::from(first.max(1));
                self.state.keyboards = self.state.keyboards.saturating_sub(count);
            }
            ([b'='], 'u') => self.state.keyboard_flags = first != 0,
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        match (intermediates, byte) {
            _ if ignore => self.forbid("an escape sequence that is too long".to_owned()),
            ([], b'7') => self.save(),
            ([], b'8') => self.restore(),
            ([], b'=') => self.state.keypad = true,
            ([], b'>') => self.state.keypad = false,
            ([b'('], b'0') => self.state.pen.drawing = true,
            ([b'('], b'B') => self.state.pen.drawing = false,
            // The end of a string.
            ([], b'\\') => {}
            ([], b'D' | b'E' | b'H' | b'M' | b'c')
            | ([b'#'], b'8')
            | ([b'%'], b'G')
            | ([b')' | b'*' | b'+'], b'0' | b'B') => {}
            _ => {
                self.forbid(format!("escape sequence {:?} {}", intermediates, byte.escape_ascii()))
            }
        }
    }
}
