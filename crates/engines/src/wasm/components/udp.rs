//! `wasi:sockets/udp`: datagrams from and to anybody, or one peer. Nothing here waits.

use std::net::SocketAddr;
use std::sync::Arc;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, SocketType, bind, connect, connect_unspec, recvfrom, send, sendto,
};
use wasmtime::component::Resource;

use super::bindings::wasi::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress};
use super::bindings::wasi::sockets::udp::{self, IncomingDatagram, OutgoingDatagram};
use super::bindings::wasi::sockets::udp_create_socket;
use super::codes::SocketFault;
use super::host::Host;
use super::network::{Network, Socket, to_wasi};
use super::pollables::Pollable;

/// A socket, and how far it is.
#[derive(Debug)]
pub struct UdpSocket {
    socket: Arc<Socket>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Binding,
    Bound,
    /// It speaks to one peer alone.
    Connected,
}

/// What comes.
#[derive(Debug)]
pub struct Incoming(Arc<Socket>);

/// What goes: to one peer, or to whomever each datagram names.
#[derive(Debug)]
pub struct Outgoing {
    socket: Arc<Socket>,
    peer: Option<SocketAddr>,
}

type Outcome<T> = Result<T, SocketFault>;
type Handle = Resource<UdpSocket>;

impl udp_create_socket::Host for Host {
    fn create_udp_socket(&mut self, family: IpAddressFamily) -> Outcome<Handle> {
        let socket = self.socket(family, SocketType::DGRAM)?;
        Ok(self.push(UdpSocket { socket, state: State::New })?)
    }
}

impl udp::Host for Host {}

impl udp::HostUdpSocket for Host {
    fn start_bind(
        &mut self,
        handle: Handle,
        _network: Resource<Network>,
        address: IpSocketAddress,
    ) -> Outcome<()> {
        let udp = self.table.get_mut(&handle)?;
        match udp.state {
            State::New => {}
            State::Binding => return Err(ErrorCode::ConcurrencyConflict.into()),
            State::Bound | State::Connected => return Err(ErrorCode::InvalidState.into()),
        }
        bind(&udp.socket.descriptor, &udp.socket.address(address)?)?;
        udp.state = State::Binding;
        Ok(())
    }

    fn finish_bind(&mut self, handle: Handle) -> Outcome<()> {
        let udp = self.table.get_mut(&handle)?;
        if udp.state != State::Binding {
            return Err(ErrorCode::NotInProgress.into());
        }
        udp.state = State::Bound;
        Ok(())
    }

    fn stream(
        &mut self,
        handle: Handle,
        peer: Option<IpSocketAddress>,
    ) -> Outcome<(Resource<Incoming>, Resource<Outgoing>)> {
        let udp = self.table.get_mut(&handle)?;
        if matches!(udp.state, State::New | State::Binding) {
            return Err(ErrorCode::InvalidState.into());
        }
        let peer = peer.map(|peer| udp.socket.peer(peer)).transpose()?;
        match peer {
            Some(peer) => connect(&udp.socket.descriptor, &peer)?,
            None if udp.state == State::Connected => connect_unspec(&udp.socket.descriptor)?,
            None => {}
        }
        udp.state = if peer.is_some() { State::Connected } else { State::Bound };
        let socket = Arc::clone(&udp.socket);
        let incoming = self.push(Incoming(Arc::clone(&socket)))?;
        Ok((incoming, self.push(Outgoing { socket, peer })?))
    }

    fn local_address(&mut self, handle: Handle) -> Outcome<IpSocketAddress> {
        match self.table.get(&handle)?.state {
            State::New | State::Binding => Err(ErrorCode::InvalidState.into()),
            State::Bound | State::Connected => self.table.get(&handle)?.socket.local_address(),
        }
    }

    fn remote_address(&mut self, handle: Handle) -> Outcome<IpSocketAddress> {
        match self.table.get(&handle)?.state {
            State::Connected => self.table.get(&handle)?.socket.remote_address(),
            _ => Err(ErrorCode::InvalidState.into()),
        }
    }

    fn address_family(&mut self, handle: Handle) -> wasmtime::Result<IpAddressFamily> {
        Ok(self.table.get(&handle)?.socket.family)
    }

    fn unicast_hop_limit(&mut self, handle: Handle) -> Outcome<u8> {
        self.table.get(&handle)?.socket.hop_limit()
    }

