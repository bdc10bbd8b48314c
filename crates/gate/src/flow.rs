//! The ways into the gatekeeper: a listener for each socket that was made in a cage, and what is done
//! with a connection that comes on it. Which socket it came on says whose it is; nothing that a
//! program sends can change that.

mod farewell;
mod host_port;
mod http_proxy;
mod inspected;
mod publish;
mod refused_datagrams;
mod socks;
mod transparent;
mod turns;

use std::io;
use std::net::{TcpListener as StdTcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use plan::network::{SocketKind, Transport};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::cage::Cage;
use crate::dns::{self, Resolver};
use crate::limits;
use turns::Turns;

/// The sockets of one cage.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Those that were made in its namespace.
    pub(crate) made_inside: Vec<(SocketKind, OwnedFd)>,
    /// Listeners on the host's loopback, by the port inside that they lead to.
    pub(crate) published: Vec<(u16, OwnedFd)>,
}

/// Serves the sockets of a cage until what is returned is dropped, which also ends every connection.
pub(crate) fn listen(
    cage: &Arc<Cage>,
    sockets: Sockets,
    resolver: Arc<Resolver>,
) -> io::Result<JoinSet<()>> {
    let mut tasks = JoinSet::new();
    let mut names = dns::Sockets::default();
    let mut inward = None;
    for (kind, descriptor) in sockets.made_inside {
        match kind {
            SocketKind::Dns { transport: Transport::Udp, .. } => {
                names.datagrams.push(UdpSocket::from(descriptor));
            }
            SocketKind::Dns { transport: Transport::Tcp, .. } => {
                names.listeners.push(StdTcpListener::from(descriptor));
            }
            SocketKind::Inward => inward = Some(descriptor),
            SocketKind::DeniedUdp => {
                tasks.spawn(refused_datagrams::watch(descriptor, Arc::clone(cage))?);
            }
            SocketKind::Redirected { .. } => {
                tasks.spawn(accept(descriptor, cage, transparent::serve_redirected)?);
            }
            SocketKind::Transparent { .. } | SocketKind::PerPort { .. } => {
                tasks.spawn(accept(descriptor, cage, transparent::serve_as_addressed)?);
            }
            SocketKind::Socks => {
                tasks.spawn(accept(descriptor, cage, socks::serve)?);
            }
            SocketKind::HttpProxy => {
                tasks.spawn(accept(descriptor, cage, http_proxy::serve)?);
            }
            SocketKind::HostPort { port, .. } => {
                let serve = move |cage, stream| host_port::serve(cage, stream, port);
                tasks.spawn(accept(descriptor, cage, serve)?);
            }
        }
    }
    let server = dns::Server::new(names, Arc::clone(cage), resolver)?;
    tasks.spawn(server.run());
    if !sockets.published.is_empty() {
        // The Plan said so, and the socket pair is made for exactly this.
        let inward = inward.ok_or(Errno::NOTSOCK)?;
        let (inside, answers) = publish::Inside::new(inward)?;
        tasks.spawn(answers);
        for (port, descriptor) in sockets.published {
            let inside = Arc::clone(&inside);
            let serve = move |cage, stream| publish::serve(cage, stream, Arc::clone(&inside), port);
            tasks.spawn(accept(descriptor, cage, serve)?);
        }
    }
    Ok(tasks)
}

/// Takes connections from a listener, as many as the cage has room for and a few at a time, so that a
/// flood of one cage leaves the others their turn.
fn accept<S, F>(
    descriptor: OwnedFd,
    cage: &Arc<Cage>,
    serve: S,
) -> io::Result<impl Future<Output = ()> + Send + use<S, F>>
where
    S: Fn(Arc<Cage>, TcpStream) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = StdTcpListener::from(descriptor);
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let cage = Arc::clone(cage);
    Ok(async move {
        let mut connections = JoinSet::new();
        let mut turns = Turns::begin();
        loop {
            let Ok(permit) = Arc::clone(&cage.connections).acquire_owned().await else { return };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    let place = cage.place().await;
                    // A connection without these still works, only slower.
                    let _slower = stream.set_nodelay(true);
                    let _slower = set_socket_send_buffer_size(
                        &stream,
                        send_buffer(cage.connections.available_permits()),
                    );
                    let served = serve(Arc::clone(&cage), stream);
                    connections.spawn(async move {
                        served.await;
                        drop((permit, place));
                    });
                }
                Err(error) => {
                    // Or a client that is gone already.
                    if dns::is_want_of_descriptors(&error) {
                        cage.record.had_no_descriptor();
                    }
                    tokio::time::sleep(AFTER_ERROR).await;
                }
            }
            turns.took_one().await;
        }
    })
}

/// For a connection of a cage that has room for so many more.
fn send_buffer(room: usize) -> usize {
    let open = limits::CONNECTIONS.saturating_sub(room);
    if open <= limits::FEW { limits::SEND_BUFFER_OF_FEW } else { limits::SEND_BUFFER }
}

/// How long a listener rests that could not take a connection.
const AFTER_ERROR: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
