//! Takes out of a program's output what would act on the user's terminal beyond its screen: writing
//! or reading the clipboard, links that are not web addresses, reports that are typed back.
//! Everything else passes byte for byte. Only for output to a terminal: pipes stay untouched.

use walls::Wall;

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
    /// After ESC.
    Escape,
    /// After the first byte of a C1 control in UTF-8.
    Lead,
    /// After `ESC %`, which changes how the terminal reads bytes.
    Coding,
    /// After `ESC [`: ends with a byte from `@` to `~`.
    Control,
    /// After `ESC ]`, `ESC P`, `ESC _`, `ESC ^` or `ESC X`: ends with BEL or ST.
    String,
    /// In such a string, after ESC.
    StringEscape,
    /// In such a string, after the first byte of a C1 control.
    StringLead,
}

impl Filter {
    /// A filter at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends to `passed` what of `bytes` may reach the terminal.
    pub fn pass(&mut self, bytes: &[u8], passed: &mut Vec<u8>) {
        if !walls::stands(Wall::TerminalFilter) {
            return passed.extend_from_slice(bytes);
        }
        for byte in bytes {
            self.take(*byte, passed);
        }
    }

    /// Follows a terminal's own parser: a control byte inside a sequence acts at once and leaves
    /// the sequence open, and ESC or a C1 control begins a new one wherever it stands.
    fn take(&mut self, byte: u8, passed: &mut Vec<u8>) {
        match (self.state, byte) {
            // The terminal would answer with whatever it was told to call itself.
            (State::Text | State::Escape | State::Coding | State::Lead | State::Control, ENQ) => {}
            (State::Text, ESC | C1_LEAD) => self.begin(byte),
            (State::Text, _) => passed.push(byte),
            (State::String, _) => self.take_string(byte, passed),
            (State::StringEscape, _) => self.take_string_escape(byte, passed),
            (State::StringLead, _) => self.take_string_lead(byte, passed),
            (_, ESC | C1_LEAD) => {
                self.release(passed);
                self.begin(byte);
            }
            (State::Lead, _) => self.take_lead(byte, passed),
            (State::Escape | State::Coding | State::Control, CAN | SUB) => self.forget(),
            (State::Escape | State::Coding | State::Control, 0..=0x1f | DEL) => passed.push(byte),
            (State::Escape, _) => self.take_escape(byte, passed),
            // One that does not read UTF-8 takes single bytes for controls, which are not looked for.
            (State::Coding, b'@') => self.forget(),
            (State::Coding, _) => {
                self.held.push(byte);
                self.release(passed);
            }
            (State::Control, _) => {
                self.held.push(byte);
                match byte {
                    b'@'..=b'~' => self.finish_control(passed),
                    _ if self.held.len() > LONGEST_CONTROL => self.release(passed),
                    _ => {}
                }
            }
        }
    }

    fn begin(&mut self, byte: u8) {
        self.held.clear();
        self.held.push(byte);
        self.state = if byte == ESC { State::Escape } else { State::Lead };
    }

    fn take_escape(&mut self, byte: u8, passed: &mut Vec<u8>) {
        self.held.push(byte);
        match byte {
            b'[' => self.state = State::Control,
            b'%' => self.state = State::Coding,
            b']' | b'P' | b'_' | b'^' | b'X' => self.state = State::String,
            _ => self.release(passed),
        }
    }

    fn take_lead(&mut self, byte: u8, passed: &mut Vec<u8>) {
        if is_c1_introducer(byte) {
            self.held.push(byte);
            self.state = if byte == C1_CONTROL { State::Control } else { State::String };
            return;
        }
        // Not a control: an ordinary character, or the rest of broken text.
        self.release(passed);
        passed.push(byte);
    }

    fn take_string(&mut self, byte: u8, passed: &mut Vec<u8>) {
        match byte {
            BEL => {
                self.hold(byte);
                self.finish_string(passed);
            }
            ESC => self.state = State::StringEscape,
            C1_LEAD => self.state = State::StringLead,
            // Cancels the sequence on every terminal.
            CAN | SUB => self.forget(),
            _ => self.hold(byte),
        }
    }

