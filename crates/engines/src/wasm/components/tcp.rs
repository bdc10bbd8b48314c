//! `wasi:sockets/tcp`: connecting, listening, accepting. The steps of a socket come in the order of its [`State`].

use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketType, accept_with, bind, connect, listen, shutdown, sockopt};
use wasmtime::component::Resource;

use super::super::waiting::in_nanoseconds;
use super::bindings::wasi::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress};
use super::bindings::wasi::sockets::tcp::{self, ShutdownType};
use super::bindings::wasi::sockets::tcp_create_socket;
use super::codes::SocketFault;
use super::host::Host;
use super::network::{FLAGS, Network, Socket};
use super::pollables::Pollable;
use super::streams::{InputStream, OutputStream};

/// A socket, and how far it is.
#[derive(Debug)]
pub struct TcpSocket {
    socket: Arc<Socket>,
    state: State,
    backlog: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Binding,
    Bound,
    StartingToListen,
    Listening,
    Connecting,
    Connected,
    Closed,
}

type Outcome<T> = Result<T, SocketFault>;
type Handle = Resource<TcpSocket>;
type Streams = (Resource<InputStream>, Resource<OutputStream>);

impl Host {
    /// A socket in one of these states, which is in the next one if the step succeeds.
    fn step(
        &mut self,
        handle: &Handle,
        (from, to): (&[State], State),
        step: impl FnOnce(&mut TcpSocket) -> Outcome<()>,
    ) -> Outcome<()> {
        let tcp = self.table.get_mut(handle)?;
        if !from.contains(&tcp.state) {
            return Err(match tcp.state {
                State::Binding | State::StartingToListen | State::Connecting => {
                    ErrorCode::ConcurrencyConflict.into()
                }
                _ => ErrorCode::InvalidState.into(),
            });
        }
        step(tcp)?;
        tcp.state = to;
        Ok(())
    }

    /// Ends what was begun.
    fn finish(&mut self, handle: &Handle, from: State, to: State) -> Outcome<()> {
        let tcp = self.table.get_mut(handle)?;
        if tcp.state != from {
            return Err(ErrorCode::NotInProgress.into());
        }
        tcp.state = to;
        Ok(())
    }

    fn tcp(&self, handle: &Handle) -> Outcome<&Socket> {
        let tcp = self.table.get(handle)?;
        if tcp.state == State::Closed {
            Err(ErrorCode::InvalidState.into())
        } else {
            Ok(&tcp.socket)
        }
    }

    fn streams_of(&mut self, socket: &Arc<Socket>) -> Outcome<Streams> {
        let input = self.push(InputStream::Socket(Arc::clone(socket)))?;
        Ok((input, self.push(OutputStream::Socket(Arc::clone(socket)))?))
    }
}

impl tcp_create_socket::Host for Host {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> Outcome<Handle> {
        let socket = self.socket(family, SocketType::STREAM)?;
        Ok(self.push(TcpSocket { socket, state: State::New, backlog: BACKLOG })?)
    }
}

impl tcp::Host for Host {}

impl tcp::HostTcpSocket for Host {
    fn start_bind(
        &mut self,
        handle: Handle,
        _network: Resource<Network>,
        address: IpSocketAddress,
    ) -> Outcome<()> {
        self.step(&handle, (&[State::New], State::Binding), |tcp| {
            let address = tcp.socket.address(address)?;
            sockopt::set_socket_reuseaddr(&tcp.socket.descriptor, true)?;
            Ok(bind(&tcp.socket.descriptor, &address)?)
        })
    }

    fn finish_bind(&mut self, handle: Handle) -> Outcome<()> {
        self.finish(&handle, State::Binding, State::Bound)
    }

