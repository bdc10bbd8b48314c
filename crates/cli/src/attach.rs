//! `stockade attach`: this process's terminal and streams as those of a program that the daemon runs.
//! `Ctrl-]` leaves it alone again. Ends as the program ends.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use daemon::client::{Attachment, Heard, segment};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios};
use serde_json::{Value, json};
use sys::signal::SignalSet;
use terminal::Source;

use crate::arguments::daemon::AttachArguments;
use crate::client::{client, refuse_runs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::logs::tell_gap;
use crate::message::Messages;
use crate::sinks::Sinks;

/// The command.
pub(crate) fn attach(arguments: &AttachArguments, messages: Messages) -> Result<Exit, Failure> {
    refuse_runs(&arguments.socket, &arguments.id)?;
    let client = client(&arguments.socket)?;
    let from = if arguments.from_now { "now" } else { "start" };
    let takes_input = !arguments.no_stdin;
    let path =
        format!("/v1/cages/{}/attach?from={from}&stdin={takes_input}", segment(&arguments.id));
    let attachment = client.attach(&path)?;
    let signals = Signals::take().map_err(kernel("take signals"))?;
    let conversation = Conversation {
        attachment,
        sinks: Sinks::of_this_process(),
        signals,
        raw: None,
        input: if takes_input { Input::Open } else { Input::Closed },
        messages,
    };
    conversation.hold()
}

/// Whether something of standard input may still go to the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Closed,
}

/// How the conversation goes on.
enum Next {
    Goes,
    Ends(Exit),
}

struct Conversation {
    attachment: Attachment,
    sinks: Sinks,
    signals: Signals,
    /// The user's terminal, while every key goes to the program.
    raw: Option<RawTerminal>,
    input: Input,
    messages: Messages,
}

impl Conversation {
    fn hold(mut self) -> Result<Exit, Failure> {
        loop {
            while let Some(heard) = self.attachment.next_heard()? {
                if let Next::Ends(exit) = self.hear(heard)? {
                    return Ok(exit);
                }
            }
            let [daemon, input, signal] = self.wait()?;
            if signal {
                self.forward_signals()?;
            }
            if input && let Next::Ends(exit) = self.forward_input()? {
                return Ok(exit);
            }
            if daemon && !self.attachment.listen()? {
                return Err(Failure::new(Exit::No, "the daemon ended before the program did"));
            }
        }
    }

