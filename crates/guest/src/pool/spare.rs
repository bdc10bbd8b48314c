//! A process for one guest, as the pool has it: a copy of the pool that waits for its guest, runs it, and is gone with it.
//! The pool takes from it what it says, bounded, and believes it nothing but its own end.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};

use super::modules;
use super::request::{Id, Request};

/// One that waits.
pub(super) struct Spare {
    pid: Pid,
    channel: UnixStream,
    streams: [OwnedFd; 2],
    code: OwnedFd,
}

/// The other ends, for the process itself.
pub(super) struct Ends {
    pub(super) channel: UnixStream,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
    /// Where it leaves what it compiled.
    pub(super) code: OwnedFd,
}

/// In which of two processes the caller is.
pub(super) enum Forked {
    Pool(Spare),
    Copy(Ends),
}

/// What a process says of its guest, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum News {
    /// What its module was compiled to is there.
    Compiled,
    Ended {
        status: u8,
        why: Option<String>,
    },
    /// It says nothing any more.
    #[serde(skip)]
    Gone,
}

/// Makes a copy of this process, which has no other thread.
pub(super) fn fork() -> io::Result<Forked> {
    let (ours, theirs) = UnixStream::pair()?;
    let (output, their_output) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (error, their_error) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let code = modules::place()?;
    match sys::clone::fork_alike()? {
        None => Ok(Forked::Copy(Ends {
            channel: theirs,
            output: their_output,
            error: their_error,
            code,
        })),
        Some(pid) => {
            for stream in [&output, &error] {
                rustix::io::ioctl_fionbio(stream, true)?;
            }
            Ok(Forked::Pool(Spare { pid, channel: ours, streams: [output, error], code }))
        }
    }
}

impl Spare {
    /// Gives it its guest. It may be gone by now, as the kernel ends processes that have no memory.
    pub(super) fn start(mut self, request: &Request) -> Result<Running, (Pid, io::Error)> {
        let line = serde_json::to_vec(request).map(|mut line| {
            line.push(b'\n');
            line
        });
        let given = line.map_err(io::Error::from).and_then(|line| self.channel.write_all(&line));
        if let Err(error) = given {
            return Err((self.retire(), error));
        }
        let now = Instant::now();
        Ok(Running {
            id: request.id.clone(),
            pid: self.pid,
            channel: self.channel,
            streams: self.streams.map(Captured::new),
            code: Some(self.code),
            said: Vec::new(),
            deadline: request.time().and_then(|time| now.checked_add(time)),
            seconds: request.seconds.unwrap_or_default(),
        })
    }

    /// Ends it, with nothing done.
    pub(super) fn retire(self) -> Pid {
        end(self.pid);
        self.pid
    }
}

/// One that has its guest.
pub(super) struct Running {
    pub(super) id: Id,
    pub(super) deadline: Option<Instant>,
    pub(super) seconds: f64,
    pid: Pid,
    channel: UnixStream,
    streams: [Captured; 2],
    code: Option<OwnedFd>,
    said: Vec<u8>,
}

/// What a guest writes to one stream.
struct Captured {
    from: Option<OwnedFd>,
    bytes: Vec<u8>,
    is_cut: bool,
}

/// What whoever asked is told, a line each.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) id: Option<Id>,
    pub(super) status: u8,
    pub(super) output: String,
    pub(super) error: String,
    /// What the guest did not come to by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// Whether it wrote more than is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

impl Running {
    /// What there is to wait for: what it says first, then what its guest writes.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let streams =
            self.streams.iter().map(|stream| stream.from.as_ref().map(|from| from.as_fd()));
        let all = std::iter::once(Some(self.channel.as_fd())).chain(streams);
        all.enumerate().filter_map(|(at, descriptor)| Some((at, descriptor?)))
    }

    /// Takes what has come by one of [`Self::descriptors`]: what it says.
    pub(super) fn take(&mut self, at: usize) -> Vec<News> {
        match at.checked_sub(1) {
            None => self.listen(),
            Some(stream) => {
                if let Some(stream) = self.streams.get_mut(stream) {
                    stream.take();
                }
                Vec::new()
            }
        }
    }

    /// What its module was compiled to.
    pub(super) fn code(&mut self) -> Option<OwnedFd> {
        self.code.take()
    }

    fn listen(&mut self) -> Vec<News> {
        let mut piece = [0; 512];
        match rustix::net::recv(&self.channel, &mut piece, RecvFlags::DONTWAIT) {
            Ok((count, _)) if count > 0 && self.said.len() < MOST_SAID => {
                self.said.extend_from_slice(piece.get(..count).unwrap_or_default());
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => return vec![News::Gone],
        }
        let Some(end) = self.said.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let rest = self.said.split_off(end + 1);
        let lines = std::mem::replace(&mut self.said, rest);
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap_or(News::Gone)).collect()
    }

    /// The same for one that is gone without a word: by what, and by which signal if it was one.
    pub(super) fn gone(self) -> Answer {
        end(self.pid);
        let (status, why) = match rustix::process::waitpid(Some(self.pid), WaitOptions::empty()) {
            Ok(Some((_, status))) if status.terminating_signal() == Some(Signal::KILL.as_raw()) => {
                (super::KILLED, "was killed, most likely as there was no memory left".to_owned())
            }
            Ok(Some((_, status))) => {
                (super::FAILED, format!("failed, and its engine with it ({})", ended(status)))
            }
            _ => (super::FAILED, "is gone".to_owned()),
        };
        self.answer(status, Some(why)).0
    }

    /// What there is to tell of it, and the process that is to be ended.
    pub(super) fn answer(mut self, status: u8, why: Option<String>) -> (Answer, Pid) {
        for stream in &mut self.streams {
            // Whoever left its group may write on without end.
            let _more = (0..LAST_READS).all(|_| stream.take());
        }
        let cut = self.streams.iter().any(|stream| stream.is_cut);
        let [output, error] = self.streams.map(|stream| text(stream.bytes));
        (Answer { id: Some(self.id), status, output, error, why, cut }, self.pid)
    }
}

impl Captured {
    fn new(from: OwnedFd) -> Self {
        Self { from: Some(from), bytes: Vec::new(), is_cut: false }
    }

    /// Takes what is there: whether there may be more.
    fn take(&mut self) -> bool {
        let Some(from) = &self.from else { return false };
        // As much as a pipe may hold; on the stack it would be written to first, and the pool is copied with its stack.
        let mut piece = Vec::with_capacity(64 << 10);
        match rustix::io::read(from, rustix::buffer::spare_capacity(&mut piece)) {
            Ok(0) => {
                self.from = None;
                false
            }
            Ok(count) => {
                piece.truncate(MOST_OUTPUT.saturating_sub(self.bytes.len()));
                self.is_cut |= piece.len() < count;
                self.bytes.append(&mut piece);
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            Err(_) => {
                self.from = None;
                false
            }
        }
    }
}

/// Ends a process and those that it has started, unless they have left its group.
pub(super) fn end(pid: Pid) {
    let _gone = rustix::process::kill_process_group(pid, Signal::KILL);
    let _gone = rustix::process::kill_process(pid, Signal::KILL);
}

fn ended(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => format!("status {status}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Of each of its two streams.
const MOST_OUTPUT: usize = 1 << 20;
/// More than a pipe holds.
const LAST_READS: usize = 32;
/// Of what a process says and was not yet read.
const MOST_SAID: usize = 64 << 10;
