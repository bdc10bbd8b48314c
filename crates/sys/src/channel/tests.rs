//! Packets between two ends that are both here.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::{Errno, FdFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use super::{MAX_DESCRIPTORS, Sender, Waiting, name_senders, pair, receive, receive_from, send};

const MOST: usize = 1024;

fn is_kept_from_programs(descriptor: &OwnedFd) -> bool {
    rustix::io::fcntl_getfd(descriptor).unwrap().contains(FdFlags::CLOEXEC)
}

fn bytes_of_next(socket: &OwnedFd, waiting: Waiting) -> Result<Option<Vec<u8>>, Errno> {
    Ok(receive(socket.as_fd(), MOST, waiting)?.map(|(bytes, _)| bytes))
}

/// Whether every copy of a pipe's other end is closed, or will be soon.
fn is_closed(reader: &OwnedFd) -> bool {
    let longest = testing::slowly(Duration::from_secs(10));
    let longest = Timespec { tv_sec: longest.as_secs().try_into().unwrap(), tv_nsec: 0 };
    let mut ends = [PollFd::new(reader, PollFlags::IN)];
    rustix::event::poll(&mut ends, Some(&longest)).unwrap() == 1
        && ends[0].revents().contains(PollFlags::HUP)
}

/// Sends without the bound on descriptors, as a hostile process can.
fn send_unbounded(socket: &OwnedFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    let bytes = [IoSlice::new(bytes)];
    rustix::net::sendmsg(socket, &bytes, &mut ancillary, SendFlags::empty()).unwrap();
}

#[test]
fn packets_arrive_whole_and_in_order() {
    let (one, other) = pair().unwrap();
    assert!(is_kept_from_programs(&one) && is_kept_from_programs(&other));
    for bytes in [b"first".as_slice(), b"second"] {
        send(one.as_fd(), bytes, &[], Waiting::Allowed).unwrap();
    }
    send(other.as_fd(), b"back", &[], Waiting::Allowed).unwrap();
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(Some(b"first".to_vec())));
    assert_eq!(bytes_of_next(&other, Waiting::Refused), Ok(Some(b"second".to_vec())));
    assert_eq!(bytes_of_next(&one, Waiting::Allowed), Ok(Some(b"back".to_vec())));
}

#[test]
fn descriptors_arrive_with_their_packet_in_order() {
    let (one, other) = pair().unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    send(one.as_fd(), b"pipe", &[reader.as_fd(), writer.as_fd()], Waiting::Allowed).unwrap();
    send(one.as_fd(), b"nothing", &[], Waiting::Allowed).unwrap();
    let (bytes, pipe) = receive(other.as_fd(), MOST, Waiting::Allowed).unwrap().unwrap();
    assert_eq!(bytes, b"pipe");
    assert!(pipe.iter().all(is_kept_from_programs));
    let [reader, writer] = <[OwnedFd; 2]>::try_from(pipe).unwrap();
    assert_eq!(rustix::io::write(&writer, b"through"), Ok(7));
    assert_eq!(rustix::io::read(&reader, &mut [0_u8; 16]), Ok(7));
    let (bytes, none) = receive(other.as_fd(), MOST, Waiting::Allowed).unwrap().unwrap();
    assert_eq!((bytes.as_slice(), none.len()), (b"nothing".as_slice(), 0));
}

#[test]
fn a_packet_that_is_too_long_is_refused_with_its_descriptors() {
    let (one, other) = pair().unwrap();
    send(one.as_fd(), &[b'x'; MOST], &[], Waiting::Allowed).unwrap();
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(Some(vec![b'x'; MOST])));
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    send(one.as_fd(), &[b'x'; MOST + 1], &[writer.as_fd()], Waiting::Allowed).unwrap();
    drop(writer);
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Err(Errno::MSGSIZE));
    drop((one, other));
    assert!(is_closed(&reader));
}

