//! Listeners on the host's loopback for the ports that a cage publishes. Made before the cage is, so
//! that a port which is taken is told before anything has run.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::outcome::SpawnError;

/// A listener for one port.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) port: u16,
    pub(super) listener: OwnedFd,
}

/// Listens on both loopback addresses; a host without IPv6 has one.
pub(super) fn listen(ports: &[u16]) -> Result<Vec<Published>, SpawnError> {
    let mut published = Vec::new();
    for port in ports {
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            match TcpListener::bind(SocketAddr::new(address, *port)) {
                Ok(listener) => {
                    published.push(Published { port: *port, listener: listener.into() })
                }
                Err(error) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    let absent = matches!(errno, Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT);
                    if !(address.is_ipv6() && absent) {
                        return Err(SpawnError::Published { port: *port, errno });
                    }
                }
            }
        }
    }
    Ok(published)
}
