//! Questions to the person at the terminal, one line each. No answer is never taken for a yes.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios};

/// Whether somebody can be asked.
pub fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Says something to the person who is asked.
pub fn say(text: &str) {
    // Nobody is left to be told.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Asks; none at the end of standard input.
pub fn ask(question: &str) -> Option<String> {
    let mut prompt = std::io::stderr().lock();
    prompt.write_all(question.as_bytes()).and_then(|()| prompt.flush()).ok()?;
    let mut answer = Vec::new();
    let read = std::io::stdin().lock().take_line(&mut answer)?;
    (read > 0).then(|| String::from_utf8_lossy(&answer).trim().to_lowercase())
}

/// Asks at the terminal whether to go on; anything but yes is no.
pub fn confirms(question: &str) -> bool {
    forget_what_was_typed();
    matches!(ask(&format!("{question} [y/N] ")).as_deref(), Some("y" | "yes"))
}

/// Reads a line in which Ctrl-C is a character, and ends it: whoever asks is not ended by it. What was typed before is
/// not an answer. None at the end of input and for Ctrl-C.
pub fn ask_uninterrupted(question: &str) -> Option<String> {
    let _modes = Uninterrupted::begin()?;
    forget_what_was_typed();
    let answer = ask(question)?;
    let interrupted = answer.contains(char::from(INTERRUPT));
    if interrupted {
        let _ = std::io::stderr().lock().write_all(b"\n");
    }
    (!interrupted).then_some(answer)
}

/// Keys that were pressed for something else are no answer.
fn forget_what_was_typed() {
    // A terminal that cannot do it is asked all the same: the question stands on it.
    let _flushed = rustix::termios::tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
}

/// The terminal's modes as they were, to be given back.
struct Uninterrupted(Termios);

impl Uninterrupted {
    fn begin() -> Option<Self> {
        let before = rustix::termios::tcgetattr(rustix::stdio::stdin()).ok()?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ISIG);
        modes.local_modes.insert(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        let set = rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes);
        set.ok().map(|()| Self(before))
    }
}

impl Drop for Uninterrupted {
    fn drop(&mut self) {
        let Self(before) = self;
        let _restored =
            rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
    }
}

/// Reading one line of a bounded length.
trait TakeLine {
    fn take_line(&mut self, line: &mut Vec<u8>) -> Option<usize>;
}

impl TakeLine for std::io::StdinLock<'_> {
    fn take_line(&mut self, line: &mut Vec<u8>) -> Option<usize> {
        use std::io::Read as _;
        self.take(LONGEST).read_until(b'\n', line).ok()
    }
}

const INTERRUPT: u8 = 3;
const LONGEST: u64 = 4096;
