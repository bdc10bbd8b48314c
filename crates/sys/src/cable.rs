//! A cable between two network namespaces: a pair of virtual Ethernet devices with addresses, as a
//! world of their own needs that plays the network in an attack or a measurement. Works on
//! namespaces over which the caller has `CAP_NET_ADMIN`, and never finds one by itself.

use std::net::IpAddr;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::Pid;

use crate::netlink::{ACK, CREATE, EXCLUSIVE, Message, Netlink, REQUEST, Subsystem};
use crate::route::{family_and_bytes, new_address};

/// Lays a cable: one end becomes a device of this process's network namespace, the other one a
/// device of `other`'s.
pub fn lay(end: &str, other_end: &str, other: Pid) -> Result<(), Errno> {
    let other = other.as_raw_nonzero().get().to_ne_bytes();
    let message = new_link(REQUEST | ACK | CREATE | EXCLUSIVE, &[0; LINK_HEADER])
        .attribute(libc::IFLA_IFNAME, &terminated(end))
        .nested(libc::IFLA_LINKINFO, |kind| {
            kind.attribute(libc::IFLA_INFO_KIND, b"veth").nested(libc::IFLA_INFO_DATA, |data| {
                // The peer is a header of its own with attributes behind it.
                data.nested(PEER, |peer| {
                    peer.header(&[0; LINK_HEADER])
                        .attribute(libc::IFLA_IFNAME, &terminated(other_end))
                        .attribute(libc::IFLA_NET_NS_PID, &other)
                })
            })
        });
    request(message)
}

/// Gives a device of this process's network namespace an address and the network around it.
pub fn add_address(device: &str, address: IpAddr, prefix_length: u8) -> Result<(), Errno> {
    request(new_address(index_of(device)?, address, prefix_length))
}

/// Brings a device of this process's network namespace up.
pub fn bring_up(device: &str) -> Result<(), Errno> {
    let up = libc::IFF_UP.unsigned_abs().to_ne_bytes();
    // `struct ifinfomsg`: family, padding, type, index, flags, and which of them to change.
    let mut header = [0; LINK_HEADER];
    let (_, flags_and_change) = header.split_at_mut(LINK_HEADER - 2 * up.len());
    for place in flags_and_change.chunks_exact_mut(up.len()) {
        place.copy_from_slice(&up);
    }
    request(new_link(REQUEST | ACK, &header).attribute(libc::IFLA_IFNAME, &terminated(device)))
}

/// Sends what no other route covers to a gateway.
pub fn add_default_route(gateway: IpAddr) -> Result<(), Errno> {
    let (family, bytes) = family_and_bytes(gateway);
    // `struct rtmsg`: family, lengths of destination and source, type of service, table, protocol,
    // scope, type, flags.
    let header = [
        family,
        0,
        0,
        0,
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_UNIVERSE,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    let message = Message::new(libc::RTM_NEWROUTE, REQUEST | ACK | CREATE | EXCLUSIVE, &header);
    request(message.attribute(libc::RTA_GATEWAY, &bytes))
}

fn request(message: Message) -> Result<(), Errno> {
    Netlink::open(Subsystem::Route)?.request(vec![message]).map_err(|refusal| refusal.errno)
}

fn new_link(flags: u16, header: &[u8; LINK_HEADER]) -> Message {
    Message::new(libc::RTM_NEWLINK, flags, header)
}

fn index_of(device: &str) -> Result<u32, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    name_to_index(socket.as_fd(), device)
}

fn terminated(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

/// `VETH_INFO_PEER`.
const PEER: u16 = 1;
/// The size of `struct ifinfomsg`.
const LINK_HEADER: usize = 16;

#[cfg(test)]
mod tests;