    /// Waits for the daemon, the user or a signal.
    fn wait(&self) -> Result<[bool; 3], Failure> {
        let mut descriptors = vec![
            PollFd::from_borrowed_fd(self.attachment.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.descriptor.as_fd(), PollFlags::IN),
        ];
        if self.input == Input::Open {
            descriptors.push(PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN));
        }
        match rustix::event::poll(&mut descriptors, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 3]),
            Err(errno) => return Err(kernel("wait")(errno)),
        }
        let mut ready = descriptors.iter().map(|one| !one.revents().is_empty());
        let (daemon, signal) = (ready.next() == Some(true), ready.next() == Some(true));
        Ok([daemon, ready.next() == Some(true), signal])
    }

    fn hear(&mut self, heard: Heard) -> Result<Next, Failure> {
        match heard {
            Heard::Output(bytes) => self.sinks.write(Source::Output, &bytes)?,
            Heard::Error(bytes) => self.sinks.write(Source::Error, &bytes)?,
            Heard::Closed => {
                return Err(Failure::new(Exit::No, "the daemon ended before the program did"));
            }
            Heard::Notice(notice) => match notice.get("type").and_then(Value::as_str) {
                Some("attached") => self.begin(&notice)?,
                Some("ended") => {
                    let code = notice.pointer("/cage/end/exit_code").and_then(Value::as_u64);
                    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
                    return Ok(Next::Ends(Exit::Program(code)));
                }
                _ => tell_gap(&notice, &mut self.sinks, self.messages),
            },
        }
        Ok(Next::Goes)
    }

    /// Takes the user's terminal if the program has one of its own.
    fn begin(&mut self, notice: &Value) -> Result<(), Failure> {
        let has_terminal = notice.pointer("/cage/terminal") == Some(&Value::Bool(true));
        if !has_terminal || self.input == Input::Closed {
            return Ok(());
        }
        if !rustix::termios::isatty(rustix::stdio::stdin()) {
            return Ok(());
        }
        // Before the terminal is taken, which then does not begin lines at their beginning any more.
        self.messages.note("attached; `Ctrl-]` leaves the program alone again");
        self.raw = Some(RawTerminal::take().map_err(kernel("take the terminal"))?);
        self.sinks.program_reads_terminal();
        self.tell_size()
    }

    /// Sends what was typed or piped. Returns whether the user has left.
    fn forward_input(&mut self) -> Result<Next, Failure> {
        let mut buffer = [0; 4096];
        let count = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(Next::Goes),
            Err(errno) => return Err(kernel("read standard input")(errno)),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            self.input = Input::Closed;
            self.attachment.request(&json!({ "type": "end_of_input" }))?;
            return Ok(Next::Goes);
        }
        let typed = match self.raw {
            Some(_) => bytes.split(|byte| *byte == LEAVE).next().unwrap_or_default(),
            None => bytes,
        };
        if !typed.is_empty() {
            self.attachment.input(typed)?;
        }
        if !self.attachment.is_listened_to() {
            self.input = Input::Closed;
        }
        if typed.len() == bytes.len() {
            return Ok(Next::Goes);
        }
        self.attachment.close()?;
        self.sinks.restore();
        self.raw = None;
        self.messages.note("left; the program goes on");
        Ok(Next::Ends(Exit::Success))
    }

    fn forward_signals(&mut self) -> Result<(), Failure> {
        while let Ok(Some(signal)) = sys::signal::read(self.signals.descriptor.as_fd()) {
            match signal {
                libc::SIGWINCH => self.tell_size()?,
                signal => {
                    self.attachment.request(&json!({ "type": "signal", "signal": signal }))?;
                }
            }
        }
        Ok(())
    }

    /// Tells the program how large the user's terminal is.
    fn tell_size(&mut self) -> Result<(), Failure> {
        if self.raw.is_none() {
            return Ok(());
        }
        let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stdin()) else { return Ok(()) };
        let request = json!({ "type": "resize", "rows": size.ws_row, "columns": size.ws_col });
        Ok(self.attachment.request(&request)?)
    }
}

/// Signals that are for the program.
struct Signals {
    descriptor: OwnedFd,
}

impl Signals {
    fn take() -> Result<Self, Errno> {
        let set = SignalSet::of(&[libc::SIGWINCH, libc::SIGINT, libc::SIGTERM, libc::SIGQUIT]);
        sys::signal::block(&set)?;
        Ok(Self { descriptor: sys::signal::descriptor(&set)? })
    }
}

/// The user's terminal in a state in which it gives keys no meaning. Put back when dropped.
struct RawTerminal {
    saved: Termios,
}

impl RawTerminal {
    /// Takes it.
    fn take() -> Result<Self, Errno> {
        let stdin = rustix::stdio::stdin();
        let saved = rustix::termios::tcgetattr(stdin)?;
        let mut raw = saved.clone();
        raw.make_raw();
        rustix::termios::tcsetattr(stdin, OptionalActions::Drain, &raw)?;
        Ok(Self { saved })
    }
}

impl Drop for RawTerminal {
    /// What was typed and not read is dropped: it may be the terminal's answer to something that the program asked.
    fn drop(&mut self) {
        let stdin: BorrowedFd<'_> = rustix::stdio::stdin();
        let _restored = rustix::termios::tcsetattr(stdin, OptionalActions::Flush, &self.saved);
    }
}

fn kernel(call: &'static str) -> impl Fn(Errno) -> Failure {
    move |errno| {
        let error = std::io::Error::from(errno);
        Failure::new(Exit::No, format!("cannot {call}: {error}"))
    }
}

/// `Ctrl-]`, as telnet has it.
const LEAVE: u8 = 0x1d;
