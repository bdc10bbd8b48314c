//! Services of the host on the network, as bait: what a cage reaches of them is a breach. They
//! listen on the host's loopback and on its own addresses, keep what they are sent and answer
//! nothing.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

use serde::{Deserialize, Serialize};

/// Where the services are, as attacks are told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Services {
    /// On `127.0.0.1`, for connections and for datagrams.
    pub loopback: u16,
    /// On `::1`, the same; none where the host has no IPv6.
    pub loopback_v6: Option<u16>,
    /// On an address of the host that is not loopback, the same; none where it has none.
    pub own: Option<SocketAddr>,
}

/// The services themselves.
#[derive(Debug)]
pub(super) struct Listening {
    services: Services,
    pairs: Vec<(TcpListener, UdpSocket)>,
}

impl Listening {
    /// Begins to listen wherever this host can.
    pub(super) fn begin() -> io::Result<Self> {
        let first = pair(IpAddr::from([127, 0, 0, 1]))?;
        let loopback = first.0.local_addr()?.port();
        let mut pairs = vec![first];
        let mut further = |address: IpAddr| {
            let made = pair(address).ok()?;
            let at = made.0.local_addr().ok()?;
            pairs.push(made);
            Some(at)
        };
        let loopback_v6 = further(IpAddr::from(std::net::Ipv6Addr::LOCALHOST)).map(|at| at.port());
        let own = own_address().and_then(&mut further);
        Ok(Self { services: Services { loopback, loopback_v6, own }, pairs })
    }

    /// Where they are.
    pub(super) fn services(&self) -> Services {
        self.services
    }

    /// What has arrived since the last look.
    pub(super) fn arrived(&self) -> Vec<(&'static str, String)> {
        let mut marks = Vec::new();
        let mut buffer = [0_u8; 512];
        for (connections, datagrams) in &self.pairs {
            while let Ok((mut stream, _)) = connections.accept() {
                let mut mark = String::new();
                // What the other side sent before it ended; nothing is sent after.
                let _quiet = stream.set_nonblocking(true);
                let _partly = stream.read_to_string(&mut mark);
                marks.push(("host's TCP service", mark));
            }
            while let Ok(length) = datagrams.recv(&mut buffer) {
                let text = buffer.get(..length).unwrap_or_default();
                marks.push(("host's UDP service", String::from_utf8_lossy(text).into_owned()));
            }
        }
        marks
    }
}

/// A listener and a datagram socket with the same port.
fn pair(address: IpAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let connections = TcpListener::bind((address, 0))?;
    let datagrams = UdpSocket::bind((address, connections.local_addr()?.port()))?;
    connections.set_nonblocking(true)?;
    datagrams.set_nonblocking(true)?;
    Ok((connections, datagrams))
}

/// The address by which this host would speak to another; nothing is sent to find it out.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}
