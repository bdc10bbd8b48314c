//! Netlink, the kernel's message protocol for routes and packet rules: building messages, sending
//! them, and reading what comes back. Knows no message's meaning, allocates no more than the kernel
//! sent, and never waits: the kernel answers a request before the call that sends it returns.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

#[cfg(test)]
mod tests;

/// A message in the making. Numbers in headers are in the machine's order; what the order of an
/// attribute is depends on its subsystem.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A message with the fixed header of its kind.
    pub(crate) fn new(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(TYPICAL_MESSAGE);
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        // Sequence number and port: the first is set when it is sent, the second by the kernel.
        bytes.extend([0; 8]);
        bytes.extend(header);
        let mut message = Self { bytes };
        message.align();
        message
    }

    /// Adds an attribute.
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let start = self.begin(kind);
        self.bytes.extend(value);
        self.end(start);
        self
    }

    /// Adds an attribute that holds attributes, which `fill` adds.
    pub(crate) fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.begin(kind | NESTED);
        let mut filled = fill(self);
        filled.end(start);
        filled
    }

    /// Adds a fixed header, which some nested attributes begin with.
    pub(crate) fn header(mut self, header: &[u8]) -> Self {
        self.bytes.extend(header);
        self.align();
        self
    }

    fn begin(&mut self, kind: u16) -> usize {
        let start = self.bytes.len();
        self.bytes.extend(0_u16.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        start
    }

    /// Writes an attribute's length, which leaves out the bytes that align the next one. A message
    /// of ours is shorter than a length can say by orders of magnitude; one that was not would get
    /// a length that the kernel refuses.
    fn end(&mut self, start: usize) {
        let length = u16::try_from(self.bytes.len() - start).unwrap_or_default();
        if let Some(place) = self.bytes.get_mut(start..start + 2) {
            place.copy_from_slice(&length.to_ne_bytes());
        }
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(crate) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or_default();
        let places = [(0..4, length), (8..12, sequence)];
        for (range, number) in places {
            if let Some(place) = self.bytes.get_mut(range) {
                place.copy_from_slice(&number.to_ne_bytes());
            }
        }
        self.bytes
    }
}

/// The parts of the kernel that are spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subsystem {
    /// Addresses and routes.
    Route,
    /// Packet rules and the packet log.
    Netfilter,
}

/// A netlink socket.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    /// A socket to one of the kernel's subsystems, non-blocking and closed on execution.
    pub(crate) fn open(subsystem: Subsystem) -> Result<Self, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = match subsystem {
            // Number 0, which is what no number means.
            Subsystem::Route => None,
            Subsystem::Netfilter => Some(NETFILTER),
        };
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol).map(Self)
    }

    /// Takes a socket that was opened elsewhere.
    pub(crate) fn from_fd(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// The socket itself.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Hears what is told to these groups from now on.
    pub(crate) fn join(&self, groups: u32) -> Result<(), Errno> {
        rustix::net::bind(&self.0, &SocketAddrNetlink::new(0, groups))
    }

    /// Sends messages as one packet and reads the answers, until each of those that ask for an
    /// acknowledgement ([`ACK`]) has one. The first refusal is the result, with the position of its
    /// message.
    pub(crate) fn request(&self, messages: Vec<Message>) -> Result<(), Refusal> {
        let mut packet = Vec::with_capacity(TYPICAL_MESSAGE * messages.len());
        let mut unanswered = 0_usize;
        for (sequence, message) in (0_u32..).zip(messages) {
            let flags = message.bytes.get(6..8).and_then(|bytes| bytes.try_into().ok());
            unanswered += usize::from(flags.map_or(0, u16::from_ne_bytes) & ACK != 0);
            packet.extend(message.finish(sequence));
        }
        let failed = |errno| Refusal { position: 0, errno };
        self.send(&packet).map_err(failed)?;
        let mut buffer = [0; ACKNOWLEDGEMENTS];
        let mut refusal = None;
        while unanswered > 0 {
            let Some(answers) = self.receive(&mut buffer).map_err(failed)? else { break };
            for answer in messages_in(answers) {
                let Answer::Verdict { sequence, result } = answer.verdict() else { continue };
                unanswered = unanswered.saturating_sub(1);
                if let (Err(errno), None) = (result, &refusal) {
                    let position = usize::try_from(sequence).unwrap_or(usize::MAX);
                    refusal = Some(Refusal { position, errno });
                }
            }
        }
        match refusal {
            Some(refusal) => Err(refusal),
            // An answer that never came: the kernel gave up in the middle of the packet.
            None if unanswered > 0 => Err(failed(Errno::PROTO)),
            None => Ok(()),
        }
    }

    /// Asks for a list, whose entries are given to `each`.
    pub(crate) fn dump(
        &self,
        message: Message,
        mut each: impl FnMut(Received<'_>),
    ) -> Result<(), Errno> {
        self.send(&message.finish(DUMP_SEQUENCE))?;
        let mut buffer = vec![0; RECEIVE];
        loop {
            let packet = self.receive(&mut buffer)?.ok_or(Errno::PROTO)?;
            for answer in messages_in(packet) {
                match answer.verdict() {
                    Answer::Verdict { result, .. } => result?,
                    Answer::Done => return Ok(()),
                    Answer::Entry => each(answer),
                }
            }
        }
    }

    /// Reads one packet; none when there is none yet.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, Errno> {
        loop {
            match rustix::net::recv(&self.0, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, length)) => return buffer.get(..length).ok_or(Errno::MSGSIZE).map(Some),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
    }

    fn send(&self, packet: &[u8]) -> Result<(), Errno> {
        let sent = rustix::net::send(&self.0, packet, SendFlags::NOSIGNAL)?;
        if sent == packet.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A message that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Its position among those that were sent.
    pub(crate) position: usize,
    /// Why.
    pub(crate) errno: Errno,
}

/// A message as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received<'a> {
    pub(crate) kind: u16,
    pub(crate) sequence: u32,
    /// Everything after the header.
    pub(crate) body: &'a [u8],
}