#[test]
fn no_more_descriptors_are_sent_than_are_received() {
    let (one, other) = pair().unwrap();
    let many = [one.as_fd(); MAX_DESCRIPTORS + 1];
    assert_eq!(send(one.as_fd(), b"x", &many, Waiting::Allowed), Err(Errno::TOOBIG));
    assert_eq!(bytes_of_next(&other, Waiting::Refused), Err(Errno::AGAIN));
    send(one.as_fd(), b"x", &many[..MAX_DESCRIPTORS], Waiting::Allowed).unwrap();
    let (_, received) = receive(other.as_fd(), MOST, Waiting::Allowed).unwrap().unwrap();
    assert_eq!(received.len(), MAX_DESCRIPTORS);
}

/// Those that did arrive would stay open for as long as this process lives.
#[test]
fn too_many_descriptors_are_an_error_and_all_are_closed() {
    let (one, other) = pair().unwrap();
    for count in [MAX_DESCRIPTORS + 1, 253] {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        send_unbounded(&one, b"x", &vec![writer.as_fd(); count]);
        drop(writer);
        assert_eq!(bytes_of_next(&other, Waiting::Allowed), Err(Errno::MFILE));
        assert!(is_closed(&reader));
    }
    // The channel is still good.
    send(one.as_fd(), b"y", &[], Waiting::Allowed).unwrap();
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(Some(b"y".to_vec())));
}

/// The kernel says nothing else when the other side is gone, so nobody has a use for one.
#[test]
fn an_empty_packet_is_an_end_and_its_descriptors_are_closed() {
    let (one, other) = pair().unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    send_unbounded(&one, b"", &[writer.as_fd()]);
    drop(writer);
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(None));
    assert!(is_closed(&reader));
}

#[test]
fn what_was_sent_before_the_end_is_received() {
    let (one, other) = pair().unwrap();
    send(one.as_fd(), b"last", &[], Waiting::Allowed).unwrap();
    drop(one);
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(Some(b"last".to_vec())));
    for waiting in [Waiting::Allowed, Waiting::Refused] {
        assert_eq!(bytes_of_next(&other, waiting), Ok(None));
        assert_eq!(send(other.as_fd(), b"x", &[], waiting), Err(Errno::PIPE));
    }
}

/// The kernel reports a reset ahead of what can still be received.
#[test]
fn an_end_with_unread_packets_hides_none() {
    let (one, other) = pair().unwrap();
    send(other.as_fd(), b"never read", &[], Waiting::Allowed).unwrap();
    send(one.as_fd(), b"last", &[], Waiting::Allowed).unwrap();
    drop(one);
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(Some(b"last".to_vec())));
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(None));
}

#[test]
fn neither_side_waits_where_waiting_is_refused() {
    let (one, other) = pair().unwrap();
    assert_eq!(bytes_of_next(&other, Waiting::Refused), Err(Errno::AGAIN));
    let sent =
        (0..100_000).find_map(|_| send(one.as_fd(), &[b'x'; MOST], &[], Waiting::Refused).err());
    assert_eq!(sent, Some(Errno::AGAIN));
    // One that may wait is served as soon as there is room.
    let sender = std::thread::spawn(move || send(one.as_fd(), b"late", &[], Waiting::Allowed));
    let received = std::iter::from_fn(|| bytes_of_next(&other, Waiting::Allowed).unwrap()).last();
    assert_eq!(received, Some(b"late".to_vec()));
    assert_eq!(sender.join().unwrap(), Ok(()));
}

#[test]
fn the_kernel_names_the_sender_where_it_is_asked_to() {
    let (one, other) = pair().unwrap();
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    let sent = || {
        send(one.as_fd(), b"who", &[reader.as_fd()], Waiting::Allowed).unwrap();
        let (packet, sender) =
            receive_from(other.as_fd(), MOST, Waiting::Allowed).unwrap().unwrap();
        assert_eq!((packet.0.as_slice(), packet.1.len()), (&b"who"[..], 1));
        sender
    };
    assert_eq!(sent(), None);
    name_senders(other.as_fd()).unwrap();
    let own = Sender { pid: rustix::process::getpid(), uid: rustix::process::getuid() };
    assert_eq!(sent(), Some(own));
    send(one.as_fd(), b"who", &[], Waiting::Allowed).unwrap();
    assert_eq!(bytes_of_next(&other, Waiting::Allowed), Ok(Some(b"who".to_vec())));
}