    fn take_string_escape(&mut self, byte: u8, passed: &mut Vec<u8>) {
        if byte == b'\\' {
            self.hold(ESC);
            self.hold(byte);
            self.finish_string(passed);
            return;
        }
        // Any other escape ends the string unfinished and begins a new sequence.
        self.begin(ESC);
        self.take(byte, passed);
    }

    fn take_string_lead(&mut self, byte: u8, passed: &mut Vec<u8>) {
        match byte {
            ST => {
                self.hold(C1_LEAD);
                self.hold(byte);
                self.finish_string(passed);
            }
            byte if is_c1_introducer(byte) => {
                self.begin(C1_LEAD);
                self.take_lead(byte, passed);
            }
            // A character of the string; the byte may itself end it.
            byte => {
                self.hold(C1_LEAD);
                self.state = State::String;
                self.take_string(byte, passed);
            }
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
        let body = self.held.get(2..).unwrap_or_default();
        if is_harmless_control(body) { self.release(passed) } else { self.forget() }
    }

    fn finish_string(&mut self, passed: &mut Vec<u8>) {
        if self.held.len() >= LONGEST_STRING || !is_harmless(&self.held) {
            self.forget();
        } else {
            self.release(passed);
        }
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

/// Whether the second byte of a C1 control in UTF-8 begins a sequence.
fn is_c1_introducer(byte: u8) -> bool {
    matches!(byte, C1_CONTROL | 0x90 | 0x98 | 0x9d | 0x9e | 0x9f)
}

/// Whether a complete control sequence, without its introducer, may reach the terminal. Not printing,
/// not moving, resizing or hiding the window, not typing its title back.
fn is_harmless_control(body: &[u8]) -> bool {
    match body.split_last() {
        Some((b'i', _)) => false,
        Some((b't', parameters)) => {
            // With a byte of that kind it is another sequence, which draws.
            let draws = parameters.last().is_some_and(|byte| matches!(byte, b' '..=b'/'));
            // Sizes of the window, and the stack of its titles.
            draws || matches!(first_number(parameters), Some(11 | 13..=19 | 22 | 23))
        }
        _ => true,
    }
}

/// The number at the start of a sequence's parameters, however it is written.
fn first_number(parameters: &[u8]) -> Option<u32> {
    let digits = parameters.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(None, |number, digit| {
        let number = number.unwrap_or(0_u32).saturating_mul(10);
        Some(number.saturating_add(u32::from(digit.wrapping_sub(b'0'))))
    })
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
        b'P' => is_harmless_device_control(body),
        _ => false,
    }
}

/// A device control string: a picture, or the frame around what is to be drawn at once. Not settings that
/// are reported back, keys and macros that are defined, or commands of a terminal's own, which can
/// start programs.
fn is_harmless_device_control(body: &[u8]) -> bool {
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let parameters = body.iter().take_while(|byte| is_parameter(byte)).count();
    let is_picture = body.get(parameters) == Some(&b'q');
    let is_frame = matches!(body, [b'=', b'1' | b'2', b's', BEL | ESC | C1_LEAD, ..]);
    is_picture || is_frame
}

/// An operating system command: title, colours, links, marks. Not the clipboard, not files, not
/// notifications, not fonts, not the directory in which the next window's shell starts.
fn is_harmless_command(body: &[u8]) -> bool {
    let number = body.split(|byte| matches!(*byte, b';' | BEL | ESC)).next().unwrap_or_default();
    match number {
        b"8" => is_harmless_link(body),
        b"0" | b"1" | b"2" | b"4" | b"10" | b"11" | b"12" | b"17" | b"19" | b"104" | b"110"
        | b"111" | b"112" | b"117" | b"119" | b"133" => true,
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
const DEL: u8 = 0x7f;
/// First byte of the C1 controls in UTF-8.
const C1_LEAD: u8 = 0xc2;
/// Second byte of the control sequence introducer among them.
const C1_CONTROL: u8 = 0x9b;
/// Second byte of the string terminator among them.
const ST: u8 = 0x9c;
const LONGEST_CONTROL: usize = 256;
const LONGEST_STRING: usize = 4096;

#[cfg(test)]
mod tests;
