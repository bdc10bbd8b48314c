//! Proxies that think nothing of it: SOCKS 4, 4a and 5 and HTTP, for whoever is uncaged. They connect
//! anyone to anything, and read a host as the most careless of their kind do. Where a cage has its
//! gatekeeper, the twin of an attack meets these.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use super::marks::Heard;
use super::names::Resolver;
use super::zone::HTTP_PORT;

/// Serves one SOCKS client.
pub(super) fn serve_socks(mut client: TcpStream, resolver: &Resolver) -> io::Result<()> {
    match take(&mut client)? {
        4 => serve_socks4(client, resolver),
        5 => serve_socks5(client, resolver),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn serve_socks4(mut client: TcpStream, resolver: &Resolver) -> io::Result<()> {
    let [_command, high, low, a, b, c, d] = take_array(&mut client)?;
    let port = u16::from_be_bytes([high, low]);
    let _user = take_text(&mut client)?;
    // With an address that is none, the name follows (4a).
    let target = match [a, b, c, d] {
        [0, 0, 0, last] if last > 0 => dial(resolver, &take_text(&mut client)?, port),
        address => connect(SocketAddr::from((address, port))),
    };
    client.write_all(&[0, if target.is_ok() { 90 } else { 91 }, 0, 0, 0, 0, 0, 0])?;
    relay(client, target?)
}

fn serve_socks5(mut client: TcpStream, resolver: &Resolver) -> io::Result<()> {
    for _ in 0..take(&mut client)? {
        let _method = take(&mut client)?;
    }
    client.write_all(&[5, 0])?;
    let [_version, command, _reserved, kind] = take_array(&mut client)?;
    let (host, port) = take_target(&mut client, kind)?;
    match command {
        BIND => {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            client.write_all(&reply(0, listener.local_addr()?.port()))?;
            wait_for_end(&mut client)
        }
        UDP_ASSOCIATE => {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            client.write_all(&reply(0, socket.local_addr()?.port()))?;
            pass_datagram(&socket)?;
            wait_for_end(&mut client)
        }
        _ => {
            let target = match host {
                Host::Address(address) => connect(SocketAddr::new(address, port)),
                Host::Text(text) => dial(resolver, &text, port),
            };
            client.write_all(&reply(u8::from(target.is_err()), 0))?;
            relay(client, target?)
        }
    }
}

enum Host {
    Address(IpAddr),
    Text(Vec<u8>),
}

fn take_target(client: &mut TcpStream, kind: u8) -> io::Result<(Host, u16)> {
    let host = match kind {
        1 => Host::Address(Ipv4Addr::from(take_array::<4>(client)?).into()),
        4 => Host::Address(Ipv6Addr::from(take_array::<16>(client)?).into()),
        _ => {
            let mut text = vec![0; usize::from(take(client)?)];
            client.read_exact(&mut text)?;
            Host::Text(text)
        }
    };
    Ok((host, u16::from_be_bytes(take_array(client)?)))
}

fn reply(code: u8, port: u16) -> [u8; 10] {
    let [high, low] = port.to_be_bytes();
    [5, code, 0, 1, 127, 0, 0, 1, high, low]
}

/// Passes one datagram on: after three bytes and the kind of an address, an IPv4 address and a port.
fn pass_datagram(socket: &UdpSocket) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer)?;
    if let Some([_, _, _, _, a, b, c, d, high, low, said @ ..]) = buffer.get(..length) {
        let target = SocketAddr::from(([*a, *b, *c, *d], u16::from_be_bytes([*high, *low])));
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(said, target)?;
    }
    Ok(())
}

/// Serves one HTTP client: one request after the other, each to whichever host it names.
pub(super) fn serve_http(mut client: TcpStream, resolver: &Resolver) -> io::Result<()> {
    let mut said = Vec::new();
    loop {
        let Some(head) = take_head(&mut client, &mut said)? else { return Ok(()) };
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if method == b"CONNECT" {
            let (host, port) = split_authority(target);
            let target = dial(resolver, host, port)?;
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            return relay_after(client, target, &said);
        }
        let authority = authority_of_url(target);
        let (host, port) = split_authority(authority);
        let mut server = dial(resolver, host, port)?;
        server.write_all(&head)?;
        let mut answer = [0; 4096];
        let length = server.read(&mut answer)?;
        client.write_all(answer.get(..length).unwrap_or_default())?;
    }
}

