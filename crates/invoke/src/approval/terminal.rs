//! The question at the terminal. It is asked of the terminal itself and never of standard input, which
//! the caller may have redirected; what was typed before it is dropped; and it shows the executor's texts
//! escaped, each line behind a bar, so that none of them can look like the question.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cage::state::{Directory, Locations};
use plan::HostPath;
use policy::shown::Shown;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios};
use serde_json::{Map, Value};

use super::{Answer, Approver, Question};
use crate::sandbox::Level;

#[cfg(test)]
mod tests;

/// Asks whoever sits at the controlling terminal of this process.
#[derive(Clone, Debug, Default)]
pub struct Terminal {
    /// The state directory; none for this user's own.
    state: Option<HostPath>,
}

impl Terminal {
    /// Asks at this process's controlling terminal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with another state directory than this user's own.
    pub fn with_state(state: &HostPath) -> Self {
        Self { state: Some(state.clone()) }
    }

    /// As [`Approver::ask`], until nobody wants the answer any more: a signal that the asking program deals with by
    /// itself does not reach whoever waits for a line.
    pub fn ask_while(&self, question: &Question, is_wanted: &dyn Fn() -> bool) -> Answer {
        self.try_ask(question, is_wanted).unwrap_or(Answer::No)
    }

    fn try_ask(&self, question: &Question, is_wanted: &dyn Fn() -> bool) -> Option<Answer> {
        let state = self.state.clone().or_else(|| Locations::of_this_process().state)?;
        let mut refusals = Refusals::lock(&state)?;
        if refusals.is_pausing(now()) {
            return None;
        }
        let mut tty = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let answer = ask_at(&mut tty, question, is_wanted).unwrap_or(Answer::No);
        refusals.note(answer, now());
        refusals.save()?;
        Some(answer)
    }
}

impl Approver for Terminal {
    /// No where there is no terminal, where nothing is answered for some minutes, and without asking for a
    /// minute after three refusals in a row.
    fn ask(&self, question: &Question) -> Answer {
        self.ask_while(question, &|| true)
    }
}

/// How often the person said no in a row, in any process: somebody who is asked over and over says yes at
/// last. Holding it keeps other processes from asking meanwhile.
struct Refusals {
    file: File,
    in_a_row: u32,
    /// In seconds since 1970.
    last: u64,
}

impl Refusals {
    fn lock(state: &HostPath) -> Option<Self> {
        let directory = Directory::open(state).ok()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(rustix::fs::openat(&directory, FILE_NAME, flags, mode).ok()?);
        rustix::fs::flock(&file, FlockOperation::LockExclusive).ok()?;
        let mut text = String::new();
        (&mut file).take(MOST_BYTES).read_to_string(&mut text).ok()?;
        let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
        let in_a_row = numbers.next().and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
        Some(Self { file, in_a_row, last: numbers.next().unwrap_or(0) })
    }

    fn is_pausing(&self, now: u64) -> bool {
        self.in_a_row >= MOST_REFUSALS && now.abs_diff(self.last) < PAUSE_SECONDS
    }

    fn note(&mut self, answer: Answer, now: u64) {
        let is_old = now.abs_diff(self.last) >= PAUSE_SECONDS;
        let before = if is_old { 0 } else { self.in_a_row };
        self.in_a_row = if answer == Answer::No { before.saturating_add(1) } else { 0 };
        self.last = now;
    }