    fn start_connect(
        &mut self,
        handle: Handle,
        _network: Resource<Network>,
        address: IpSocketAddress,
    ) -> Outcome<()> {
        self.step(&handle, (&[State::New, State::Bound], State::Connecting), |tcp| {
            let address = tcp.socket.peer(address)?;
            match connect(&tcp.socket.descriptor, &address) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
                Err(errno) => {
                    tcp.state = State::Closed;
                    Err(errno.into())
                }
            }
        })
    }

    fn finish_connect(&mut self, handle: Handle) -> Outcome<Streams> {
        let tcp = self.table.get_mut(&handle)?;
        if tcp.state != State::Connecting {
            return Err(ErrorCode::NotInProgress.into());
        }
        if !tcp.socket.is_ready(PollFlags::OUT)? {
            return Err(ErrorCode::WouldBlock.into());
        }
        if let Err(errno) = sockopt::socket_error(&tcp.socket.descriptor)? {
            tcp.state = State::Closed;
            return Err(errno.into());
        }
        tcp.state = State::Connected;
        let socket = Arc::clone(&tcp.socket);
        self.streams_of(&socket)
    }

    fn start_listen(&mut self, handle: Handle) -> Outcome<()> {
        self.step(&handle, (&[State::Bound], State::StartingToListen), |tcp| {
            Ok(listen(&tcp.socket.descriptor, tcp.backlog)?)
        })
    }

    fn finish_listen(&mut self, handle: Handle) -> Outcome<()> {
        self.finish(&handle, State::StartingToListen, State::Listening)
    }

    fn accept(
        &mut self,
        handle: Handle,
    ) -> Outcome<(Handle, Resource<InputStream>, Resource<OutputStream>)> {
        let tcp = self.table.get(&handle)?;
        if tcp.state != State::Listening {
            return Err(ErrorCode::InvalidState.into());
        }
        let listener = Arc::clone(&tcp.socket);
        let place = self.place().ok_or(ErrorCode::NewSocketLimit)?;
        let accepted = accept_with(&listener.descriptor, FLAGS)?;
        let socket = Arc::new(Socket::new(accepted, listener.family, place));
        let (input, output) = self.streams_of(&socket)?;
        let tcp = TcpSocket { socket, state: State::Connected, backlog: BACKLOG };
        Ok((self.push(tcp)?, input, output))
    }

    fn local_address(&mut self, handle: Handle) -> Outcome<IpSocketAddress> {
        match self.table.get(&handle)?.state {
            State::New | State::Binding => Err(ErrorCode::InvalidState.into()),
            _ => self.tcp(&handle)?.local_address(),
        }
    }

    fn remote_address(&mut self, handle: Handle) -> Outcome<IpSocketAddress> {
        match self.table.get(&handle)?.state {
            State::Connected => self.tcp(&handle)?.remote_address(),
            _ => Err(ErrorCode::InvalidState.into()),
        }
    }

    fn is_listening(&mut self, handle: Handle) -> wasmtime::Result<bool> {
        Ok(self.table.get(&handle)?.state == State::Listening)
    }

    fn address_family(&mut self, handle: Handle) -> wasmtime::Result<IpAddressFamily> {
        Ok(self.table.get(&handle)?.socket.family)
    }

    fn set_listen_backlog_size(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        let tcp = self.table.get_mut(&handle)?;
        let backlog = i32::try_from(value).unwrap_or(MOST_BACKLOG).min(MOST_BACKLOG);
        match (value, tcp.state) {
            (0, _) => return Err(ErrorCode::InvalidArgument.into()),
            (_, State::Listening) => listen(&tcp.socket.descriptor, backlog)?,
            (_, State::New | State::Binding | State::Bound) => {}
            _ => return Err(ErrorCode::InvalidState.into()),
        }
        tcp.backlog = backlog;
        Ok(())
    }

    fn keep_alive_enabled(&mut self, handle: Handle) -> Outcome<bool> {
        Ok(sockopt::socket_keepalive(&self.tcp(&handle)?.descriptor)?)
    }

    fn set_keep_alive_enabled(&mut self, handle: Handle, value: bool) -> Outcome<()> {
        Ok(sockopt::set_socket_keepalive(&self.tcp(&handle)?.descriptor, value)?)
    }

    fn keep_alive_idle_time(&mut self, handle: Handle) -> Outcome<u64> {
        Ok(in_nanoseconds(sockopt::tcp_keepidle(&self.tcp(&handle)?.descriptor)?))
    }

    fn set_keep_alive_idle_time(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        Ok(sockopt::set_tcp_keepidle(&self.tcp(&handle)?.descriptor, seconds(value)?)?)
    }

    fn keep_alive_interval(&mut self, handle: Handle) -> Outcome<u64> {
        Ok(in_nanoseconds(sockopt::tcp_keepintvl(&self.tcp(&handle)?.descriptor)?))
    }

    fn set_keep_alive_interval(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        Ok(sockopt::set_tcp_keepintvl(&self.tcp(&handle)?.descriptor, seconds(value)?)?)
    }

    fn keep_alive_count(&mut self, handle: Handle) -> Outcome<u32> {
        Ok(sockopt::tcp_keepcnt(&self.tcp(&handle)?.descriptor)?)
    }

    fn set_keep_alive_count(&mut self, handle: Handle, value: u32) -> Outcome<()> {
        if value == 0 {
            return Err(ErrorCode::InvalidArgument.into());
        }
        let value = value.min(MOST_KEEP_ALIVES);
        Ok(sockopt::set_tcp_keepcnt(&self.tcp(&handle)?.descriptor, value)?)
    }

    fn hop_limit(&mut self, handle: Handle) -> Outcome<u8> {
        self.tcp(&handle)?.hop_limit()
    }

    fn set_hop_limit(&mut self, handle: Handle, value: u8) -> Outcome<()> {
        self.tcp(&handle)?.set_hop_limit(value)
    }

    fn receive_buffer_size(&mut self, handle: Handle) -> Outcome<u64> {
        self.tcp(&handle)?.receive_buffer()
    }

    fn set_receive_buffer_size(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        self.tcp(&handle)?.set_receive_buffer(value)
    }

    fn send_buffer_size(&mut self, handle: Handle) -> Outcome<u64> {
        self.tcp(&handle)?.send_buffer()
    }

    fn set_send_buffer_size(&mut self, handle: Handle, value: u64) -> Outcome<()> {
        self.tcp(&handle)?.set_send_buffer(value)
    }

    fn subscribe(&mut self, handle: Handle) -> wasmtime::Result<Resource<Pollable>> {
        let tcp = self.table.get(&handle)?;
        let socket = Arc::clone(&tcp.socket);
        let pollable = match tcp.state {
            State::Listening => Pollable::Socket(socket, PollFlags::IN),
            State::Connecting => Pollable::Socket(socket, PollFlags::OUT),
            _ => Pollable::Ready,
        };
        self.push(pollable)
    }

    fn shutdown(&mut self, handle: Handle, how: ShutdownType) -> Outcome<()> {
        let tcp = self.table.get(&handle)?;
        if tcp.state != State::Connected {
            return Err(ErrorCode::InvalidState.into());
        }
        let how = match how {
            ShutdownType::Receive => Shutdown::Read,
            ShutdownType::Send => Shutdown::Write,
            ShutdownType::Both => Shutdown::Both,
        };
        if how != Shutdown::Read {
            // What was written before goes before.
            tcp.socket.flush_waiting()?;
        }
        Ok(shutdown(&tcp.socket.descriptor, how)?)
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}

/// Whole seconds, at least one, as the kernel has them.
fn seconds(nanoseconds: u64) -> Outcome<Duration> {
    match nanoseconds {
        0 => Err(ErrorCode::InvalidArgument.into()),
        _ => {
            let seconds = Duration::from_nanos(nanoseconds).as_secs();
            Ok(Duration::from_secs(seconds.clamp(1, MOST_SECONDS)))
        }
    }
}

const BACKLOG: i32 = 128;
const MOST_BACKLOG: i32 = 4096;
/// As Linux bounds them.
const MOST_KEEP_ALIVES: u32 = 127;
const MOST_SECONDS: u64 = 32_767;
