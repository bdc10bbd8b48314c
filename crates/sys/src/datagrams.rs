//! Datagrams with the address that they were sent to, and answers that come from that address. A
//! server for every address needs both, because a client takes an answer from nobody but whom it
//! asked, and the standard library tells only who sent.

use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::{io, ptr};

use crate::socket_options::switch_on;

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// How many bytes of the buffer it fills; what did not fit is lost.
    pub length: usize,
    /// Who sent it.
    pub peer: SocketAddr,
    /// Where it was sent to.
    pub destination: IpAddr,
}

/// Makes the kernel tell with each datagram where it was sent to, and lets answers come from any
/// address that is routed to this host, even if no interface has it.
pub fn prepare(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd();
    match rustix::net::getsockname(socket)?.address_family() {
        rustix::net::AddressFamily::INET => {
            rustix::net::sockopt::set_ip_freebind(socket, true)?;
            switch_on(socket, libc::IPPROTO_IP, libc::IP_PKTINFO)
        }
        rustix::net::AddressFamily::INET6 => {
            // Unlike IPv4, IPv6 looks at the interfaces and not at the routes when it checks the
            // source (`ip6_datagram_send_ctl`), unless the socket may bind to foreign addresses.
            rustix::net::sockopt::set_ipv6_freebind(socket, true)?;
            switch_on(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
        }
        _ => Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
    }
}

/// Takes one datagram, without waiting for it.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut peer = PeerAddress::unset();
    let mut control = Control::empty();
    let mut data = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut header = message_header(&mut peer, &mut data, &mut control);
    // SAFETY: every pointer of the header must be valid for its length while the call runs: they
    // are the exclusive borrows of `peer`, `data` (and through it `buffer`) and `control` above.
    let length =
        unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &mut header, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let peer = peer.read().ok_or_else(unreadable)?;
    let destination = destination(&header).ok_or_else(unreadable)?;
    Ok(Received { length, peer, destination })
}

/// Sends one datagram from the given address, without waiting for room.
pub fn send(socket: impl AsFd, bytes: &[u8], source: IpAddr, peer: SocketAddr) -> io::Result<()> {
    let mut peer = PeerAddress::new(peer);
    let mut control = Control::empty();
    let mut data = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut header = message_header(&mut peer, &mut data, &mut control);
    header.msg_namelen = peer.length;
    put_source(&mut header, source);
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: every pointer of the header must be valid for its length while the call runs, and is:
    // `peer`, `data` with `bytes`, and `control` live to the end of this function. The kernel only
    // reads from them, so that `bytes` may be a shared borrow.
    let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &header, flags) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn message_header(
    peer: &mut PeerAddress,
    data: &mut libc::iovec,
    control: &mut Control,
) -> libc::msghdr {
    // SAFETY: all zeros must be a value of the type: it has integers and pointers alone.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = ptr::from_mut(&mut peer.storage).cast();
    header.msg_namelen = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
    header.msg_iov = data;
    header.msg_iovlen = 1;
    header.msg_control = ptr::from_mut(control).cast();
    header.msg_controllen = size_of::<Control>() as _;
    header
}

/// Room for a control message, aligned as one.
#[repr(C)]
struct Control {
    _alignment: [libc::cmsghdr; 0],
    _bytes: [u8; 128],
}

impl Control {
    fn empty() -> Self {
        Self { _alignment: [], _bytes: [0; 128] }
    }
}

/// A socket address of either family in the kernel's form.
struct PeerAddress {
    storage: libc::sockaddr_in6,
    length: libc::socklen_t,
}

impl PeerAddress {
    fn unset() -> Self {
        // SAFETY: all zeros must be a value of the type: it has integers alone.
        Self { storage: unsafe { std::mem::zeroed() }, length: 0 }
    }

    fn new(address: SocketAddr) -> Self {
        let mut peer = Self::unset();
        match address {
            SocketAddr::V4(address) => {
                let (length, v4) = (size_of::<libc::sockaddr_in>(), sockaddr_in(address));
                peer.length = length as libc::socklen_t;
                // SAFETY: the target must be valid for a write of the type: `sockaddr_in6` is larger
                // than `sockaddr_in` and at least as aligned, as the assertions below say.
                unsafe { ptr::from_mut(&mut peer.storage).cast::<libc::sockaddr_in>().write(v4) };
            }
            SocketAddr::V6(address) => {
                peer.length = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
                peer.storage.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                peer.storage.sin6_port = address.port().to_be();
                peer.storage.sin6_flowinfo = address.flowinfo();
                peer.storage.sin6_addr.s6_addr = address.ip().octets();
                peer.storage.sin6_scope_id = address.scope_id();
            }
        }
        peer
    }