    fn set_unicast_hop_limit(&mut self, handle: Handle, value: u8) -> Outcome<()> {
        self.table.get(&handle)?.socket.set_hop_limit(value)
    }

    fn receive_buffer_size(&mut self, handle: Handle) -> Outcome<u64> {
        self.table.get(&handle)?.socket.receive_buffer()
    }

    fn set_receive_buffer_size(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        self.table.get(&handle)?.socket.set_receive_buffer(value)
    }

    fn send_buffer_size(&mut self, handle: Handle) -> Outcome<u64> {
        self.table.get(&handle)?.socket.send_buffer()
    }

    fn set_send_buffer_size(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        self.table.get(&handle)?.socket.set_send_buffer(value)
    }

    fn subscribe(&mut self, _handle: Handle) -> wasmtime::Result<Resource<Pollable>> {
        // Binding is over when it has begun.
        self.push(Pollable::Ready)
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}

impl udp::HostIncomingDatagramStream for Host {
    fn receive(
        &mut self,
        incoming: Resource<Incoming>,
        most: u64,
    ) -> Outcome<Vec<IncomingDatagram>> {
        let Incoming(socket) = self.table.get(&incoming)?;
        let mut received = Vec::new();
        let mut room = vec![0; if most == 0 { 0 } else { LARGEST_DATAGRAM }];
        while (received.len() as u64) < most.min(AT_ONCE) {
            match recvfrom(&socket.descriptor, room.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((count, _, Some(from))) => {
                    let data = room.get(..count).unwrap_or_default().to_vec();
                    let remote_address = to_wasi(SocketAddr::try_from(from)?);
                    received.push(IncomingDatagram { data, remote_address });
                }
                Ok((_, _, None)) | Err(Errno::AGAIN) => break,
                Err(_) if !received.is_empty() => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(received)
    }

    fn subscribe(&mut self, incoming: Resource<Incoming>) -> wasmtime::Result<Resource<Pollable>> {
        let socket = Arc::clone(&self.table.get(&incoming)?.0);
        self.push(Pollable::Socket(socket, PollFlags::IN))
    }

    fn drop(&mut self, incoming: Resource<Incoming>) -> wasmtime::Result<()> {
        self.table.delete(incoming)?;
        Ok(())
    }
}

impl Outgoing {
    fn send(&self, datagram: OutgoingDatagram) -> Outcome<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let to = datagram.remote_address.map(|to| self.socket.peer(to)).transpose()?;
        let data = &datagram.data;
        match (self.peer, to) {
            (Some(peer), Some(to)) if peer != to => {
                return Err(ErrorCode::InvalidArgument.into());
            }
            (Some(_), _) => send(&self.socket.descriptor, data, flags)?,
            (None, Some(to)) => sendto(&self.socket.descriptor, data, flags, &to)?,
            (None, None) => return Err(ErrorCode::InvalidArgument.into()),
        };
        Ok(())
    }
}

impl udp::HostOutgoingDatagramStream for Host {
    fn check_send(&mut self, outgoing: Resource<Outgoing>) -> Outcome<u64> {
        let is_ready = self.table.get(&outgoing)?.socket.is_ready(PollFlags::OUT)?;
        Ok(if is_ready { AT_ONCE } else { 0 })
    }

    fn send(
        &mut self,
        outgoing: Resource<Outgoing>,
        datagrams: Vec<OutgoingDatagram>,
    ) -> Outcome<u64> {
        let outgoing = self.table.get(&outgoing)?;
        if datagrams.len() as u64 > AT_ONCE {
            let refused = "more datagrams were sent than `check-send` permits";
            return Err(wasmtime::Error::msg(refused).into());
        }
        let mut sent = 0;
        for datagram in datagrams {
            match outgoing.send(datagram) {
                Ok(()) => sent += 1,
                Err(SocketFault::Code(ErrorCode::WouldBlock)) => break,
                Err(_) if sent > 0 => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(sent)
    }

    fn subscribe(&mut self, outgoing: Resource<Outgoing>) -> wasmtime::Result<Resource<Pollable>> {
        let socket = Arc::clone(&self.table.get(&outgoing)?.socket);
        self.push(Pollable::Socket(socket, PollFlags::OUT))
    }

    fn drop(&mut self, outgoing: Resource<Outgoing>) -> wasmtime::Result<()> {
        self.table.delete(outgoing)?;
        Ok(())
    }
}

/// Datagrams of one call.
const AT_ONCE: u64 = 16;
const LARGEST_DATAGRAM: usize = 64 << 10;
