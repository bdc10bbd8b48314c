//! A client with all the routes to a host that a program in a cage has: straight, by SOCKS, by an HTTP
//! proxy. Waits for nothing longer than a busy machine needs.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use crate::attack::{Outcome, Refused};
use crate::world::{
    ALLOWED, DNS_PORT, HTTP_PORT, PROXY_PORT, Question, SOCKS_PORT, read_addresses,
};

/// A route to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// As a program does that knows no proxy.
    Straight,
    /// By SOCKS 5.
    Socks5,
    /// By SOCKS 4a.
    Socks4a,
    /// By `CONNECT`.
    Connect,
}

impl Route {
    /// A connection to a host, whose name is sent as it is.
    pub(super) fn open(self, host: &[u8], port: u16) -> Result<TcpStream, Refused> {
        match self {
            Self::Straight => straight(&String::from_utf8_lossy(host), port),
            Self::Socks5 => socks5(&domain(host)?, port),
            Self::Socks4a => socks4(Ipv4Addr::new(0, 0, 0, 1), port, Some(host)),
            Self::Connect => connect_by(&[host, format!(":{port}").as_bytes()].concat()),
        }
    }

    /// Does something if the allowed host can be reached by it. If it cannot, what comes of the
    /// attack says nothing.
    pub(super) fn then(
        self,
        attack: impl FnOnce() -> Result<Outcome, Refused>,
    ) -> Result<Outcome, Refused> {
        if_works(self.reaches_the_allowed(), attack)
    }

    fn reaches_the_allowed(self) -> Result<(), Refused> {
        let stream = self.open(b"web.example", HTTP_PORT)?;
        expect_hello(exchange(&stream, &get("web.example", "/"))?)
    }
}

/// Does something if another thing works.
pub(super) fn if_works(
    works: Result<(), Refused>,
    attack: impl FnOnce() -> Result<Outcome, Refused>,
) -> Result<Outcome, Refused> {
    match works {
        Ok(()) => attack(),
        Err(Refused(how)) => {
            Ok(Outcome::Broken(format!("what is allowed does not work either: {how}")))
        }
    }
}

/// What a server of the world answers.
pub(super) fn expect_hello(answer: Vec<u8>) -> Result<(), Refused> {
    if answer.starts_with(b"HTTP/1.1 200") {
        return Ok(());
    }
    let shown = answer.get(..80).unwrap_or(&answer);
    Err(Refused(format!("answered `{}`", shown.escape_ascii())))
}

