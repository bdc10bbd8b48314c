//! Takes out of a program's output what would act on the user's terminal beyond its screen: writing
//! or reading the clipboard, links that are not web addresses, reports that are typed back.
//! Everything else passes byte for byte. Only for output to a terminal: pipes stay untouched.

/// A filter with its place in a sequence that may be split over many writes.
#[derive(Debug, Default)]
pub struct Filter {
    state: State,
    /// The sequence so far, from its first byte.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC, or after the first byte of a two-byte C1 control in UTF-8.
    Introducer,
    /// After `ESC [`: ends with a byte from `@` to `~`.
    Control,
    /// After `ESC ]`, `ESC P`, `ESC _`, `ESC ^` or `ESC X`: ends with BEL or ST.
    String,
    /// In such a string, after an ESC or the first byte of a C1 control.
    StringEnd,
}

impl Filter {
    /// A filter at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends to `passed` what of `bytes` may reach the terminal.
    pub fn pass(&mut self, bytes: &[u8], passed: &mut Vec<u8>) {
        for byte in bytes {
            self.take(*byte, passed);
        }
    }

    fn take(&mut self, byte: u8, passed: &mut Vec<u8>) {
        match self.state {
            State::Text => match byte {
                ESC | C1_LEAD => {
                    self.held.push(byte);
                    self.state = State::Introducer;
                }
                // The terminal would answer with whatever it was told to call itself.
                ENQ => {}
                _ => passed.push(byte),
            },
            State::Introducer => self.take_introducer(byte, passed),
            State::Control => {
                self.held.push(byte);
                match byte {
                    b'@'..=b'~' => self.finish_control(passed),
                    ESC => self.start_again(passed),
                    _ if self.held.len() > LONGEST_CONTROL => self.release(passed),
                    _ => {}
                }
            }
            State::String => self.take_string(byte, passed),
            State::StringEnd => self.take_string_end(byte, passed),
        }
    }

    fn take_introducer(&mut self, byte: u8, passed: &mut Vec<u8>) {
        let escaped = self.held == [ESC];
        self.held.push(byte);
        self.state = match (escaped, byte) {
            (true, b'[') | (false, 0x9b) => State::Control,
            (true, b']' | b'P' | b'_' | b'^' | b'X')
            | (false, 0x9d | 0x90 | 0x9f | 0x9e | 0x98) => State::String,
            (true, ESC) => {
                passed.push(ESC);
                self.held.truncate(1);
                State::Introducer
            }
            _ => return self.release(passed),
        };
    }

    fn take_string(&mut self, byte: u8, passed: &mut Vec<u8>) {
        match byte {
            BEL => {
                self.held.push(byte);
                self.finish_string(passed);
            }
            ESC | C1_LEAD => {
                self.held.push(byte);
                self.state = State::StringEnd;
            }
            // Cancels the sequence on every terminal.
            CAN | SUB => self.forget(),
            _ => self.hold(byte),
        }
    }

    fn take_string_end(&mut self, byte: u8, passed: &mut Vec<u8>) {
        let escaped = self.held.last() == Some(&ESC);
        self.held.push(byte);
        match (escaped, byte) {
            (true, b'\\') | (false, ST) => self.finish_string(passed),
            // Any other escape ends the string on common terminals and begins a new sequence.
            (true, _) => {
                self.held.clear();
                self.held.push(ESC);
                self.state = State::Introducer;
                self.take_introducer(byte, passed);
            }
            (false, _) => self.state = State::String,
        }
    }

    /// A string longer than any honest one is dropped: only its first bytes are kept, which is
    /// enough to know that it must not pass.
    fn hold(&mut self, byte: u8) {
        if self.held.len() < LONGEST_STRING {
            self.held.push(byte);
        }
    }

    fn finish_control(&mut self, passed: &mut Vec<u8>) {
        let body = self.held.strip_prefix(&[ESC, b'[']).unwrap_or_default();
        let reports_title = matches!(body, b"20t" | b"21t");
        if reports_title { self.forget() } else { self.release(passed) }
    }

    fn finish_string(&mut self, passed: &mut Vec<u8>) {
        if self.held.len() >= LONGEST_STRING || !is_harmless(&self.held) {
            self.forget();
        } else {
            self.release(passed);
        }
    }

    fn start_again(&mut self, passed: &mut Vec<u8>) {
        self.held.pop();
        self.release(passed);
        self.held.push(ESC);
        self.state = State::Introducer;
    }

    fn release(&mut self, passed: &mut Vec<u8>) {
        passed.append(&mut self.held);
        self.state = State::Text;
    }

    fn forget(&mut self) {
        self.held.clear();
        self.state = State::Text;
    }
}

/// Whether a complete string sequence may reach the terminal.
fn is_harmless(sequence: &[u8]) -> bool {
    let (introducer, body) = match sequence {
        [ESC, introducer, body @ ..] => (*introducer, body),
        [C1_LEAD, introducer, body @ ..] => (introducer.wrapping_sub(0x40), body),
        _ => return false,
    };
    match introducer {
        b']' => is_harmless_command(body),
        // Settings are reported back, and user keys redefined, through device control strings;
        // colours and pictures come through them as well, with other first letters.
        b'P' => !body.starts_with(b"$q") && !body.starts_with(b"+q") && !body.contains(&b'|'),
        _ => false,
    }
}

/// An operating system command: title, colours, links, marks. Not the clipboard, not files, not
/// notifications, not fonts.
fn is_harmless_command(body: &[u8]) -> bool {
    let number = body.split(|byte| matches!(*byte, b';' | BEL | ESC)).next().unwrap_or_default();
    match number {
        b"8" => is_harmless_link(body),
        b"0" | b"1" | b"2" | b"4" | b"7" | b"10" | b"11" | b"12" | b"17" | b"19" | b"104"
        | b"110" | b"111" | b"112" | b"117" | b"119" | b"133" => true,
        _ => false,
    }
}

fn is_harmless_link(body: &[u8]) -> bool {
    let target = body.splitn(3, |byte| *byte == b';').nth(2).unwrap_or_default();
    let ends = matches!(target.first(), None | Some(&BEL | &ESC | &C1_LEAD));
    ends || target.starts_with(b"https://") || target.starts_with(b"http://")
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const ENQ: u8 = 0x05;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
/// First byte of the C1 controls in UTF-8.
const C1_LEAD: u8 = 0xc2;
/// Second byte of the string terminator among them.
const ST: u8 = 0x9c;
const LONGEST_CONTROL: usize = 256;
const LONGEST_STRING: usize = 4096;

#[cfg(test)]
mod tests;
