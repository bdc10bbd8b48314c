//! Cuts a program's output into pieces: characters, control bytes, complete sequences. Follows a terminal's own parser:
//! a control byte inside a sequence acts at once and leaves it open, and ESC begins a new one wherever it stands.
//! Decides nothing about what it finds, and keeps a bounded part of what has no end.

/// One stream's place in a sequence that may be split over many writes.
#[derive(Debug, Default)]
pub(super) struct Parser {
    state: State,
    /// The character or sequence so far, without ESC.
    held: Vec<u8>,
    /// Whether it is longer than any honest one, and goes on being swallowed to its end.
    is_too_long: bool,
}

/// What a terminal would take as one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// Characters. What is none in UTF-8 has been replaced.
    Text(&'a [u8]),
    /// A control byte.
    Act(u8),
    /// ESC and these.
    Escape(&'a [u8]),
    /// `ESC [` and these.
    Control(&'a [u8]),
    /// An operating system command: `ESC ]`, these and an end.
    Command(&'a [u8], End),
    /// A device control string: `ESC P`, these and `ESC \`.
    Device(&'a [u8]),
}

/// How an operating system command ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Bell,
    StringTerminator,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// In a character of several bytes.
    Character,
    /// After ESC.
    Escape,
    /// After `ESC [`: ends with a byte from `@` to `~`.
    Control,
    /// After what begins a string.
    String(Kind),
    /// In such a string, after ESC.
    StringEscape(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// After `ESC ]`, and the only one that BEL ends as well.
    Command,
    /// After `ESC P`.
    Device,
    /// After what begins strings that nobody needs: they are swallowed.
    Other,
}

impl Parser {
    /// Hands on every piece that `bytes` complete.
    pub(super) fn take(&mut self, bytes: &[u8], hand_on: &mut impl FnMut(Piece<'_>)) {
        let mut rest = bytes;
        while let [byte, after @ ..] = rest {
            let is_plain = |byte: &&u8| matches!(byte, b' '..=b'~');
            let plain = if self.state == State::Text {
                rest.iter().take_while(is_plain).count()
            } else {
                0
            };
            if let Some((text, after)) = rest.split_at_checked(plain)
                && !text.is_empty()
            {
                hand_on(Piece::Text(text));
                rest = after;
            } else {
                self.take_byte(*byte, hand_on);
                rest = after;
            }
        }
    }

    fn take_byte(&mut self, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        match self.state {
            State::Text => self.take_text(byte, hand_on),
            State::Character => self.take_character(byte, hand_on),
            State::String(kind) => self.take_string(kind, byte, hand_on),
            State::StringEscape(kind) => self.take_string_escape(kind, byte, hand_on),
            State::Escape | State::Control => match byte {
                ESC => self.begin(State::Escape),
                CAN | SUB => self.begin(State::Text),
                0..=0x1f | DEL => hand_on(Piece::Act(byte)),
                // No sequence goes on with it, and nothing of this one was shown.
                0x80.. => {
                    self.begin(State::Text);
                    self.take_text(byte, hand_on);
                }
                _ if self.state == State::Escape => self.take_escape(byte, hand_on),
                _ => self.take_control(byte, hand_on),
            },
        }
    }

    fn take_text(&mut self, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        match byte {
            ESC => self.begin(State::Escape),
            0..=0x1f | DEL => hand_on(Piece::Act(byte)),
            b' '..=b'~' => hand_on(Piece::Text(&[byte])),
            0x80.. => {
                self.begin(State::Character);
                self.take_character(byte, hand_on);
            }
        }
    }

    /// A character is handed on whole, so that what stands before a dropped sequence and what stands after it
    /// do not become one.
    fn take_character(&mut self, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        self.held.push(byte);
        match std::str::from_utf8(&self.held) {
            Ok(text) => {
                if !text.chars().all(char::is_control) {
                    hand_on(Piece::Text(&self.held));
                }
                self.begin(State::Text);
            }
            Err(error) if error.error_len().is_none() => {}
            // As terminals show it, so that nothing of it is open there.
            Err(_) => {
                let is_alone = self.held.len() == 1;
                self.begin(State::Text);
                hand_on(Piece::Text("\u{fffd}".as_bytes()));
                if !is_alone {
                    self.take_text(byte, hand_on);
                }
            }
        }
    }

    fn take_escape(&mut self, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        match (self.held.is_empty(), byte) {
            (true, b'[') => self.begin(State::Control),
            (true, b']') => self.begin(State::String(Kind::Command)),
            (true, b'P') => self.begin(State::String(Kind::Device)),
            // The last one is a title, for terminals inside others.
            (true, b'X' | b'^' | b'_' | b'k') => self.begin(State::String(Kind::Other)),
            (_, b' '..=b'/') => self.hold(byte, LONGEST_CONTROL),
            _ => {
                self.hold(byte, LONGEST_CONTROL);
                if !self.is_too_long {
                    hand_on(Piece::Escape(&self.held));
                }
                self.begin(State::Text);
            }
        }
    }

    fn take_control(&mut self, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        self.hold(byte, LONGEST_CONTROL);
        if matches!(byte, b'@'..=b'~') {
            if !self.is_too_long {
                hand_on(Piece::Control(&self.held));
            }
            self.begin(State::Text);
        }
    }

    fn take_string(&mut self, kind: Kind, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        match byte {
            ESC => self.state = State::StringEscape(kind),
            CAN | SUB => self.begin(State::Text),
            BEL if kind == Kind::Command => self.finish(kind, End::Bell, hand_on),
            _ if kind == Kind::Other => {}
            _ => self.hold(byte, LONGEST_STRING),
        }
    }

    fn take_string_escape(&mut self, kind: Kind, byte: u8, hand_on: &mut impl FnMut(Piece<'_>)) {
        if byte == b'\\' {
            return self.finish(kind, End::StringTerminator, hand_on);
        }
        // Any other sequence ends the string unfinished.
        self.begin(State::Escape);
        self.take_byte(byte, hand_on);
    }

    fn finish(&mut self, kind: Kind, end: End, hand_on: &mut impl FnMut(Piece<'_>)) {
        match kind {
            _ if self.is_too_long => {}
            Kind::Command => hand_on(Piece::Command(&self.held, end)),
            Kind::Device => hand_on(Piece::Device(&self.held)),
            Kind::Other => {}
        }
        self.begin(State::Text);
    }

    fn hold(&mut self, byte: u8, longest: usize) {
        if self.held.len() < longest {
            self.held.push(byte);
        } else {
            self.is_too_long = true;
        }
    }

    /// Enters a state in which nothing is held.
    fn begin(&mut self, state: State) {
        self.state = state;
        self.held.clear();
        self.is_too_long = false;
    }
}

impl Piece<'_> {
    /// Writes it as the program did.
    pub(super) fn write(self, written: &mut Vec<u8>) {
        let (begin, body, end): (&[u8], &[u8], &[u8]) = match self {
            Self::Text(body) => (b"", body, b""),
            Self::Act(byte) => return written.push(byte),
            Self::Escape(body) => (b"\x1b", body, b""),
            Self::Control(body) => (b"\x1b[", body, b""),
            Self::Command(body, End::Bell) => (b"\x1b]", body, b"\x07"),
            Self::Command(body, End::StringTerminator) => (b"\x1b]", body, b"\x1b\\"),
            Self::Device(body) => (b"\x1bP", body, b"\x1b\\"),
        };
        for part in [begin, body, end] {
            written.extend_from_slice(part);
        }
    }
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const DEL: u8 = 0x7f;
const LONGEST_CONTROL: usize = 256;
const LONGEST_STRING: usize = 4096;
