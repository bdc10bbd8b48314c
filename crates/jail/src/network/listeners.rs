//! The sockets by which a cage's programs meet the gatekeeper, made inside the namespace: none of
//! them can be made from outside. All are non-blocking and closed on execution; IPv6 ones take
//! IPv6 alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use plan::GatekeeperPlan;
use plan::network::{Family, HTTP_PROXY_PORT, SOCKS_PORT, SocketKind, TRANSPARENT_PORT, Transport};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use sys::nftables::Delivery;
use sys::route::Reach;

use super::arrival::Arrival;
use super::failed;
use crate::SetupFailure;

/// Whether the namespace has IPv6: a kernel can be built or started without it, and new namespaces
/// can be set to begin without.
pub(super) fn reach() -> Reach {
    let bound = socket(Ipv6Addr::LOCALHOST.into(), SocketType::DGRAM)
        .and_then(|socket| bind(socket, SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0)));
    if bound.is_ok() { Reach::V4AndV6 } else { Reach::V4 }
}

/// All listeners of a Plan.
pub(super) fn make(
    plan: &GatekeeperPlan,
    arrival: &Arrival,
    reach: Reach,
) -> Result<Vec<(SocketKind, OwnedFd)>, SetupFailure> {
    let families: &[Family] = match reach {
        Reach::V4 => &[Family::V4],
        Reach::V4AndV6 => &[Family::V4, Family::V6],
    };
    let mut wanted = vec![
        (SocketKind::Socks, Family::V4, Place::Loopback, SOCKS_PORT),
        (SocketKind::HttpProxy, Family::V4, Place::Loopback, HTTP_PROXY_PORT),
    ];
    for &family in families {
        for transport in [Transport::Udp, Transport::Tcp] {
            wanted.push((SocketKind::Dns { family, transport }, family, Place::Anywhere, DNS_PORT));
        }
        match arrival {
            Arrival::Rules(delivery, _) => {
                let kind = match delivery {
                    Delivery::Assigned => SocketKind::Transparent { family },
                    Delivery::Translated => SocketKind::Redirected { family },
                };
                wanted.push((kind, family, Place::Loopback, TRANSPARENT_PORT));
            }
            Arrival::PerPort(ports) => wanted.extend(ports.iter().map(|&port| {
                (SocketKind::PerPort { family, port }, family, Place::Anywhere, port)
            })),
        }
        wanted.extend(
            plan.host_ports.iter().map(|&port| {
                (SocketKind::HostPort { family, port }, family, Place::Loopback, port)
            }),
        );
    }
    wanted
        .into_iter()
        .map(|(kind, family, place, port)| {
            let address = SocketAddr::new(place.address(family), port);
            let socket = match kind {
                SocketKind::Dns { transport: Transport::Udp, .. } => datagrams(address),
                SocketKind::Transparent { .. } => transparent_listener(address),
                _ => listener(address),
            };
            socket.map(|socket| (kind, socket))
        })
        .collect()
}

/// Which of the namespace's addresses a listener takes.
#[derive(Clone, Copy)]
enum Place {
    Loopback,
    Anywhere,
}

impl Place {
    fn address(self, family: Family) -> IpAddr {
        match (self, family) {
            (Self::Loopback, Family::V4) => Ipv4Addr::LOCALHOST.into(),
            (Self::Loopback, Family::V6) => Ipv6Addr::LOCALHOST.into(),
            (Self::Anywhere, Family::V4) => Ipv4Addr::UNSPECIFIED.into(),
            (Self::Anywhere, Family::V6) => Ipv6Addr::UNSPECIFIED.into(),
        }
    }
}

fn listener(address: SocketAddr) -> Result<OwnedFd, SetupFailure> {
    let made = socket(address.ip(), SocketType::STREAM).and_then(|socket| bind(socket, address));
    let socket = made.map_err(|errno| failed("bind", format!("tcp {address}"), errno))?;
    rustix::net::listen(&socket, BACKLOG)
        .map_err(|errno| failed("listen", format!("tcp {address}"), errno))?;
    Ok(socket)
}

fn transparent_listener(address: SocketAddr) -> Result<OwnedFd, SetupFailure> {
    let socket = listener(address)?;
    sys::socket_options::make_transparent(&socket).map_err(|error| {
        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
        failed("IP_TRANSPARENT", format!("tcp {address}"), errno)
    })?;
    Ok(socket)
}

/// Questions to every address arrive here, each with the address that it was sent to.
pub(super) fn datagrams(address: SocketAddr) -> Result<OwnedFd, SetupFailure> {
    let made = socket(address.ip(), SocketType::DGRAM)
        .and_then(|socket| bind(socket, address))
        .and_then(|socket| {
            sys::datagrams::prepare(&socket)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            Ok(socket)
        });
    made.map_err(|errno| failed("bind", format!("udp {address}"), errno))
}

fn socket(address: IpAddr, kind: SocketType) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, kind, flags, None)?;
    if address.is_ipv6() {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

fn bind(socket: OwnedFd, address: SocketAddr) -> Result<OwnedFd, Errno> {
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

pub(super) const DNS_PORT: u16 = 53;
/// As many as a namespace allows by itself.
const BACKLOG: i32 = 4096;
