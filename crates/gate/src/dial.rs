//! Connecting to the world outside. Takes what was vetted and nothing else: an address that a cage
//! asked for or a resolver gave cannot be dialled before `vet` has turned it into a [`Vetted`].

mod proxy;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use plan::destination::Name;
use plan::network::Family;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::addresses::HostAddresses;
use crate::decision::{Denial, Target, Vetted, vet};
use crate::dns::{ResolveFailure, Resolver, is_want_of_descriptors};
use crate::limits;
use crate::rules::Rules;
use crate::settings::Proxy;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialFailure {
    /// Every address of the target is refused.
    #[error("{0}")]
    Denied(Denial),
    /// The name has no address.
    #[error("{0}")]
    Unresolved(ResolveFailure),
    /// The other side does not listen.
    #[error("the connection was refused")]
    Refused,
    /// The other side was not reached.
    #[error("no connection: {0}")]
    Unreachable(io::Error),
    /// The gatekeeper had no descriptor left to dial with.
    #[error("there are too many open connections")]
    NoDescriptor,
    /// The other side did not answer.
    #[error("the connection timed out")]
    TimedOut,
    /// The proxy outside said no, or something that is no answer.
    #[error("the proxy refused: {0}")]
    Proxy(String),
}

impl DialFailure {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ if is_want_of_descriptors(&error) => Self::NoDescriptor,
            _ => Self::Unreachable(error),
        }
    }
}

/// Connects to an allowed target.
pub(crate) async fn dial(
    rules: &Rules,
    resolver: &Resolver,
    proxy: Option<&Proxy>,
    target: &Target,
    port: u16,
) -> Result<TcpStream, DialFailure> {
    let connecting = async {
        match (proxy, target) {
            (Some(proxy), Target::Name(_)) => {
                proxy::dial(proxy, resolver, &target.to_string(), port).await
            }
            (Some(proxy), Target::Address(address)) => {
                vet_all(rules, &[*address], port)?;
                let host = match address {
                    IpAddr::V4(address) => address.to_string(),
                    IpAddr::V6(address) => format!("[{address}]"),
                };
                proxy::dial(proxy, resolver, &host, port).await
            }
            (None, Target::Name(name)) => {
                let addresses = addresses_of(resolver, name).await?;
                race(&vet_all(rules, &addresses, port)?).await
            }
            (None, Target::Address(address)) => race(&vet_all(rules, &[*address], port)?).await,
        }
    };
    timeout(limits::CONNECT_ALL, connecting).await.unwrap_or(Err(DialFailure::TimedOut))
}

/// Connects to a service on the host's loopback, which the Plan names by its port alone.
pub(crate) async fn dial_host_port(port: u16) -> Result<TcpStream, DialFailure> {
    let mut last = DialFailure::Refused;
    for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        match connect(SocketAddr::new(address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// The addresses of a name, of both families in turn, IPv6 first (RFC 8305).
async fn addresses_of(resolver: &Resolver, name: &Name) -> Result<Vec<IpAddr>, DialFailure> {
    let mut v6 = pin!(resolver.addresses(name, Family::V6));
    let mut v4 = pin!(resolver.addresses(name, Family::V4));
    // Some resolvers take their time to say that a host has no address of one of the families.
    let (v6, v4) = tokio::select! {
        v6 = &mut v6 => match v6 {
            Ok(_) => (Some(v6), timeout(OTHER_FAMILY, v4).await.ok()),
            Err(_) => (Some(v6), Some(v4.await)),
        },
        v4 = &mut v4 => match v4 {
            Ok(_) => (timeout(OTHER_FAMILY, v6).await.ok(), Some(v4)),
            Err(_) => (Some(v6.await), Some(v4)),
        },
    };
    if let (Some(Err(_)), Some(Err(failure))) = (&v6, &v4) {
        return Err(DialFailure::Unresolved(failure.clone()));
    }
    let found = |answer: Option<Result<Arc<[IpAddr]>, _>>| answer.and_then(Result::ok);
    let (v6, v4) = (found(v6).unwrap_or_default(), found(v4).unwrap_or_default());
    let longest = v4.len().max(v6.len());
    let both = (0..longest).flat_map(|index| [v6.get(index), v4.get(index)]);
    Ok(both.flatten().copied().take(MOST_ADDRESSES).collect())
}

/// Those that may be dialled; if there are none, why the first may not.
fn vet_all(rules: &Rules, addresses: &[IpAddr], port: u16) -> Result<Vec<Vetted>, DialFailure> {
    let mut own = Vec::new();
    for address in addresses {
        if is_own(*address).map_err(DialFailure::of)? {
            own.push(*address);
        }
    }
    let own: HostAddresses = own.into_iter().collect();
    let mut vetted = Vec::new();
    let mut first = None;
    for address in addresses {
        match vet(rules, &own, *address, port) {
            Ok(one) => vetted.push(one),
            Err(denial) => {
                first.get_or_insert(denial);
            }
        }
    }
    match first {
        Some(denial) if vetted.is_empty() => Err(DialFailure::Denied(denial)),
        _ => Ok(vetted),
    }
}

/// Whether the address is the host's own: the kernel would then talk to it from that very address.
/// Asked for each dial, because a host's addresses change. A datagram socket that is connected sends
/// nothing.
fn is_own(address: IpAddr) -> io::Result<bool> {
    let family = match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = match rustix::net::socket_with(family, SocketType::DGRAM, flags, None) {
        // A host without this family has no address of it.
        Err(Errno::AFNOSUPPORT) => return Ok(false),
        other => other?,
    };
    if rustix::net::connect(&socket, &SocketAddr::new(address, ANY_PORT)).is_err() {
        // What has no route is not reached from here at all.
        return Ok(false);
    }
    let local = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok(local.ip().to_canonical() == address.to_canonical())
}

/// Tries the addresses in order, each a little after the one before, and takes the first connection.
async fn race(addresses: &[Vetted]) -> Result<TcpStream, DialFailure> {
    if let [only] = addresses {
        return connect(only.socket_address()).await;
    }
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.iter();
    let mut last = DialFailure::Unreachable(Errno::NETUNREACH.into());
    loop {
        if let Some(next) = waiting.next() {
            attempts.spawn(connect(next.socket_address()));
        }
        tokio::select! {
            Some(ended) = attempts.join_next() => match ended {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(failure)) => last = worse(last, failure),
                Err(_) => {}
            },
            () = sleep(limits::NEXT_ADDRESS), if waiting.len() > 0 => {}
            else => return Err(last),
        }
    }
}

/// Which of two failures says more: a refusal comes from the host itself.
fn worse(one: DialFailure, other: DialFailure) -> DialFailure {
    match (&one, &other) {
        (DialFailure::Refused | DialFailure::NoDescriptor, _) => one,
        (DialFailure::TimedOut, DialFailure::Unreachable(_)) => one,
        _ => other,
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, DialFailure> {
    match timeout(limits::CONNECT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => {
            // A connection without this still works, only slower.
            let _slower = stream.set_nodelay(true);
            Ok(stream)
        }
        Ok(Err(error)) => Err(DialFailure::of(error)),
        Err(_) => Err(DialFailure::TimedOut),
    }
}

/// How long the addresses of one family are waited for when those of the other are known.
const OTHER_FAMILY: Duration = Duration::from_millis(50);
/// How many addresses of one name are tried.
const MOST_ADDRESSES: usize = 16;
/// Some port; the discard service's.
const ANY_PORT: u16 = 9;

#[cfg(test)]
mod tests;
