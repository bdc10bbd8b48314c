//! Serves the DNS sockets of one cage. Each answer leaves from the address that was asked; what is
//! under way ends with the server, and nothing is kept from one query to the next.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::answer::Carrier;
use super::cache::Resolver;
use super::question::MAX_QUERY;
use super::respond::{CageNames, Responder, Step};
use crate::limits;

/// The DNS sockets of one cage, made inside its namespace and bound there. Which family each has does
/// not matter.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Those for datagrams.
    pub datagrams: Vec<UdpSocket>,
    /// Those for connections.
    pub listeners: Vec<TcpListener>,
}

/// The DNS server of one cage.
#[derive(Debug)]
pub struct Server<C> {
    datagrams: Vec<tokio::net::UdpSocket>,
    listeners: Vec<tokio::net::TcpListener>,
    responder: Arc<Responder<C>>,
}

impl<C: CageNames> Server<C> {
    /// Takes the sockets over, inside a tokio runtime. From then on they are watched, and answered as
    /// soon as [`Server::run`] is polled.
    pub fn new(sockets: Sockets, cage: Arc<C>, resolver: Arc<Resolver>) -> io::Result<Self> {
        let mut datagrams = Vec::new();
        for socket in sockets.datagrams {
            sys::datagrams::prepare(&socket)?;
            socket.set_nonblocking(true)?;
            datagrams.push(tokio::net::UdpSocket::from_std(socket)?);
        }
        let mut listeners = Vec::new();
        for listener in sockets.listeners {
            listener.set_nonblocking(true)?;
            listeners.push(tokio::net::TcpListener::from_std(listener)?);
        }
        Ok(Self { datagrams, listeners, responder: Arc::new(Responder::new(cage, resolver)) })
    }

    /// Answers until it is dropped, and everything that it began with it.
    pub async fn run(self) {
        let mut tasks = JoinSet::new();
        for socket in self.datagrams {
            tasks.spawn(serve_datagrams(Arc::new(socket), Arc::clone(&self.responder)));
        }
        let room = Arc::new(Semaphore::new(limits::QUERY_CONNECTIONS));
        for listener in self.listeners {
            let responder = Arc::clone(&self.responder);
            tasks.spawn(serve_listener(listener, responder, Arc::clone(&room)));
        }
        while tasks.join_next().await.is_some() {}
    }
}

async fn serve_datagrams<C: CageNames>(
    socket: Arc<tokio::net::UdpSocket>,
    responder: Arc<Responder<C>>,
) {
    // One byte more than a query may have, so that a longer one is seen to be longer.
    let mut buffer = [0; MAX_QUERY + 1];
    let mut waiting = JoinSet::new();
    let mut turn: u32 = 0;
    loop {
        let receive = || sys::datagrams::receive(&socket, &mut buffer);
        let received = match socket.async_io(Interest::READABLE, receive).await {
            Ok(received) => received,
            Err(_) => {
                sleep(AFTER_ERROR).await;
                continue;
            }
        };
        let query = buffer.get(..received.length).unwrap_or_default();
        // An answer that the kernel does not take is lost, as any datagram may be.
        match responder.begin(query, Carrier::Datagram) {
            Step::Done(None) => {}
            Step::Done(Some(answer)) => {
                _ = sys::datagrams::send(&socket, &answer, received.destination, received.peer);
            }
            Step::Ask(pending) => {
                let (socket, responder) = (Arc::clone(&socket), Arc::clone(&responder));
                waiting.spawn(async move {
                    let answer = responder.finish(pending).await;
                    _ = sys::datagrams::send(&socket, &answer, received.destination, received.peer);
                });
            }
        }
        while waiting.try_join_next().is_some() {}
        turn += 1;
        if turn >= limits::QUERIES_PER_TURN {
            responder.rest_after(turn).await;
            turn = 0;
        }
    }
}

async fn serve_listener<C: CageNames>(
    listener: tokio::net::TcpListener,
    responder: Arc<Responder<C>>,
    room: Arc<Semaphore>,
) {
    let mut serving = JoinSet::new();
    loop {
        // Without room the others stay in the listener's queue, until one goes or is too slow.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let own = limits::QUERY_CONNECTIONS.saturating_sub(room.available_permits());
                let Some(counted) = responder.place(own) else { continue };
                let responder = Arc::clone(&responder);
                serving.spawn(async move {
                    _ = converse(stream, &responder).await;
                    drop((place, counted));
                });
            }
            Err(_) => sleep(AFTER_ERROR).await,
        }
        while serving.try_join_next().is_some() {}
    }
}

/// One query after the other, each behind its length (RFC 7766), until the client ends it, is silent
/// for too long or sends what no query is.
async fn converse<C: CageNames>(mut stream: TcpStream, responder: &Responder<C>) -> io::Result<()> {
    loop {
        let Some(query) = timeout(limits::QUERY_IDLE, read_query(&mut stream)).await?? else {
            return Ok(());
        };
        responder.rest_after(1).await;
        let answer = match responder.begin(&query, Carrier::Connection) {
            Step::Done(answer) => answer,
            Step::Ask(pending) => Some(responder.finish(pending).await),
        };
        let Some(answer) = answer else { return Ok(()) };
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let mut framed = Vec::with_capacity(answer.len() + 2);
        framed.extend_from_slice(&length.to_be_bytes());
        framed.extend_from_slice(&answer);
        timeout(limits::QUERY_IDLE, stream.write_all(&framed)).await??;
    }
}

async fn read_query(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let length = usize::from(stream.read_u16().await?);
    if length > MAX_QUERY {
        return Ok(None);
    }
    let mut query = vec![0; length];
    stream.read_exact(&mut query).await?;
    Ok(Some(query))
}

/// Errors here are want of memory or descriptors; asking again at once would not help.
const AFTER_ERROR: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
