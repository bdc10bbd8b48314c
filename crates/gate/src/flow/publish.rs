//! Connections from the host's loopback to a published port of the cage. The connection inside is
//! made by the cage's first process, which is the one of ours that lives there; what it hands out is
//! looked at before it is used.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use plan::inward::{InwardAnswer, InwardRequest};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketType,
    ipproto, sockopt,
};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::cage::Cage;
use crate::limits;
use crate::relay::{relay, reset};
use crate::watched::Watched;

/// Relays one connection.
pub(super) async fn serve(cage: Arc<Cage>, stream: TcpStream, inside: Arc<Inside>, port: u16) {
    let connected = match timeout(limits::CONNECT, inside.connect(port)).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(_)) | Err(_) => return reset(stream),
    };
    if relay(&connected, &stream, &cage.meter()).await.is_err() {
        reset(stream);
        reset(connected);
    }
}

/// The way to ports inside.
#[derive(Debug)]
pub(super) struct Inside {
    socket: Watched,
    /// Who waits for a connection to which port. Any connection to a port is as good as another.
    waiting: Mutex<HashMap<u16, VecDeque<Waiter>>>,
}

type Waiter = oneshot::Sender<io::Result<TcpStream>>;

impl Inside {
    /// Takes the socket over. The future takes the answers.
    pub(super) fn new(
        socket: OwnedFd,
    ) -> io::Result<(Arc<Self>, impl Future<Output = ()> + Send + use<>)> {
        let socket = Watched::new(socket)?;
        let inside = Arc::new(Self { socket, waiting: Mutex::default() });
        let answers = Arc::clone(&inside);
        Ok((inside, async move {
            // A socket that fails has nobody at its other end any more.
            while answers.take_answer().await.is_ok() {}
        }))
    }

    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let (waiter, answer) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.entry(port).or_default().push_back(waiter);
        }
        let packet = InwardRequest { port }.encode();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let send = |socket: BorrowedFd<'_>| Ok(rustix::net::send(socket, &packet, flags)?);
        self.socket.when(Interest::WRITABLE, send).await?;
        answer.await.map_err(|_| io::Error::from(Errno::CONNRESET))?
    }

    async fn take_answer(&self) -> io::Result<()> {
        let receive = |socket: BorrowedFd<'_>| Ok(receive(socket)?);
        let (answer, descriptor) = self.socket.when(Interest::READABLE, receive).await?;
        let mut result = match (answer.errno, descriptor) {
            (None, Some(descriptor)) => take_connection(descriptor),
            (Some(errno), _) => Err(Errno::from_raw_os_error(i32::from(errno)).into()),
            (None, None) => Err(Errno::PROTO.into()),
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = waiting.entry(answer.port).or_default();
        // Whoever waited too long is gone.
        while let Some(waiter) = queue.pop_front() {
            match waiter.send(result) {
                Ok(()) => break,
                Err(unused) => result = unused,
            }
        }
        if queue.is_empty() {
            waiting.remove(&answer.port);
        }
        Ok(())
    }
}

fn receive(socket: BorrowedFd<'_>) -> Result<(InwardAnswer, Option<OwnedFd>), Errno> {
    let mut packet = [0_u8; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let buffers = &mut [IoSliceMut::new(&mut packet)];
    let received = rustix::net::recvmsg(socket, buffers, &mut ancillary, flags)?;
    let mut descriptor = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut rights) = message {
            descriptor = rights.next();
        }
    }
    let packet = packet.get(..received.bytes).unwrap_or_default();
    let answer = InwardAnswer::decode(packet).ok_or(Errno::BADMSG)?;
    Ok((answer, descriptor))
}

/// Takes nothing but a TCP connection.
fn take_connection(descriptor: OwnedFd) -> io::Result<TcpStream> {
    let domain = sockopt::socket_domain(&descriptor)?;
    let is_tcp = matches!(domain, AddressFamily::INET | AddressFamily::INET6)
        && sockopt::socket_type(&descriptor)? == SocketType::STREAM
        && sockopt::socket_protocol(&descriptor)? == Some(ipproto::TCP);
    if !is_tcp {
        return Err(Errno::PROTONOSUPPORT.into());
    }
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    let stream = TcpStream::from_std(stream)?;
    let _slower = stream.set_nodelay(true);
    Ok(stream)
}
