//! Sockets of a component: those of this process, and only where the world says that the guest has what this process has, which
//! in a cage is the cage's network. Elsewhere none is made and no name is looked up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use wasmtime::component::Resource;

use super::super::waiting::{monotonic, wait};
use super::bindings::wasi::sockets::instance_network;
use super::bindings::wasi::sockets::network::{
    self, ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress,
    Ipv6SocketAddress,
};
use super::codes::{Failed, SocketFault, socket_code};
use super::host::{Host, Place};
use crate::world::Around;

/// The one network that there is.
#[derive(Clone, Copy, Debug)]
pub struct Network;

/// One socket, which its streams and whoever waits for it hold too.
#[derive(Debug)]
pub struct Socket {
    pub(super) descriptor: OwnedFd,
    pub(super) family: IpAddressFamily,
    /// What was written and the kernel has not taken yet.
    pending: Mutex<Vec<u8>>,
    _place: Place,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // What was written goes, unless nobody takes it.
        let until = monotonic().saturating_add(LINGERING);
        while let (Ok(false), now) = (self.flush(), monotonic()) {
            let mut polled = [PollFd::new(&self.descriptor, PollFlags::OUT)];
            let waited = wait(&mut polled, Some(until.saturating_sub(now)));
            if now >= until || waited.is_err() {
                break;
            }
        }
    }
}

impl Host {
    /// A new socket, if the component may have one.
    pub(super) fn socket(
        &mut self,
        family: IpAddressFamily,
        kind: SocketType,
    ) -> Result<Arc<Socket>, SocketFault> {
        self.may_reach_out()?;
        let place = self.place().ok_or(ErrorCode::NewSocketLimit)?;
        let domain = match family {
            IpAddressFamily::Ipv4 => AddressFamily::INET,
            IpAddressFamily::Ipv6 => AddressFamily::INET6,
        };
        let descriptor = rustix::net::socket_with(domain, kind, FLAGS, None)?;
        if family == IpAddressFamily::Ipv6 {
            sockopt::set_ipv6_v6only(&descriptor, true)?;
        }
        Ok(Arc::new(Socket::new(descriptor, family, place)))
    }

    /// Whether there is a network for it.
    pub(super) fn may_reach_out(&self) -> Result<(), SocketFault> {
        match self.world.around {
            Around::ThisProcess => Ok(()),
            Around::Nothing | Around::Tools(_) => Err(ErrorCode::AccessDenied.into()),
        }
    }
}

impl Socket {
    pub(super) fn new(descriptor: OwnedFd, family: IpAddressFamily, place: Place) -> Self {
        Self { descriptor, family, pending: Mutex::default(), _place: place }
    }

    pub(super) fn receive(&self, into: &mut [u8]) -> Result<usize, Errno> {
        let received = rustix::net::recv(&self.descriptor, into, RecvFlags::DONTWAIT);
        received.map(|(_, count)| count)
    }