    fn save(&mut self) -> Option<()> {
        self.file.rewind().ok()?;
        self.file.set_len(0).ok()?;
        writeln!(self.file, "{} {}", self.in_a_row, self.last).ok()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn ask_at(
    tty: &mut File,
    question: &Question,
    is_wanted: &dyn Fn() -> bool,
) -> std::io::Result<Answer> {
    let before = rustix::termios::tcgetattr(&*tty)?;
    tty.write_all(text(question).as_bytes())?;
    // Whoever types something else just now has not read this yet.
    std::thread::sleep(BEFORE_READING);
    let lines = by_lines(before.clone());
    // This drops what was typed before.
    rustix::termios::tcsetattr(&*tty, OptionalActions::Flush, &lines)?;
    let answer = read_answer(tty, question.always, is_wanted);
    rustix::termios::tcsetattr(&*tty, OptionalActions::Flush, &before)?;
    answer
}

/// The terminal reads a line and shows it, whatever a program has made of it.
fn by_lines(mut modes: Termios) -> Termios {
    modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    modes.input_modes |= InputModes::ICRNL;
    modes
}

fn read_answer(
    tty: &mut File,
    always: bool,
    is_wanted: &dyn Fn() -> bool,
) -> std::io::Result<Answer> {
    let until = Instant::now() + LONGEST_WAIT;
    let mut line = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_wanted() {
            return Ok(Answer::No);
        }
        let left = left.min(BETWEEN_LOOKS);
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        let mut polled = [PollFd::from_borrowed_fd(tty.as_fd(), PollFlags::IN)];
        match rustix::event::poll(&mut polled, Some(&left)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            polled => polled?,
        };
        let mut buffer = [0; 256];
        let count = tty.read(&mut buffer)?;
        line.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if count == 0 || line.ends_with(b"\n") || line.len() > LONGEST_ANSWER {
            return Ok(meaning(&line, always));
        }
    }
}

/// Only a clear yes is one.
fn meaning(line: &[u8], always: bool) -> Answer {
    match line.trim_ascii() {
        b"y" | b"Y" | b"yes" => Answer::Once,
        b"a" | b"always" if !always => Answer::Always { until: None },
        _ => Answer::No,
    }
}

/// What is shown. Each field has a bound of its own, so that a long one cannot push out another.
fn text(question: &Question) -> String {
    let Question { executor, version, capability, target, command, arguments, sandbox, always } =
        question;
    let name = format!("{} {}", bounded(executor, LONGEST_WORD), bounded(version, LONGEST_WORD));
    let mut rows = vec![("executor", name), ("wants", bounded(capability, LONGEST_WORD))];
    rows.extend(target.as_ref().map(|target| ("limited to", bounded(target, LINE))));
    rows.push(("runs", bounded(command, LONGEST_COMMAND)));
    rows.push(("in", around(*sandbox).to_owned()));
    rows.extend(arguments.iter().flat_map(argument_rows));
    let mut text = String::from("\nstockade: an executor needs your approval\n");
    for (name, value) in rows {
        for (number, line) in folded(&value).into_iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            text.push_str(&format!("  | {name:10} {line}\n"));
        }
    }
    text.push_str(match always {
        true => "Allow this one call? [y/N] ",
        false => "Allow this one call (y), or always for the very same executor (a)? [y/a/N] ",
    });
    text
}

/// A row for each argument, and how many have none.
fn argument_rows(arguments: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let row = |(name, value): (&String, &Value)| {
        let name = bounded(name, LONGEST_WORD);
        format!("{name} = {}", bounded(&value.to_string(), LINE))
    };
    let mut rows: Vec<String> = arguments.iter().take(MOST_ARGUMENTS).map(row).collect();
    match arguments.len().saturating_sub(MOST_ARGUMENTS) {
        0 if rows.is_empty() => rows.push("no arguments".to_owned()),
        0 => {}
        more => rows.push(format!("… {more} more arguments, which are not shown")),
    }
    let first = std::iter::once("with").chain(std::iter::repeat(""));
    first.zip(rows).collect()
}

fn around(level: Level) -> &'static str {
    match level {
        Level::Native => "a cage",
        Level::Bwrap => "a cage of bubblewrap's, which has fewer walls",
        Level::None => "NO CAGE: it has everything that you have",
    }
}

/// The beginning of a text, in which nothing has an effect, and how much is left out.
fn bounded(value: &str, most: usize) -> String {
    let safe = Shown(value).to_string();
    let more = safe.chars().count().saturating_sub(most);
    if more == 0 {
        return safe;
    }
    let shown: String = safe.chars().take(most).collect();
    format!("{shown}… {more} more characters")
}

/// Lines of at most [`LINE`] characters.
fn folded(value: &str) -> Vec<String> {
    let letters: Vec<char> = value.chars().collect();
    letters.chunks(LINE).map(|line| line.iter().collect()).collect()
}

const LINE: usize = 160;
const LONGEST_WORD: usize = 64;
const LONGEST_COMMAND: usize = 6 * LINE;
const MOST_ARGUMENTS: usize = 12;
const MOST_REFUSALS: u32 = 3;
const PAUSE_SECONDS: u64 = 60;
const FILE_NAME: &str = "questions";
const MOST_BYTES: u64 = 64;
const LONGEST_WAIT: Duration = Duration::from_secs(300);
const BEFORE_READING: Duration = Duration::from_millis(300);
const LONGEST_ANSWER: usize = 64;

/// How often it is asked whether the answer is still wanted.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
