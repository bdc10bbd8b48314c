//! Datagrams that the cage's own network refused: they have gone nowhere, and this puts them on record.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use sys::packet_log::{RefusedDatagram, refused_datagrams};
use tokio::io::Interest;

use crate::cage::Cage;
use crate::event::EventKind;
use crate::watched::Watched;

/// Reads the log until the socket fails.
pub(super) fn watch(
    descriptor: OwnedFd,
    cage: Arc<Cage>,
) -> io::Result<impl Future<Output = ()> + Send + use<>> {
    let log = Watched::new(descriptor)?;
    Ok(async move {
        while let Ok(refused) = log.when(Interest::READABLE, receive).await {
            for datagram in refused {
                let (target, port) = (datagram.destination.ip(), datagram.destination.port());
                cage.record.take(EventKind::UdpDenied { target, port });
            }
            tokio::task::yield_now().await;
        }
    })
}

fn receive(log: BorrowedFd<'_>) -> io::Result<Vec<RefusedDatagram>> {
    let mut packet = [0; LONGEST];
    match rustix::net::recv(log, &mut packet, RecvFlags::DONTWAIT) {
        Ok((length, _)) => {
            Ok(refused_datagrams(packet.get(..length).unwrap_or_default()).collect())
        }
        // More came than the socket had room for: those are not on record.
        Err(Errno::NOBUFS) => Ok(Vec::new()),
        Err(errno) => Err(errno.into()),
    }
}

/// A packet of the log holds one datagram's first bytes and what is around them.
const LONGEST: usize = 8 * 1024;