    /// Sends what the kernel takes and remembers the rest, of which there is a bound.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), Errno> {
        let is_empty = self.flush()?;
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = if is_empty { self.send_now(bytes)? } else { 0 };
        let rest = bytes.get(sent..).unwrap_or_default();
        if pending.len().saturating_add(rest.len()) > MOST_PENDING {
            // More than `check-write` has permitted.
            return Err(Errno::NOBUFS);
        }
        pending.extend_from_slice(rest);
        Ok(())
    }

    fn send_now(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::net::send(&self.descriptor, bytes, flags) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            sent => sent,
        }
    }

    /// Sends what is left, and says whether nothing is any more.
    pub(super) fn flush(&self) -> Result<bool, Errno> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if !pending.is_empty() {
            let sent = self.send_now(&pending)?;
            let sent = sent.min(pending.len());
            pending.drain(..sent);
        }
        Ok(pending.is_empty())
    }

    /// The same, as long as it takes.
    pub(super) fn flush_waiting(&self) -> Result<(), Errno> {
        while !self.flush()? {
            wait(&mut [PollFd::new(&self.descriptor, PollFlags::OUT)], None)?;
        }
        Ok(())
    }

    /// Whether it is ready for that now.
    pub(super) fn is_ready(&self, flags: PollFlags) -> Result<bool, Errno> {
        let mut polled = [PollFd::new(&self.descriptor, flags)];
        wait(&mut polled, Some(0))?;
        Ok(polled.iter().any(|entry| !entry.revents().is_empty()))
    }

    /// An address that a socket of this family can be used with, and that is one for one peer.
    pub(super) fn address(&self, address: IpSocketAddress) -> Result<SocketAddr, SocketFault> {
        let address = from_wasi(address);
        let fits = match (self.family, address.ip()) {
            (IpAddressFamily::Ipv4, IpAddr::V4(ip)) => !ip.is_multicast() && !ip.is_broadcast(),
            (IpAddressFamily::Ipv6, IpAddr::V6(ip)) => {
                !ip.is_multicast() && ip.to_ipv4_mapped().is_none()
            }
            _ => false,
        };
        if fits { Ok(address) } else { Err(ErrorCode::InvalidArgument.into()) }
    }

    /// The same, of somebody else.
    pub(super) fn peer(&self, address: IpSocketAddress) -> Result<SocketAddr, SocketFault> {
        let address = self.address(address)?;
        match address.ip().is_unspecified() || address.port() == 0 {
            true => Err(ErrorCode::InvalidArgument.into()),
            false => Ok(address),
        }
    }

    pub(super) fn local_address(&self) -> Result<IpSocketAddress, SocketFault> {
        let address = SocketAddr::try_from(rustix::net::getsockname(&self.descriptor)?)?;
        Ok(to_wasi(address))
    }

    pub(super) fn remote_address(&self) -> Result<IpSocketAddress, SocketFault> {
        let address = rustix::net::getpeername(&self.descriptor)?;
        let address = address.ok_or(ErrorCode::InvalidState)?;
        Ok(to_wasi(SocketAddr::try_from(address)?))
    }

    pub(super) fn hop_limit(&self) -> Result<u8, SocketFault> {
        Ok(match self.family {
            IpAddressFamily::Ipv4 => {
                u8::try_from(sockopt::ip_ttl(&self.descriptor)?).unwrap_or(u8::MAX)
            }
            IpAddressFamily::Ipv6 => sockopt::ipv6_unicast_hops(&self.descriptor)?,
        })
    }

    pub(super) fn set_hop_limit(&self, value: u8) -> Result<(), SocketFault> {
        match (value, self.family) {
            (0, _) => return Err(ErrorCode::InvalidArgument.into()),
            (_, IpAddressFamily::Ipv4) => sockopt::set_ip_ttl(&self.descriptor, value.into())?,
            (_, IpAddressFamily::Ipv6) => {
                sockopt::set_ipv6_unicast_hops(&self.descriptor, Some(value))?;
            }
        }
        Ok(())
    }

    pub(super) fn receive_buffer(&self) -> Result<u64, SocketFault> {
        Ok(sockopt::socket_recv_buffer_size(&self.descriptor)? as u64)
    }

    pub(super) fn set_receive_buffer(&self, value: u64) -> Result<(), SocketFault> {
        Ok(sockopt::set_socket_recv_buffer_size(&self.descriptor, buffer(value)?)?)
    }

    pub(super) fn send_buffer(&self) -> Result<u64, SocketFault> {
        Ok(sockopt::socket_send_buffer_size(&self.descriptor)? as u64)
    }

    pub(super) fn set_send_buffer(&self, value: u64) -> Result<(), SocketFault> {
        Ok(sockopt::set_socket_send_buffer_size(&self.descriptor, buffer(value)?)?)
    }
}

/// The kernel makes less of what is too much.
fn buffer(value: u64) -> Result<usize, SocketFault> {
    match value {
        0 => Err(ErrorCode::InvalidArgument.into()),
        _ => Ok(usize::try_from(value).unwrap_or(MOST_BUFFER).min(MOST_BUFFER)),
    }
}

fn from_wasi(address: IpSocketAddress) -> SocketAddr {
    match address {
        IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (a, b, c, d) }) => {
            SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port).into()
        }
        IpSocketAddress::Ipv6(Ipv6SocketAddress { port, flow_info, address, scope_id }) => {
            let (a, b, c, d, e, f, g, h) = address;
            let ip = Ipv6Addr::new(a, b, c, d, e, f, g, h);
            SocketAddrV6::new(ip, port, flow_info, scope_id).into()
        }
    }
}

pub(super) fn to_wasi(address: SocketAddr) -> IpSocketAddress {
    match address {
        SocketAddr::V4(address) => {
            let [a, b, c, d] = address.ip().octets();
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port: address.port(), address: (a, b, c, d) })
        }
        SocketAddr::V6(address) => IpSocketAddress::Ipv6(Ipv6SocketAddress {
            port: address.port(),
            flow_info: address.flowinfo(),
            address: segments(*address.ip()),
            scope_id: address.scope_id(),
        }),
    }
}

pub(super) fn ip_to_wasi(address: IpAddr) -> IpAddress {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            IpAddress::Ipv4((a, b, c, d))
        }
        IpAddr::V6(address) => IpAddress::Ipv6(segments(address)),
    }
}

const fn segments(address: Ipv6Addr) -> (u16, u16, u16, u16, u16, u16, u16, u16) {
    let [a, b, c, d, e, f, g, h] = address.segments();
    (a, b, c, d, e, f, g, h)
}

impl network::Host for Host {
    fn convert_error_code(&mut self, fault: SocketFault) -> wasmtime::Result<ErrorCode> {
        fault.code()
    }

    fn network_error_code(
        &mut self,
        failed: Resource<Failed>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(match self.table.get(&failed)? {
            Failed::System(errno) => Some(socket_code(*errno)),
            Failed::Request(_) => None,
        })
    }
}

impl network::HostNetwork for Host {
    fn drop(&mut self, network: Resource<Network>) -> wasmtime::Result<()> {
        self.table.delete(network)?;
        Ok(())
    }
}

impl instance_network::Host for Host {
    fn instance_network(&mut self) -> wasmtime::Result<Resource<Network>> {
        self.push(Network)
    }
}

pub(super) const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
/// How long a socket that is dropped waits for somebody to take what was written, in nanoseconds.
const LINGERING: u64 = 1_000_000_000;
const MOST_PENDING: usize = 128 << 10;
const MOST_BUFFER: usize = 16 << 20;