/// The next head, up to its blank line; what follows stays.
fn take_head(client: &mut TcpStream, said: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = said.windows(4).position(|part| part == b"\r\n\r\n") {
            return Ok(Some(said.drain(..end + 4).collect()));
        }
        let mut buffer = [0; 4096];
        let length = client.read(&mut buffer)?;
        if length == 0 || said.len() > LONGEST_HEAD {
            return Ok(None);
        }
        said.extend_from_slice(buffer.get(..length).unwrap_or_default());
    }
}

fn authority_of_url(url: &[u8]) -> &[u8] {
    let start = url.windows(3).position(|part| part == b"://").map_or(0, |found| found + 3);
    let rest = url.get(start..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

fn split_authority(authority: &[u8]) -> (&[u8], u16) {
    let colon = authority.iter().rposition(|byte| *byte == b':');
    let after = |colon: usize| authority.get(colon + 1..).unwrap_or_default();
    let port = |colon: usize| std::str::from_utf8(after(colon)).ok()?.parse().ok();
    match colon.and_then(|colon| Some((colon, port(colon)?))) {
        Some((colon, port)) => (authority.get(..colon).unwrap_or_default(), port),
        None => (authority, HTTP_PORT),
    }
}

/// Connects to a host as careless programs read one.
fn dial(resolver: &Resolver, host: &[u8], port: u16) -> io::Result<TcpStream> {
    let addresses = loosely(host).map_or_else(
        |name| {
            Heard::at("resolver of a proxy").hear_name(&name);
            resolver.addresses(&name)
        },
        |address| vec![address],
    );
    let mut last = Err(io::ErrorKind::NotFound.into());
    for address in addresses {
        last = connect(SocketAddr::new(address, port));
        if last.is_ok() {
            break;
        }
    }
    last
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&address, PATIENCE)
}

/// An address, or the name that is left of a host when everything around it is forgiven.
fn loosely(host: &[u8]) -> Result<IpAddr, String> {
    let host = host.get(..LONGEST_NAME).unwrap_or(host);
    // As C reads it, a string ends with its first NUL; others stop at what no name has.
    let host = host.split(|byte| *byte < b' ' || b"#?\\".contains(byte)).next().unwrap_or_default();
    let host = host.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let text = String::from_utf8_lossy(host).replace("%2e", ".").to_ascii_lowercase();
    let inner = text.trim_matches(['[', ']']).split('%').next().unwrap_or_default();
    let name = inner.trim_end_matches('.');
    if matches!(name, "" | "localhost") {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let v4 = || number_address(name).map(IpAddr::V4);
    name.parse().ok().or_else(v4).ok_or_else(|| name.to_owned())
}

/// What `inet_aton` takes for an address: one to four numbers in octal, decimal or hexadecimal, of
/// which the last fills what is left.
fn number_address(text: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
        (None, Some("")) => Some(0),
        (None, Some(digits)) => u32::from_str_radix(digits, 8).ok(),
        (None, None) => part.parse().ok(),
    };
    let numbers: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let shifts = [24_u32, 16, 8];
    let high = first
        .iter()
        .zip(shifts)
        .try_fold(0_u32, |sum, (number, shift)| (*number < 256).then(|| sum | (number << shift)))?;
    (first.len() <= shifts.len()).then(|| Ipv4Addr::from_bits(high | last))
}

fn relay(client: TcpStream, server: TcpStream) -> io::Result<()> {
    relay_after(client, server, &[])
}

/// Passes everything on in both directions, until one of the two has nothing more to say.
fn relay_after(mut client: TcpStream, mut server: TcpStream, said: &[u8]) -> io::Result<()> {
    server.write_all(said)?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _broken = io::copy(&mut from_server, &mut to_client);
            to_client.shutdown(std::net::Shutdown::Both)
        });
        let copied = io::copy(&mut client, &mut server);
        server.shutdown(std::net::Shutdown::Both)?;
        copied.map(drop)
    })
}

fn wait_for_end(client: &mut TcpStream) -> io::Result<()> {
    io::copy(client, &mut io::sink()).map(drop)
}

fn take(client: &mut TcpStream) -> io::Result<u8> {
    let [byte] = take_array(client)?;
    Ok(byte)
}

fn take_array<const LENGTH: usize>(client: &mut TcpStream) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A text that ends with a NUL.
fn take_text(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        match take(client)? {
            0 => return Ok(text),
            _ if text.len() > LONGEST_HEAD => return Err(io::ErrorKind::InvalidData.into()),
            byte => text.push(byte),
        }
    }
}

const BIND: u8 = 2;
const UDP_ASSOCIATE: u8 = 3;
const LONGEST_HEAD: usize = 16 * 1024;
/// As many bytes as a buffer for a name has.
const LONGEST_NAME: usize = 255;
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
