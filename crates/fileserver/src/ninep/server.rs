//! Connections of a socket, each with a session and a thread of its own. On a unix socket a client is who the kernel says
//! it is; only root, and the user who serves, may speak for others. On TCP everybody is one user.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use vfs::{Caller, FileSystem};

use super::{Identity, Session};

/// A file system that is served on a socket.
#[derive(Debug)]
pub struct NinepServer {
    files: FileSystem,
    listener: Listener,
    connections: Arc<AtomicUsize>,
    next: AtomicU32,
}

#[derive(Debug)]
enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener, Caller),
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// What was asked for.
        address: String,
        /// What the kernel says.
        source: std::io::Error,
    },
    /// A call of the kernel failed later.
    #[error("cannot take connections")]
    Accept(#[source] std::io::Error),
}

impl NinepServer {
    /// On a unix socket, which must not be there yet. It is its owner's alone, unless its directory says more.
    pub fn on_unix(files: FileSystem, path: &Path) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address: path.display().to_string(), source };
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::chmod(path, mode).map_err(|errno| failed(errno.into()))?;
        Ok(Self::new(files, Listener::Unix(listener, path.to_owned())))
    }

    /// On TCP, where everybody who connects acts as this user.
    pub fn on_tcp(
        files: FileSystem,
        address: SocketAddr,
        everybody: Caller,
    ) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        Ok(Self::new(files, Listener::Tcp(listener, everybody)))
    }

    fn new(files: FileSystem, listener: Listener) -> Self {
        Self { files, listener, connections: Arc::default(), next: AtomicU32::new(1) }
    }

    /// Where it listens, if that is TCP.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.listener {
            Listener::Unix(..) => None,
            Listener::Tcp(listener, _) => listener.local_addr().ok(),
        }
    }

    /// Serves until something can be read from a descriptor, or its other end is closed.
    pub fn serve_until(&self, stop: &OwnedFd) -> Result<(), ServeError> {
        loop {
            let listener = match &self.listener {
                Listener::Unix(listener, _) => listener.as_fd(),
                Listener::Tcp(listener, _) => listener.as_fd(),
            };
            let mut polled = [
                PollFd::from_borrowed_fd(listener, PollFlags::IN),
                PollFd::new(stop, PollFlags::IN),
            ];
            match rustix::event::poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(ServeError::Accept(errno.into())),
            }
            let [new, stopped] = polled.map(|one| !one.revents().is_empty());
            if stopped {
                return Ok(());
            }
            if new {
                self.take_one()?;
            }
        }
    }

    fn take_one(&self) -> Result<(), ServeError> {
        let taken = match &self.listener {
            Listener::Unix(listener, _) => listener.accept().and_then(|(stream, _)| {
                let identity = identity_of(&stream)?;
                Ok((Stream::Unix(stream), identity))
            }),
            Listener::Tcp(listener, everybody) => listener.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), Identity::Fixed(everybody.clone())))
            }),
        };
        let (stream, identity) = match taken {
            Ok(taken) => taken,
            // Of a client that went away again; anything else would come back at once.
            Err(error) if error.raw_os_error() == Some(Errno::CONNABORTED.raw_os_error()) => {
                return Ok(());
            }
            Err(error) => return Err(ServeError::Accept(error)),
        };
        if self.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            self.connections.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let session = Session::new(self.files.clone(), identity, number);
        let connections = Arc::clone(&self.connections);
        let started = std::thread::Builder::new().spawn(move || {
            // A client that goes away, or that is not understood, ends its own connection.
            let _ended = converse(session, stream);
            connections.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            self.connections.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

impl Drop for NinepServer {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = &self.listener {
            // Somebody may have removed it already.
            let _gone = std::fs::remove_file(path);
        }
    }
}

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn read_exact(&mut self, into: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::Unix(stream) => stream.read_exact(into),
            Self::Tcp(stream) => stream.read_exact(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

/// One message after the other, until the client goes.
fn converse(mut session: Session, mut stream: Stream) -> std::io::Result<()> {
    let mut message = Vec::new();
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let bytes = u32::from_le_bytes(length);
        // Bounded before anything is kept of it.
        if bytes > session.most_bytes() || bytes < 7 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        message.clear();
        message.extend_from_slice(&length);
        message.resize(usize::try_from(bytes).unwrap_or_default(), 0);
        stream.read_exact(message.get_mut(4..).unwrap_or_default())?;
        let answer = session.answer(&message).map_err(std::io::Error::other)?;
        stream.write_all(&answer)?;
    }
}

fn identity_of(stream: &UnixStream) -> std::io::Result<Identity> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    let own = rustix::process::geteuid();
    if peer.uid.is_root() || peer.uid == own {
        return Ok(Identity::Asked);
    }
    Ok(Identity::Fixed(Caller::of(peer.uid.as_raw(), peer.gid.as_raw())))
}

const MOST_CONNECTIONS: usize = 64;