/// A request for a path of a host.
pub(super) fn get(host: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

/// Says something that holds a mark. Only the server can tell whether it arrived.
pub(super) fn leave(stream: &TcpStream, bytes: &[u8]) -> Result<Outcome, Refused> {
    let answer = exchange(stream, bytes)?;
    let shown = answer.get(..40).unwrap_or(&answer);
    Ok(Outcome::Attempted(match answer.as_slice() {
        [] => "said it, and was cut off".to_owned(),
        _ => format!("said it, and was answered `{}`", shown.escape_ascii()),
    }))
}

/// The same for something that is answered twice where it goes through.
pub(super) fn leave_all(stream: &TcpStream, bytes: &[u8]) -> Result<Outcome, Refused> {
    let outcome = leave(stream, bytes)?;
    stream.set_read_timeout(Some(FOR_MORE))?;
    // Whoever goes at once may take back what is not passed on yet.
    let _more = read_some(stream);
    Ok(outcome)
}

/// Says something and returns what is answered first: nothing at the end of the connection.
pub(super) fn exchange(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(bytes)?;
    read_some(stream)
}

fn read_some(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 4096];
    let length = stream.read(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// A connection to an address.
pub(super) fn dial(address: impl Into<SocketAddr>) -> Result<TcpStream, Refused> {
    let stream = TcpStream::connect_timeout(&address.into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection to a name that this program looks up itself.
fn straight(name: &str, port: u16) -> Result<TcpStream, Refused> {
    let mut last = Err(Refused("the name has no address".to_owned()));
    for address in look_up(name)? {
        last = dial((address, port));
        if last.is_ok() {
            break;
        }
    }
    last
}

/// All addresses of a name. In a cage whoever is asked, the gatekeeper answers.
pub(super) fn look_up(name: &str) -> Result<Vec<IpAddr>, Refused> {
    let mut found = Vec::new();
    for question in [Question::v4(name), Question::v6(name)] {
        let answer = ask(&Question::message(&[question], b""), ALLOWED.into())?;
        found.extend(read_addresses(&answer).into_iter().flatten());
    }
    Ok(found)
}

/// A resolver's answer to a message.
pub(super) fn ask(message: &[u8], resolver: IpAddr) -> Result<Vec<u8>, Refused> {
    let socket = UdpSocket::bind(SocketAddr::new(any_like(resolver), 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.connect(SocketAddr::new(resolver, DNS_PORT))?;
    socket.send(message)?;
    let mut buffer = vec![0; 4096];
    let length = socket.recv(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// No address of the same family.
pub(super) fn any_like(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => IpAddr::from([0; 4]),
        IpAddr::V6(_) => IpAddr::from([0_u16; 8]),
    }
}

/// A host by name, as SOCKS 5 writes it.
pub(super) fn domain(host: &[u8]) -> Result<Vec<u8>, Refused> {
    let length = u8::try_from(host.len()).map_err(|error| Refused(error.to_string()))?;
    Ok([&[3, length], host].concat())
}

/// An address, as SOCKS 5 writes it.
pub(super) fn literal(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => [&[1], address.octets().as_slice()].concat(),
        IpAddr::V6(address) => [&[4], address.octets().as_slice()].concat(),
    }
}

/// A connection by SOCKS 5.
pub(super) fn socks5(host: &[u8], port: u16) -> Result<TcpStream, Refused> {
    let (stream, code, _) = socks5_command(CONNECT, host, port)?;
    match code {
        0 => Ok(stream),
        code => Err(Refused(format!("SOCKS answered {code}"))),
    }
}

/// A command of SOCKS 5: the connection that it was given on, the answer, and the port in it.
pub(super) fn socks5_command(
    command: u8,
    host: &[u8],
    port: u16,
) -> Result<(TcpStream, u8, u16), Refused> {
    let mut stream = dial((Ipv4Addr::LOCALHOST, SOCKS_PORT))?;
    stream.write_all(&[5, 1, 0])?;
    stream.read_exact(&mut [0; 2])?;
    stream.write_all(&[&[5, command, 0], host, &port.to_be_bytes()].concat())?;
    let mut answer = [0; 10];
    stream.read_exact(&mut answer)?;
    let [_, code, .., high, low] = answer;
    Ok((stream, code, u16::from_be_bytes([high, low])))
}

/// A connection by SOCKS 4, or 4a if there is a name.
pub(super) fn socks4(
    address: Ipv4Addr,
    port: u16,
    name: Option<&[u8]>,
) -> Result<TcpStream, Refused> {
    let mut stream = dial((Ipv4Addr::LOCALHOST, SOCKS_PORT))?;
    let mut request = vec![4, CONNECT];
    request.extend(port.to_be_bytes());
    request.extend(address.octets());
    request.extend(b"user\0");
    if let Some(name) = name {
        request.extend(name);
        request.push(0);
    }
    stream.write_all(&request)?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer)?;
    match answer {
        [_, 90, ..] => Ok(stream),
        [_, code, ..] => Err(Refused(format!("SOCKS answered {code}"))),
    }
}

/// A connection by `CONNECT` to an authority.
pub(super) fn connect_by(authority: &[u8]) -> Result<TcpStream, Refused> {
    let stream = dial((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    let request = [b"CONNECT ", authority, b" HTTP/1.1\r\nHost: ", authority, b"\r\n\r\n"].concat();
    let answer = exchange(&stream, &request)?;
    if answer.starts_with(b"HTTP/1.1 200") {
        return Ok(stream);
    }
    let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Err(Refused(format!("the proxy answered `{}`", line.escape_ascii())))
}

/// A request for a URL to the HTTP proxy.
pub(super) fn forward(request: &[u8]) -> Result<Outcome, Refused> {
    leave(&dial((Ipv4Addr::LOCALHOST, PROXY_PORT))?, request)
}

/// Does something if the HTTP proxy fetches what is allowed.
pub(super) fn if_forwarded(
    attack: impl FnOnce() -> Result<Outcome, Refused>,
) -> Result<Outcome, Refused> {
    let fetch = || {
        let proxy = dial((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
        expect_hello(exchange(&proxy, &get("web.example", "http://web.example/"))?)
    };
    if_works(fetch(), attack)
}

const CONNECT: u8 = 1;
const FOR_MORE: Duration = Duration::from_millis(50);
/// Longer than anything takes on a machine that is emulated and busy; a refusal comes at once.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
