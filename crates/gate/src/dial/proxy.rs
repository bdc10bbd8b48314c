//! The way out through a proxy of the user's: one `CONNECT` for each connection. The proxy looks the
//! name up, so what address it leads to is the proxy's to judge.

use std::net::{IpAddr, SocketAddr};

use plan::destination::Name;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{DialFailure, addresses_of, connect};
use crate::dns::Resolver;
use crate::limits;
use crate::settings::Proxy;

/// Connects to `host`, which is written as HTTP does, through the proxy.
pub(super) async fn dial(
    proxy: &Proxy,
    resolver: &Resolver,
    host: &str,
    port: u16,
) -> Result<TcpStream, DialFailure> {
    let mut stream = connect_to(proxy, resolver).await?;
    let request = request(proxy, host, port)?;
    stream.write_all(request.as_bytes()).await.map_err(DialFailure::Unreachable)?;
    let head = timeout(limits::CONNECT, answer(&mut stream));
    let head = head.await.unwrap_or(Err(DialFailure::TimedOut))?;
    match status(&head) {
        Some(200..=299) => Ok(stream),
        Some(code) => Err(DialFailure::Proxy(format!("it answered with status {code}"))),
        None => Err(DialFailure::Proxy("its answer is not HTTP".to_owned())),
    }
}

async fn connect_to(proxy: &Proxy, resolver: &Resolver) -> Result<TcpStream, DialFailure> {
    let addresses = match (proxy.host.parse::<IpAddr>(), Name::parse(&proxy.host)) {
        (Ok(address), _) => vec![address],
        (Err(_), Ok(name)) => addresses_of(resolver, &name).await?,
        (Err(_), Err(error)) => return Err(DialFailure::Proxy(error.to_string())),
    };
    // Taken from the user's own configuration, so it needs no vetting: it is often a private address.
    let mut last = DialFailure::Proxy("it has no address".to_owned());
    for address in addresses {
        match connect(SocketAddr::new(address, proxy.port)).await {
            Ok(stream) => return Ok(stream),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

fn request(proxy: &Proxy, host: &str, port: u16) -> Result<String, DialFailure> {
    let authorization = match &proxy.authorization {
        Some(value) if value.chars().any(char::is_control) => {
            let problem = "the authorization for it has control characters";
            return Err(DialFailure::Proxy(problem.to_owned()));
        }
        Some(value) => format!("Proxy-Authorization: {value}\r\n"),
        None => String::new(),
    };
    Ok(format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization}\r\n"))
}

/// The head of the answer and not a byte more: what follows is the other side's.
async fn answer(stream: &mut TcpStream) -> Result<Vec<u8>, DialFailure> {
    let mut head = Vec::new();
    let mut looked = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        let length = stream.peek(&mut looked).await.map_err(DialFailure::Unreachable)?;
        if length == 0 || head.len() >= LONGEST_HEAD {
            return Err(DialFailure::Proxy("its answer has no end".to_owned()));
        }
        let before = head.len();
        for byte in looked.iter().take(length) {
            head.push(*byte);
            if head.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let taken = looked.get_mut(..head.len() - before).unwrap_or_default();
        stream.read_exact(taken).await.map_err(DialFailure::Unreachable)?;
    }
    Ok(head)
}

fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    let (digits, rest) = rest.split_at_checked(3)?;
    let ends = rest.first().is_some_and(|byte| b" \r".contains(byte));
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|_| ends)
}

const LONGEST_HEAD: usize = 8 * 1024;