/// What a message is in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The end of a list.
    Done,
    /// What became of one message.
    Verdict { sequence: u32, result: Result<(), Errno> },
    /// Something else: an entry of a list.
    Entry,
}

impl<'a> Received<'a> {
    /// The attributes behind a fixed header of this length.
    pub(crate) fn attributes_after(self, header: usize) -> Attributes<'a> {
        attributes_in(self.body.get(header.next_multiple_of(4)..).unwrap_or_default())
    }

    fn verdict(self) -> Answer {
        match self.kind {
            DONE => Answer::Done,
            ERROR => {
                let code = self.body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
                let result = match code {
                    0 => Ok(()),
                    code => Err(Errno::from_raw_os_error(code.saturating_neg().clamp(1, 4095))),
                };
                Answer::Verdict { sequence: self.sequence, result }
            }
            _ => Answer::Entry,
        }
    }
}

/// The messages of a packet, up to the first that is not well-formed.
pub(crate) fn messages_in(packet: &[u8]) -> Messages<'_> {
    Messages { rest: packet }
}

/// Iterates over the messages of a packet.
#[derive(Clone, Debug)]
pub(crate) struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = Received<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::try_from(u32_at(self.rest, 0)?).ok()?;
        let message = self.rest.get(..length)?;
        let body = message.get(HEADER..)?;
        let received = Received { kind: u16_at(message, 4)?, sequence: u32_at(message, 8)?, body };
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(received)
    }
}

/// The attributes of some bytes, up to the first that is not well-formed.
pub(crate) fn attributes_in(bytes: &[u8]) -> Attributes<'_> {
    Attributes { rest: bytes }
}

/// Iterates over attributes: their kind, without flags, and value.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & !(NESTED | NETWORK_ORDER);
        let value = self.rest.get(ATTRIBUTE_HEADER..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(start..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(start..)?.first_chunk()?))
}

/// `NLM_F_REQUEST`.
pub(crate) const REQUEST: u16 = 0x1;
/// `NLM_F_ACK`.
pub(crate) const ACK: u16 = 0x4;
/// `NLM_F_DUMP`.
pub(crate) const DUMP: u16 = 0x300;
/// `NLM_F_EXCL`.
pub(crate) const EXCLUSIVE: u16 = 0x200;
/// `NLM_F_CREATE`.
pub(crate) const CREATE: u16 = 0x400;
/// `NLM_F_APPEND`.
pub(crate) const APPEND: u16 = 0x800;

const ERROR: u16 = 2;
const DONE: u16 = 3;
const NESTED: u16 = 0x8000;
const NETWORK_ORDER: u16 = 0x4000;
const HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;
const DUMP_SEQUENCE: u32 = 1;
const TYPICAL_MESSAGE: usize = 256;
/// What the kernel puts into one packet of a list at most, twice.
const RECEIVE: usize = 64 * 1024;
/// More than the acknowledgements of one packet of ours take, each refused message repeated in them.
const ACKNOWLEDGEMENTS: usize = 8 * 1024;

const _: () = assert!(HEADER == size_of::<libc::nlmsghdr>());
