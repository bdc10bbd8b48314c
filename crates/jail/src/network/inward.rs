//! Pid 1's way of giving the gatekeeper connections to ports inside: only a process of the
//! namespace can make them. Never waits, for the program or for the gatekeeper, and connects to
//! loopback alone.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use plan::inward::{InwardAnswer, InwardRequest, MOST_INWARD_REQUESTS};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use sys::channel::{self, Waiting};

/// Pid 1's end of the socket, and what it is working on.
pub(crate) struct Inward {
    socket: OwnedFd,
    attempts: Vec<Attempt>,
    /// Answers that the socket has not taken yet.
    answers: VecDeque<(InwardAnswer, Option<OwnedFd>)>,
}

/// A connection in the making.
struct Attempt {
    port: u16,
    address: IpAddr,
    socket: OwnedFd,
    deadline: Instant,
}

/// What became of a connection.
enum Progress {
    Connected(OwnedFd),
    Pending(Attempt),
    Refused(Errno),
}

impl Inward {
    /// Both ends: pid 1's and the gatekeeper's.
    pub(super) fn pair() -> Result<(Self, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, outside) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self { socket, attempts: Vec::new(), answers: VecDeque::new() }, outside))
    }

    /// What to wait for before [`Self::serve`] has work.
    pub(crate) fn waits_for(&self) -> impl Iterator<Item = PollFd<'_>> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.has_room());
        flags.set(PollFlags::OUT, !self.answers.is_empty());
        let own = PollFd::new(&self.socket, flags);
        let attempts = self.attempts.iter();
        std::iter::once(own).chain(attempts.map(|one| PollFd::new(&one.socket, PollFlags::OUT)))
    }

    /// How long to wait at most.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let first = self.attempts.iter().map(|attempt| attempt.deadline).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Takes what is asked for, goes on with what is under way and answers what is settled. An error
    /// means that nobody asks any more.
    pub(crate) fn serve(mut self) -> Result<Self, Errno> {
        self.take_requests()?;
        for attempt in std::mem::take(&mut self.attempts) {
            self.settle(attempt.port, attempt.go_on());
        }
        self.send_answers()?;
        Ok(self)
    }

    fn has_room(&self) -> bool {
        self.attempts.len() + self.answers.len() < MOST_INWARD_REQUESTS
    }

    fn take_requests(&mut self) -> Result<(), Errno> {
        while self.has_room() {
            let mut packet = [0; 8];
            let length = match rustix::net::recv(&self.socket, &mut packet, RecvFlags::empty()) {
                Ok((_, 0)) => return Err(Errno::PIPE),
                Ok((_, length)) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            };
            let request = packet.get(..length).and_then(InwardRequest::decode);
            let Some(InwardRequest { port }) = request else { return Err(Errno::BADMSG) };
            let deadline = Instant::now() + LIMIT;
            self.settle(port, Attempt::begin(port, Ipv4Addr::LOCALHOST.into(), deadline));
        }
        Ok(())
    }

    fn settle(&mut self, port: u16, progress: Progress) {
        match progress {
            Progress::Pending(attempt) => self.attempts.push(attempt),
            Progress::Connected(socket) => {
                self.answers.push_back((InwardAnswer { port, errno: None }, Some(socket)));
            }
            Progress::Refused(errno) => {
                let errno = u16::try_from(errno.raw_os_error()).ok();
                self.answers.push_back((InwardAnswer { port, errno }, None));
            }
        }
    }

    fn send_answers(&mut self) -> Result<(), Errno> {
        while let Some((answer, connection)) = self.answers.front() {
            let connection: Vec<BorrowedFd<'_>> = connection.iter().map(AsFd::as_fd).collect();
            let (socket, packet) = (self.socket.as_fd(), answer.encode());
            match channel::send(socket, &packet, &connection, Waiting::Refused) {
                Ok(()) => drop(self.answers.pop_front()),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

impl AsFd for Inward {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Attempt {
    fn begin(port: u16, address: IpAddr, deadline: Instant) -> Progress {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match rustix::net::socket_with(family, SocketType::STREAM, flags, None) {
            Ok(socket) => Self { port, address, socket, deadline }.go_on(),
            Err(errno) => Progress::Refused(errno),
        }
    }

    /// Asks the kernel how far the connection is, which is what connecting once more does.
    fn go_on(self) -> Progress {
        let to = SocketAddr::new(self.address, self.port);
        match rustix::net::connect(&self.socket, &to) {
            Ok(()) | Err(Errno::ISCONN) => Progress::Connected(self.socket),
            Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR | Errno::AGAIN) => {
                if Instant::now() < self.deadline {
                    Progress::Pending(self)
                } else {
                    Progress::Refused(Errno::TIMEDOUT)
                }
            }
            Err(_) if self.address.is_ipv4() => {
                Self::begin(self.port, Ipv6Addr::LOCALHOST.into(), self.deadline)
            }
            Err(errno) => Progress::Refused(errno),
        }
    }
}

/// How long a connection may take. Loopback refuses or accepts at once; only a program that has let
/// its queue fill up is slower.
const LIMIT: Duration = Duration::from_secs(1);
