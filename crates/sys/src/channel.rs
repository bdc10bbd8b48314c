//! Packets that carry descriptors, between two processes that share a socket pair. The other end may be
//! hostile: a packet that is longer than the caller allows, or that does not arrive whole, is an error, and
//! the descriptors of such a packet are closed. Never looks at what a packet says.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, Uid};

#[cfg(test)]
mod tests;

/// The bytes of a packet, of which there is at least one, and the descriptors that came with them.
pub type Packet = (Vec<u8>, Vec<OwnedFd>);

/// Who sent a packet, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The process.
    pub pid: Pid,
    /// Its real user.
    pub uid: Uid,
}

/// Whether to wait until the other side has sent or taken something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// As long as it takes, or until a signal arrives: `EINTR`.
    Allowed,
    /// Not at all: `EAGAIN` instead.
    Refused,
}

/// A connected pair.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC;
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Sends bytes and at most [`MAX_DESCRIPTORS`] descriptors as one packet.
pub fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    waiting: Waiting,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let rights = SendAncillaryMessage::ScmRights(descriptors);
    let is_too_many = descriptors.len() > MAX_DESCRIPTORS;
    if is_too_many || (!descriptors.is_empty() && !ancillary.push(rights)) {
        return Err(Errno::TOOBIG);
    }
    let mut flags = SendFlags::NOSIGNAL;
    flags.set(SendFlags::DONTWAIT, waiting == Waiting::Refused);
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)?;
    if sent == bytes.len() { Ok(()) } else { Err(Errno::MSGSIZE) }
}

/// The next packet, of at most `most` bytes; none when the other side is gone.
pub fn receive(
    socket: BorrowedFd<'_>,
    most: usize,
    waiting: Waiting,
) -> Result<Option<Packet>, Errno> {
    Ok(receive_from(socket, most, waiting)?.map(|(packet, _)| packet))
}

/// Has the kernel say of every packet that comes from now on who sent it.
pub fn name_senders(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::net::sockopt::set_socket_passcred(socket, true)
}

/// The same as [`receive`], with the sender where the kernel was asked to name senders.
pub fn receive_from(
    socket: BorrowedFd<'_>,
    most: usize,
    waiting: Waiting,
) -> Result<Option<(Packet, Option<Sender>)>, Errno> {
    let received = match receive_once(socket, most, waiting) {
        // The other side ended without reading all that it was sent. The kernel says so once, ahead of
        // what the other side had still sent.
        Err(Errno::CONNRESET) => receive_once(socket, most, waiting),
        other => other,
    };
    received.map(|received| Some(received).filter(|((bytes, _), _)| !bytes.is_empty()))
}

fn receive_once(
    socket: BorrowedFd<'_>,
    most: usize,
    waiting: Waiting,
) -> Result<(Packet, Option<Sender>), Errno> {
    let mut flags = RecvFlags::CMSG_CLOEXEC;
    flags.set(RecvFlags::DONTWAIT, waiting == Waiting::Refused);
    // Almost all packets are small, and every page of a buffer for the largest would be cleared.
    let look = flags | RecvFlags::PEEK | RecvFlags::TRUNC;
    let (_, length) = rustix::net::recv(socket, &mut [0_u8; 0], look)?;
    if length > most {
        return Err(Errno::MSGSIZE);
    }
    let mut bytes = vec![0_u8; length];
    let mut space =
        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS), ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let buffers = &mut [IoSliceMut::new(&mut bytes)];
    let received = rustix::net::recvmsg(socket, buffers, &mut ancillary, flags)?;
    let (mut descriptors, mut sender) = (Vec::new(), None);
    for message in ancillary.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(rights) => descriptors.extend(rights),
            RecvAncillaryMessage::ScmCredentials(of) => {
                sender = Some(Sender { pid: of.pid, uid: of.uid });
            }
            _ => {}
        }
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(Errno::MSGSIZE);
    }
    // There is room for all that anybody of ours sends: this process could not have so many more open.
    let is_cut = received.flags.contains(ReturnFlags::CTRUNC);
    // Room that is left to align them in can take one more.
    if is_cut || descriptors.len() > MAX_DESCRIPTORS {
        return Err(Errno::MFILE);
    }
    bytes.truncate(received.bytes);
    Ok(((bytes, descriptors), sender))
}

/// Most file descriptors in one packet; the kernel's own bound is 253.
pub const MAX_DESCRIPTORS: usize = 250;
