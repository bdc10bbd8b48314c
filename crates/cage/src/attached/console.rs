//! The standard streams of this process: which of them a cage may have as they are, and which are
//! relayed. Puts the terminal back as it was, whatever happens.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use jail::{ProgramStreams, Stream};
use rustix::event::{PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::termios::{OptionalActions, QueueSelector, Termios};
use terminal::{Answers, Filter, Source, is_same_terminal};

use super::relay::Relay;
use crate::outcome::SpawnError;

/// This process's side of the program's streams.
pub(super) struct Console {
    pub(super) relays: Vec<Relay>,
    /// The modes of the user's terminal before it was taken, if it was.
    saved: Option<Termios>,
    /// The supervisor's end of the program's terminal.
    terminal: Option<OwnedFd>,
    /// Whether the user's terminal is another job's: reading it or changing its modes would stop this
    /// process.
    in_background: bool,
}

/// Refuses streams that would be ways out of a cage, for a program that gets them as they are.
pub(crate) fn check_streams() -> Result<(), SpawnError> {
    for (number, name) in (0..).zip(NAMES) {
        if let Some(descriptor) = standard(number) {
            check_stream(descriptor, name)?;
        }
    }
    Ok(())
}

fn check_stream(descriptor: BorrowedFd<'_>, name: &'static str) -> Result<(), SpawnError> {
    let stat = rustix::fs::fstat(descriptor).map_err(SpawnError::Supervise)?;
    let problem = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            "is a directory, which would be a way out of the cage; redirect it from a file"
        }
        FileType::BlockDevice => "is a block device; redirect it from a file",
        FileType::Symlink => "is open as a path only; open it for reading or writing",
        _ => return Ok(()),
    };
    Err(SpawnError::Stream { stream: name, problem: problem.to_owned() })
}

const BETWEEN_LOOKS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

const NAMES: [&str; 3] = ["standard input", "standard output", "standard error"];

impl Console {
    /// Looks at the three streams and decides how each reaches the program. With a terminal for
    /// both input and output the program gets one of its own; a terminal that is only one of them
    /// shares the user's with a pipeline, so its modes stay and its bytes go through a pipe.
    pub(super) fn inspect() -> Result<(Self, ProgramStreams), SpawnError> {
        let interactive = is_terminal(0) && is_terminal(1) && is_in_foreground();
        let saved = if interactive {
            Some(
                rustix::termios::tcgetattr(rustix::stdio::stdin())
                    .map_err(SpawnError::Supervise)?,
            )
        } else {
            None
        };
        let mut console = Self { relays: Vec::new(), saved, terminal: None, in_background: false };
        let streams = ProgramStreams {
            stdin: console.stream(0, NAMES[0])?,
            stdout: console.stream(1, NAMES[1])?,
            stderr: console.stream(2, NAMES[2])?,
        };
        Ok((console, streams))
    }

    fn stream(&mut self, number: i32, name: &'static str) -> Result<Stream, SpawnError> {
        let Some(descriptor) = standard(number) else { return Ok(Stream::Null) };
        check_stream(descriptor, name)?;
        if !is_terminal(number) {
            let copy = rustix::io::fcntl_dupfd_cloexec(descriptor, 3);
            return copy.map(Stream::Descriptor).map_err(SpawnError::Supervise);
        }
        if self.saved.is_some() {
            return Ok(Stream::Terminal);
        }
        // What is typed is for the shell as long as this is a job in the background.
        if number == 0 && !is_in_foreground() {
            return Ok(Stream::Null);
        }
        self.relay_through_pipe(number, descriptor)
    }

