//! The kernel's packet log (nfnetlink_log): hearing about the datagrams that a namespace's rules
//! refused. What it tells was sent by whatever runs there: the reader is a pure function, takes any
//! bytes, and gives back addresses and ports alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::netlink::{ACK, Message, Netlink, REQUEST, Subsystem, messages_in};
use crate::nftables::LOGGED_BYTES;

#[cfg(test)]
mod tests;

/// One group of the current network namespace's packet log.
#[derive(Debug)]
pub struct PacketLog(Netlink);

/// A datagram that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedDatagram {
    /// Who sent it.
    pub source: SocketAddr,
    /// To where.
    pub destination: SocketAddr,
}

impl PacketLog {
    /// Begins to hear a group, which one socket can. Every packet is told at once, and those that
    /// come faster than they are read are lost, without a word.
    pub fn bind(group: u16) -> Result<Self, Errno> {
        let socket = Netlink::open(Subsystem::Netfilter)?;
        let [high, low] = group.to_be_bytes();
        let config = || Message::new(SUBSYSTEM << 8 | CONFIG, REQUEST | ACK, &[0, 0, high, low]);
        let [a, b, c, d] = LOGGED_BYTES.to_be_bytes();
        let messages = vec![
            config().attribute(CONFIG_COMMAND, &[BIND]),
            config()
                .attribute(CONFIG_MODE, &[a, b, c, d, COPY_PACKET, 0])
                .attribute(CONFIG_THRESHOLD, &1_u32.to_be_bytes()),
        ];
        socket.request(messages).map_err(|refusal| refusal.errno)?;
        Ok(Self(socket))
    }

    /// Takes a log that was bound elsewhere.
    pub fn from_fd(socket: OwnedFd) -> Self {
        Self(Netlink::from_fd(socket))
    }

    /// The socket itself.
    pub fn into_fd(self) -> OwnedFd {
        self.0.into_fd()
    }

    /// The datagrams of the next packet of the log; none when there is none yet.
    pub fn receive(&self) -> Result<Option<Vec<RefusedDatagram>>, Errno> {
        let mut buffer = vec![0; RECEIVE];
        match self.0.receive(&mut buffer) {
            Ok(packet) => Ok(packet.map(|packet| refused_datagrams(packet).collect())),
            // Some were lost; more will come.
            Err(Errno::NOBUFS | Errno::MSGSIZE) => Ok(Some(Vec::new())),
            Err(errno) => Err(errno),
        }
    }
}

impl AsFd for PacketLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The datagrams in a packet of the log. Whatever is not one is passed over.
pub fn refused_datagrams(packet: &[u8]) -> impl Iterator<Item = RefusedDatagram> {
    messages_in(packet).filter(|message| message.kind == SUBSYSTEM << 8 | LOGGED).filter_map(
        |message| {
            let mut attributes = message.attributes_after(HEADER);
            let (_, logged) = attributes.find(|(kind, _)| *kind == PAYLOAD)?;
            datagram(logged)
        },
    )
}

/// Addresses and ports of the headers of a UDP datagram, from its first bytes.
fn datagram(packet: &[u8]) -> Option<RefusedDatagram> {
    match packet.first()? >> 4 {
        4 => {
            let length = usize::from(packet.first()? & 0xf) * 4;
            let source = Ipv4Addr::from(*packet.get(12..)?.first_chunk::<4>()?);
            let destination = Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?);
            // Fragments but the first have no ports.
            let offset = u16::from_be_bytes(*packet.get(6..)?.first_chunk()?) & 0x1fff;
            let udp = *packet.get(9)? == UDP && offset == 0 && length >= 20;
            udp.then(|| between(source.into(), destination.into(), packet.get(length..)))?
        }
        6 => {
            let source = Ipv6Addr::from(*packet.get(8..)?.first_chunk::<16>()?);
            let destination = Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?);
            let udp = *packet.get(6)? == UDP;
            udp.then(|| between(source.into(), destination.into(), packet.get(40..)))?
        }
        _ => None,
    }
}

fn between(source: IpAddr, destination: IpAddr, udp: Option<&[u8]>) -> Option<RefusedDatagram> {
    let [a, b, c, d] = *udp?.first_chunk()?;
    Some(RefusedDatagram {
        source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
    })
}

// What follows is of `linux/netfilter/nfnetlink_log.h`.
const SUBSYSTEM: u16 = 4;
const LOGGED: u16 = 0;
const CONFIG: u16 = 1;
const CONFIG_COMMAND: u16 = 1;
const CONFIG_MODE: u16 = 2;
const CONFIG_THRESHOLD: u16 = 5;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
const PAYLOAD: u16 = 9;
/// `struct nfgenmsg`.
const HEADER: usize = 4;
const UDP: u8 = 17;
const RECEIVE: usize = 16 * 1024;