    fn read(&self) -> Option<SocketAddr> {
        match libc::c_int::from(self.storage.sin6_family) {
            libc::AF_INET => {
                // SAFETY: the source must be valid for a read of the type: both types are integers
                // alone, and `sockaddr_in6` is larger and at least as aligned.
                let v4 = unsafe { ptr::from_ref(&self.storage).cast::<libc::sockaddr_in>().read() };
                let address = Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddrV4::new(address, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                let v6 = &self.storage;
                let (address, port) =
                    (Ipv6Addr::from(v6.sin6_addr.s6_addr), u16::from_be(v6.sin6_port));
                Some(SocketAddrV6::new(address, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

fn sockaddr_in(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: address.ip().to_bits().to_be() },
        sin_zero: [0; 8],
    }
}

/// Where a received datagram was sent to, as its control message says.
fn destination(header: &libc::msghdr) -> Option<IpAddr> {
    // SAFETY: the header's control part must be valid for the length that it has now: the kernel set
    // that to what it wrote.
    let first = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: the pointer must be null or valid for reads: it is one of the two, by CMSG_FIRSTHDR.
    let message = unsafe { first.as_ref() }?;
    let length = message.cmsg_len as usize;
    // SAFETY: the pointer must be one to a control message: it is not null. Taken from `first`, which
    // reaches beyond the message's header.
    let data = unsafe { libc::CMSG_DATA(first) };
    match (message.cmsg_level, message.cmsg_type) {
        (libc::IPPROTO_IP, libc::IP_PKTINFO) if length >= control_length::<libc::in_pktinfo>() => {
            // SAFETY: the data must hold the type, aligned or not: its length was compared above.
            let found = unsafe { data.cast::<libc::in_pktinfo>().read_unaligned() };
            Some(Ipv4Addr::from_bits(u32::from_be(found.ipi_addr.s_addr)).into())
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO)
            if length >= control_length::<libc::in6_pktinfo>() =>
        {
            // SAFETY: the data must hold the type, aligned or not: its length was compared above.
            let found = unsafe { data.cast::<libc::in6_pktinfo>().read_unaligned() };
            Some(Ipv6Addr::from(found.ipi6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// Writes the control message that sets the source address.
fn put_source(header: &mut libc::msghdr, source: IpAddr) {
    match source {
        IpAddr::V4(address) => {
            let source = libc::in_addr { s_addr: address.to_bits().to_be() };
            let information = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: source,
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            put_control(header, libc::IPPROTO_IP, libc::IP_PKTINFO, information);
        }
        IpAddr::V6(address) => {
            let information = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: address.octets() },
                ipi6_ifindex: 0,
            };
            put_control(header, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, information);
        }
    }
}

/// `header` must come from [`message_header`], whose control part is a whole [`Control`].
fn put_control<T: Copy>(
    header: &mut libc::msghdr,
    level: libc::c_int,
    kind: libc::c_int,
    value: T,
) {
    const { assert!(size_of::<T>() + 2 * size_of::<libc::cmsghdr>() <= size_of::<Control>()) };
    // SAFETY: the header's control part must be valid for its length: it is a whole `Control`.
    let first = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: the pointer must be null or valid for writes and not aliased: it points to the
    // `Control` that only this header refers to.
    let Some(message) = (unsafe { first.as_mut() }) else { return };
    message.cmsg_level = level;
    message.cmsg_type = kind;
    message.cmsg_len = control_length::<T>() as _;
    // SAFETY: the pointer must be one to a control message: it is not null. Taken from `first`, which
    // reaches beyond the message's header.
    let data = unsafe { libc::CMSG_DATA(first) };
    // SAFETY: there must be room for the value behind the message's header: the assertion above.
    unsafe { data.cast::<T>().write_unaligned(value) };
    header.msg_controllen = control_space::<T>() as _;
}

/// Length of a control message with this data, as its header has it.
fn control_length<T>() -> usize {
    // SAFETY: there is no obligation: the macro computes with numbers and touches no memory.
    unsafe { libc::CMSG_LEN(size_of::<T>() as libc::c_uint) as usize }
}

/// The same with the padding behind it.
fn control_space<T>() -> usize {
    // SAFETY: there is no obligation: the macro computes with numbers and touches no memory.
    unsafe { libc::CMSG_SPACE(size_of::<T>() as libc::c_uint) as usize }
}

fn unreadable() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

const _: () = assert!(size_of::<libc::sockaddr_in6>() >= size_of::<libc::sockaddr_in>());
const _: () = assert!(align_of::<libc::sockaddr_in6>() >= align_of::<libc::sockaddr_in>());

#[cfg(test)]
mod tests;