    fn relay_through_pipe(
        &mut self,
        number: i32,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Stream, SpawnError> {
        let connect = || -> Result<_, Errno> {
            let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            Ok((pipe, rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?))
        };
        let ((read, write), ours) = connect().map_err(SpawnError::Supervise)?;
        let source = match number {
            0 => {
                self.relays.push(Relay::input(ours, write));
                return Ok(Stream::Descriptor(read));
            }
            1 => Source::Output,
            _ => Source::Error,
        };
        let leads_there = |relay: &&mut Relay| {
            relay.terminal().is_some_and(|other| is_same_terminal(other, descriptor))
        };
        match self.relays.iter_mut().find(leads_there) {
            Some(relay) => relay.join(read, source),
            // The program cannot read what this terminal would answer.
            None => {
                let filter = Filter::new(Answers::ToOthers);
                self.relays.push(Relay::output(read, source, ours, filter));
            }
        }
        Ok(Stream::Descriptor(write))
    }

    /// Whether the program gets a terminal, which then has to be connected.
    pub(super) fn is_interactive(&self) -> bool {
        self.saved.is_some()
    }

    /// Connects the user's terminal with the program's.
    pub(super) fn connect(&mut self, terminal: OwnedFd) -> Result<(), Errno> {
        let Some(saved) = &self.saved else { return Ok(()) };
        rustix::termios::tcsetattr(&terminal, OptionalActions::Now, saved)?;
        let duplicate = |descriptor: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(descriptor, 3);
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        self.relays.push(Relay::input(duplicate(stdin)?, duplicate(terminal.as_fd())?));
        let answers = match is_same_terminal(stdin, stdout) {
            true => Answers::ToProgram,
            false => Answers::ToOthers,
        };
        self.relays.push(Relay::output(
            duplicate(terminal.as_fd())?,
            Source::Output,
            duplicate(stdout)?,
            Filter::new(answers),
        ));
        self.terminal = Some(terminal);
        self.reclaim()
    }

    /// Tells the program's terminal how large the user's is.
    pub(super) fn copy_window_size(&self) {
        if let Some(terminal) = &self.terminal
            && let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stdin())
        {
            // A window that cannot be resized is no reason to end a program.
            let _resized = rustix::termios::tcsetwinsize(terminal, size);
        }
    }

    /// What there is to wait for, for each relay. What is typed while this job is in the background is
    /// not the program's.
    pub(super) fn wants(&self) -> Vec<Vec<(BorrowedFd<'_>, PollFlags)>> {
        let waits = |relay: &Relay| self.in_background && relay.is_input();
        let wanted = self.relays.iter();
        wanted.map(|relay| if waits(relay) { Vec::new() } else { relay.wants() }).collect()
    }

    /// How long to wait before [`Self::reclaim`] is asked for anew. A shell that brings a running job into the
    /// foreground does not tell it.
    pub(super) fn patience(&self) -> Option<Timespec> {
        self.in_background.then_some(BETWEEN_LOOKS)
    }

    /// Gives the user's terminal back, unless another job has it already.
    pub(super) fn release(&self) {
        if let Some(saved) = self.saved.as_ref().filter(|_| is_in_foreground()) {
            let _restored =
                rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, saved);
        }
    }

    /// Takes the user's terminal, if this job has it: every key goes to the program's, which gives it its
    /// meaning.
    pub(super) fn reclaim(&mut self) -> Result<(), Errno> {
        self.copy_window_size();
        self.in_background = !is_in_foreground();
        let (Some(saved), Some(_)) = (&self.saved, &self.terminal) else { return Ok(()) };
        if self.in_background {
            return Ok(());
        }
        let mut raw = saved.clone();
        raw.make_raw();
        rustix::termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &raw)
    }

    /// Relays what the program wrote before it ended.
    pub(super) fn drain(&mut self) {
        for relay in &mut self.relays {
            relay.drain();
        }
    }
}

impl Drop for Console {
    /// What comes next on the terminal is not the program's.
    fn drop(&mut self) {
        for relay in &mut self.relays {
            relay.restore();
        }
        if self.terminal.is_some() && is_in_foreground() {
            // Answers of the terminal to questions that the program asked must not be typed into
            // the user's shell.
            let _flushed = rustix::termios::tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        self.release();
    }
}

/// One of the first three descriptors, if it is open.
fn standard(number: i32) -> Option<BorrowedFd<'static>> {
    let descriptor = match number {
        0 => rustix::stdio::stdin(),
        1 => rustix::stdio::stdout(),
        _ => rustix::stdio::stderr(),
    };
    rustix::io::fcntl_getfd(descriptor).is_ok().then_some(descriptor)
}

/// Whether this process may change the modes of the terminal on its standard input.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(rustix::stdio::stdin()) == Ok(rustix::process::getpgrp())
}

fn is_terminal(number: i32) -> bool {
    standard(number).is_some_and(rustix::termios::isatty)
}
