//! The servers of one side of a world: one loop takes connections and datagrams, and each connection
//! has a thread of its own. They answer whatever they are sent and look for marks in it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::marks::{self, Heard};
use super::names::Resolver;
use super::proxy;

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Answers everything alike, as HTTP.
    Web,
    /// Answers questions about names.
    Names,
    /// Connects whoever asks, to wherever it says, over SOCKS.
    Socks,
    /// The same over HTTP.
    HttpProxy,
}

/// The servers of one side.
#[derive(Debug, Default)]
pub(super) struct Servers {
    listeners: Vec<(Role, TcpListener)>,
    datagrams: Vec<(Role, UdpSocket)>,
    resolver: Arc<Resolver>,
    /// How many connections are open.
    open: Arc<AtomicUsize>,
}

impl Servers {
    /// Takes connections at an address.
    pub(super) fn listen(&mut self, role: Role, address: SocketAddr) -> io::Result<()> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        self.listeners.push((role, listener));
        Ok(())
    }

    /// Takes datagrams at an address.
    pub(super) fn take_datagrams(&mut self, role: Role, address: SocketAddr) -> io::Result<()> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        self.datagrams.push((role, socket));
        Ok(())
    }

    /// The socket that was bound last, to join groups with.
    pub(super) fn last_datagrams(&self) -> Option<&UdpSocket> {
        self.datagrams.last().map(|(_, socket)| socket)
    }

    /// Serves until the other end of `stop` is closed, and then until all is heard that was said.
    pub(super) fn serve(&self, stop: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            let mut waits = vec![PollFd::from_borrowed_fd(stop, PollFlags::IN)];
            waits.extend(self.listeners.iter().map(|(_, one)| PollFd::new(one, PollFlags::IN)));
            waits.extend(self.datagrams.iter().map(|(_, one)| PollFd::new(one, PollFlags::IN)));
            poll(&mut waits, None)?;
            let is_over = waits.first().is_some_and(|wait| !wait.revents().is_empty());
            self.take_all();
            if is_over {
                break;
            }
        }
        let start = Instant::now();
        // Whoever was connected is gone, and so every connection comes to its end.
        while self.open.load(Ordering::Acquire) > 0 && start.elapsed() < TO_SETTLE {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Takes everything that waits.
    fn take_all(&self) {
        for (role, listener) in &self.listeners {
            while let Ok((stream, _)) = listener.accept() {
                self.attend(*role, stream);
            }
        }
        let mut buffer = [0; LARGEST_DATAGRAM];
        for (role, socket) in &self.datagrams {
            while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
                let said = buffer.get(..length).unwrap_or_default();
                let answer = self.answer_datagram(*role, &place_of(socket.local_addr()), said);
                // Whoever asked may be gone.
                let _unheard = socket.send_to(&answer, peer);
            }
        }
    }

    fn answer_datagram(&self, role: Role, place: &str, said: &[u8]) -> Vec<u8> {
        let mut heard = Heard::at(place);
        heard.hear(said);
        match role {
            Role::Names => answer_question(&self.resolver, &heard, said).unwrap_or_default(),
            Role::Web | Role::Socks | Role::HttpProxy => said.to_vec(),
        }
    }

    fn attend(&self, role: Role, stream: TcpStream) {
        let (resolver, open) = (Arc::clone(&self.resolver), Arc::clone(&self.open));
        if open.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let attended = Arc::clone(&open);
        let work = move || {
            // A client that breaks off is not worth a word.
            let _broken = attend_to_end(role, stream, &resolver);
            attended.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().spawn(work).is_err() {
            open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn attend_to_end(role: Role, mut stream: TcpStream, resolver: &Resolver) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    match role {
        Role::Socks => return proxy::serve_socks(stream, resolver),
        Role::HttpProxy => return proxy::serve_http(stream, resolver),
        Role::Web | Role::Names => {}
    }
    let mut heard = Heard::at(place_of(stream.local_addr()));
    let (mut said, mut buffer) = (Vec::new(), vec![0; LARGEST_MESSAGE]);
    loop {
        let length = stream.read(&mut buffer)?;
        let news = buffer.get(..length).unwrap_or_default();
        if news.is_empty() {
            return Ok(());
        }
        heard.hear(news);
        if role == Role::Web {
            // Who does not stay for the answer may still have said more.
            let _unheard = stream.write_all(ANSWER);
            if news.windows(LAST.len()).any(|part| part.eq_ignore_ascii_case(LAST)) {
                return Ok(());
            }
            continue;
        }
        said.extend_from_slice(news);
        while let Some(message) = take_framed(&mut said) {
            if let Some(answer) = answer_question(resolver, &heard, &message) {
                let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
                stream.write_all(&[length.to_be_bytes().as_slice(), &answer].concat())?;
            }
        }
    }
}

/// A message with its length before it, as DNS has it on connections.
fn take_framed(said: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = usize::from(u16::from_be_bytes(*said.first_chunk()?));
    let message = said.get(2..2 + length)?.to_vec();
    said.drain(..2 + length);
    Some(message)
}

fn answer_question(resolver: &Resolver, heard: &Heard, message: &[u8]) -> Option<Vec<u8>> {
    let resolved = resolver.answer(message)?;
    for name in &resolved.asked {
        heard.hear_name(name);
        // One bit of the program's choice for each letter.
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            marks::report(crate::network::CASE_CHANNEL, "resolver");
        }
    }
    Some(resolved.answer)
}

fn place_of(address: io::Result<SocketAddr>) -> String {
    address.map_or_else(
        |error| error.to_string(),
        |address| SocketAddr::new(address.ip().to_canonical(), address.port()).to_string(),
    )
}

/// Every address of this host, of both families where it has both.
pub(super) fn anywhere(has_v6: bool, port: u16) -> SocketAddr {
    let any = if has_v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::from([0; 4]) };
    SocketAddr::new(any, port)
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
/// What says that no request follows.
const LAST: &[u8] = b"connection: close";
const MOST_CONNECTIONS: usize = 256;
const LARGEST_DATAGRAM: usize = 4096;
/// Read in one piece where it comes in one.
const LARGEST_MESSAGE: usize = 64 * 1024;
const TO_SETTLE: Duration = Duration::from_secs(2);
