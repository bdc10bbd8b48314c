//! Routes and addresses over rtnetlink: closing a namespace by making every address its own, and
//! asking which addresses a host has. Never changes an interface other than loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use crate::netlink::{
    ACK, CREATE, DUMP, EXCLUSIVE, Message, Netlink, REQUEST, Received, Subsystem, messages_in,
};

#[cfg(test)]
mod tests;

/// Whether a namespace has IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// IPv4 alone.
    V4,
    /// IPv4 and IPv6.
    V4AndV6,
}

/// A step of closing a namespace that the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFailure {
    /// What was to be made, as `ip` would be told.
    pub subject: &'static str,
    /// Why it was not.
    pub errno: Errno,
}

/// Makes every address one of the current network namespace's own: whatever is sent, to wherever,
/// comes back in by loopback, and nothing can leave it, with or without packet rules.
///
/// Loopback also gets [`OWN_V4`] and [`OWN_V6`]. Programs that ask which families there are
/// (`AI_ADDRCONFIG` of getaddrinfo(3)) leave loopback's usual addresses out of account, and without
/// others would resolve nothing.
pub fn make_every_address_own(reach: Reach) -> Result<(), RouteFailure> {
    let failed = |errno| RouteFailure { subject: "a route socket", errno };
    let socket = Netlink::open(Subsystem::Route).map_err(failed)?;
    let mut steps = vec![
        ("address 192.0.0.8/32 dev lo", new_address(LOOPBACK_INDEX, OWN_V4.into(), 32)),
        ("local 0.0.0.0/0 dev lo", new_local_route(OWN_V4.into())),
    ];
    if reach == Reach::V4AndV6 {
        steps.push((
            "address 100:0:0:1::1/128 dev lo",
            new_address(LOOPBACK_INDEX, OWN_V6.into(), 128),
        ));
        steps.push(("local ::/0 dev lo", new_local_route(OWN_V6.into())));
    }
    let (subjects, messages): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    socket.request(messages).map_err(|refusal| RouteFailure {
        subject: subjects.get(refusal.position).copied().unwrap_or("a route"),
        errno: refusal.errno,
    })
}

/// The address by which a closed namespace sends, from the range that never is a host's: the "IPv4
/// dummy address" of RFC 7600.
pub const OWN_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// As [`OWN_V4`], from the "dummy IPv6 prefix" of RFC 9780.
pub const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x100, 0, 0, 1, 0, 0, 0, 1);

/// The addresses of the network namespace in which it was opened, now and as they change.
#[derive(Debug)]
pub struct HostAddresses {
    questions: Netlink,
    news: Netlink,
}

impl HostAddresses {
    /// Opens the sockets. Asking later needs no further authority.
    pub fn open() -> Result<Self, Errno> {
        let questions = Netlink::open(Subsystem::Route)?;
        let news = Netlink::open(Subsystem::Route)?;
        let groups = libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        news.join(u32::try_from(groups).map_err(|_| Errno::INVAL)?)?;
        Ok(Self { questions, news })
    }

    /// All addresses that the namespace has at this moment.
    pub fn current(&self) -> Result<Vec<IpAddr>, Errno> {
        let message = Message::new(libc::RTM_GETADDR, REQUEST | DUMP, &[0; ADDRESS_HEADER]);
        let mut addresses = Vec::new();
        self.questions.dump(message, |entry| addresses.extend(address_of(entry)))?;
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    /// Whether something has changed since the last call. [`AsFd`] gives a descriptor that is
    /// readable when it is worth asking.
    pub fn have_changed(&self) -> Result<bool, Errno> {
        let mut buffer = [0; NEWS];
        let mut changed = false;
        loop {
            match self.news.receive(&mut buffer) {
                Ok(None) => return Ok(changed),
                Ok(Some(packet)) => changed |= messages_in(packet).next().is_some(),
                // More came than the socket holds or the buffer takes.
                Err(Errno::NOBUFS | Errno::MSGSIZE) => changed = true,
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl AsFd for HostAddresses {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// The address of an `RTM_NEWADDR` message. On a point-to-point link `IFA_ADDRESS` is the other
/// end's, and `IFA_LOCAL` our own; IPv6 usually has the former alone.
fn address_of(entry: Received<'_>) -> Option<IpAddr> {
    if entry.kind != libc::RTM_NEWADDR {
        return None;
    }
    let (mut address, mut local) = (None, None);
    for (kind, value) in entry.attributes_after(ADDRESS_HEADER) {
        match kind {
            libc::IFA_ADDRESS => address = address_from(value),
            libc::IFA_LOCAL => local = address_from(value),
            _ => {}
        }
    }
    local.or(address)
}

fn address_from(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|v6| Ipv6Addr::from(v6).into())
}

/// `RTM_NEWADDR` with a `struct ifaddrmsg`: family, prefix length, flags, scope, interface.
pub(crate) fn new_address(interface: u32, address: IpAddr, prefix_length: u8) -> Message {
    let (family, bytes) = family_and_bytes(address);
    let [a, b, c, d] = interface.to_ne_bytes();
    let header =
        [family, prefix_length, NO_DUPLICATE_DETECTION, libc::RT_SCOPE_UNIVERSE, a, b, c, d];
    Message::new(libc::RTM_NEWADDR, REQUEST | ACK | CREATE | EXCLUSIVE, &header)
        .attribute(libc::IFA_LOCAL, &bytes)
        .attribute(libc::IFA_ADDRESS, &bytes)
}

/// `RTM_NEWROUTE` with a `struct rtmsg`: family, lengths of destination and source, type of
/// service, table, protocol, scope, type, flags. The source that programs which bind none get is
/// the given address: with none the kernel would take the destination itself, and a connection
/// could come to meet itself.
fn new_local_route(source: IpAddr) -> Message {
    let (family, bytes) = family_and_bytes(source);
    let header = [
        family,
        0,
        0,
        0,
        libc::RT_TABLE_LOCAL,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_HOST,
        libc::RTN_LOCAL,
        0,
        0,
        0,
        0,
    ];
    Message::new(libc::RTM_NEWROUTE, REQUEST | ACK | CREATE | EXCLUSIVE, &header)
        .attribute(libc::RTA_OIF, &LOOPBACK_INDEX.to_ne_bytes())
        .attribute(libc::RTA_PREFSRC, &bytes)
}

pub(crate) fn family_and_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (FAMILY_V4, address.octets().to_vec()),
        IpAddr::V6(address) => (FAMILY_V6, address.octets().to_vec()),
    }
}

const FAMILY_V4: u8 = libc::AF_INET as u8;
const FAMILY_V6: u8 = libc::AF_INET6 as u8;
/// Loopback is the first interface of every namespace (`LOOPBACK_IFINDEX`).
const LOOPBACK_INDEX: u32 = 1;
/// `IFA_F_NODAD`.
const NO_DUPLICATE_DETECTION: u8 = 0x02;
const ADDRESS_HEADER: usize = 8;
const NEWS: usize = 8192;
