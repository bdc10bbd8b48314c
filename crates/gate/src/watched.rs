//! Sockets of kinds that the runtime has no type for, watched until they are ready. Holds them and
//! does nothing with them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// A watched socket. The runtime knows it as a datagram socket, of which it uses nothing but the
/// descriptor: its own type for any descriptor cannot be made without unsafe code.
#[derive(Debug)]
pub(crate) struct Watched(UnixDatagram);

impl Watched {
    /// Begins to watch a socket, inside a runtime. Calls on it do not wait from now on.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixDatagram::from(socket);
        socket.set_nonblocking(true)?;
        UnixDatagram::from_std(socket).map(Self)
    }

    /// Makes a call again and again, each time that the socket is ready, until it does not say that
    /// it would have to wait.
    pub(crate) async fn when<T>(
        &self,
        interest: Interest,
        mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.0.async_io(interest, || call(self.0.as_fd())).await
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
