//! A connection to a bus or straight to a peer: authentication, calls, and signals that arrive
//! meanwhile. Every wait ends at the deadline that the connection was made with.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{BusError, Call, Message, MessageKind, decode, encode};

#[cfg(test)]
mod tests;

/// A conversation with a peer, all of which has to be over by a deadline.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    deadline: Instant,
    arrived: Vec<u8>,
    serial: u32,
    /// Signals that nobody has asked for yet.
    signals: Vec<Message>,
}

impl Connection {
    /// Connects to a socket and says who this is.
    pub fn open(path: &Path, deadline: Instant) -> Result<Self, BusError> {
        Self::over(reach(path)?, deadline)
    }

    /// Begins a conversation over a connected socket.
    pub fn over(stream: UnixStream, deadline: Instant) -> Result<Self, BusError> {
        stream.set_nonblocking(false).map_err(|error| broken(&error))?;
        let (arrived, signals) = (Vec::new(), Vec::new());
        let mut connection = Self { stream, deadline, arrived, serial: 0, signals };
        connection.authenticate()?;
        Ok(connection)
    }

    /// Introduces this connection to a bus, which answers nothing before that.
    pub fn hello(&mut self) -> Result<(), BusError> {
        let call = Call { member: "Hello", signature: "", body: &[], ..BUS_CALL };
        self.call(&call).map(drop)
    }

    /// Asks a bus for the signals that a rule describes.
    pub fn add_match(&mut self, rule: &str) -> Result<(), BusError> {
        let mut body = super::Writer::new();
        body.text(rule);
        let body = body.into_bytes();
        let call = Call { member: "AddMatch", signature: "s", body: &body, ..BUS_CALL };
        self.call(&call).map(drop)
    }

    /// Calls a method and waits for its answer.
    pub fn call(&mut self, call: &Call<'_>) -> Result<Message, BusError> {
        self.serial = self.serial.wrapping_add(1).max(1);
        let serial = self.serial;
        self.send(&encode(call, serial))?;
        loop {
            let message = self.receive()?;
            match message.kind {
                _ if message.reply_serial != Some(serial) => self.keep(message),
                MessageKind::Reply => return Ok(message),
                MessageKind::Error => return Err(refusal(&message)),
                MessageKind::Call | MessageKind::Signal | MessageKind::Unknown => {
                    self.keep(message);
                }
            }
        }
    }

    /// Waits for a signal for which `found` has an answer, one that has arrived already or a new
    /// one.
    pub fn wait_for_signal<T>(
        &mut self,
        mut found: impl FnMut(&Message) -> Option<T>,
    ) -> Result<T, BusError> {
        for message in std::mem::take(&mut self.signals) {
            if let Some(answer) = found(&message) {
                return Ok(answer);
            }
        }
        loop {
            let message = self.receive()?;
            if let (MessageKind::Signal, Some(answer)) = (message.kind, found(&message)) {
                return Ok(answer);
            }
        }
    }

    fn keep(&mut self, message: Message) {
        if message.kind == MessageKind::Signal && self.signals.len() < MOST_SIGNALS {
            self.signals.push(message);
        }
    }

    /// The peer knows who this is from the kernel; what is said here has to agree.
    fn authenticate(&mut self) -> Result<(), BusError> {
        let user = rustix::process::geteuid().as_raw().to_string();
        let hexadecimal: String = user.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.send(format!("\0AUTH EXTERNAL {hexadecimal}\r\n").as_bytes())?;
        let line = loop {
            if let Some(end) = self.arrived.windows(2).position(|pair| pair == b"\r\n") {
                let rest = self.arrived.split_off(end.saturating_add(2));
                break std::mem::replace(&mut self.arrived, rest);
            }
            if self.arrived.len() > LONGEST_LINE {
                return Err(BusError::Malformed);
            }
            self.read_more()?;
        };
        if !line.starts_with(b"OK ") {
            return Err(BusError::Rejected);
        }
        self.send(b"BEGIN\r\n")
    }

    fn receive(&mut self) -> Result<Message, BusError> {
        loop {
            if let Some((message, length)) = decode(&self.arrived)? {
                self.arrived.drain(..length);
                return Ok(message);
            }
            self.read_more()?;
        }
    }

    /// One read, so that nobody who trickles bytes can stretch the deadline.
    fn read_more(&mut self) -> Result<(), BusError> {
        let remaining = self.remaining()?;
        self.stream.set_read_timeout(Some(remaining)).map_err(|error| broken(&error))?;
        let mut chunk = [0_u8; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(BusError::Closed),
            Ok(read) => {
                self.arrived.extend_from_slice(chunk.get(..read).unwrap_or_default());
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(broken(&error)),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), BusError> {
        let remaining = self.remaining()?;
        self.stream.set_write_timeout(Some(remaining)).map_err(|error| broken(&error))?;
        self.stream.write_all(bytes).map_err(|error| broken(&error))
    }

    fn remaining(&self) -> Result<Duration, BusError> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        // No time at all would mean without end.
        if remaining.is_zero() { Err(BusError::TimedOut) } else { Ok(remaining) }
    }
}

/// Connects to a socket. One whose queue is full must not make us wait without end.
pub fn reach(path: &Path) -> Result<UnixStream, BusError> {
    let failed = |errno| BusError::Unreachable { path: path.to_owned(), errno };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(failed)?;
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    rustix::net::connect(&socket, &address).map_err(failed)?;
    Ok(UnixStream::from(socket))
}

fn refusal(message: &Message) -> BusError {
    let text = if message.signature.starts_with('s') { message.reader().text().ok() } else { None };
    let shown = |text: &str| text.chars().filter(|one| !one.is_control()).take(MOST_TEXT).collect();
    BusError::Refused {
        name: shown(message.error_name.as_deref().unwrap_or_default()),
        text: shown(text.unwrap_or_default()),
    }
}

fn broken(error: &std::io::Error) -> BusError {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => BusError::TimedOut,
        _ => BusError::Broken(Errno::from_io_error(error).unwrap_or(Errno::IO)),
    }
}

/// The bus itself, which has a few methods of its own.
const BUS_CALL: Call<'static> = Call {
    destination: Some("org.freedesktop.DBus"),
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    member: "",
    signature: "",
    body: &[],
};

const LONGEST_LINE: usize = 16 * 1024;
const MOST_SIGNALS: usize = 1024;
const MOST_TEXT: usize = 500;
