//! Connections to ports inside, made by pid 1.

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use plan::GatekeeperPlan;
use plan::inward::{InwardAnswer, InwardRequest};
use plan::network::SocketKind;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags};

use crate::held::{Held, network, start, wait_for};

fn request(held: &Held, port: u16) {
    let packet = InwardRequest { port }.encode();
    rustix::net::send(held.socket(SocketKind::Inward), &packet, SendFlags::NOSIGNAL).unwrap();
}

fn answer(socket: BorrowedFd<'_>) -> (InwardAnswer, Option<OwnedFd>) {
    wait_for(socket, "an answer");
    let mut bytes = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .unwrap();
    let connection = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    (InwardAnswer::decode(&bytes[..received.bytes]).unwrap(), connection)
}

/// Asks until the program listens.
fn connect(held: &Held, port: u16) -> TcpStream {
    let until = Instant::now() + testing::slowly(Duration::from_secs(10));
    loop {
        request(held, port);
        match answer(held.socket(SocketKind::Inward)) {
            (InwardAnswer { port: told, errno: None }, Some(connection)) => {
                assert_eq!(told, port);
                let stream = TcpStream::from(connection);
                stream.set_nonblocking(false).unwrap();
                return stream;
            }
            (InwardAnswer { errno: Some(errno), .. }, None) => {
                assert_eq!(i32::from(errno), libc::ECONNREFUSED);
                assert!(Instant::now() < until, "nobody listens on {port}");
                std::thread::sleep(Duration::from_millis(5));
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn published_ports_are_reached() {
    let plan = GatekeeperPlan { publish: vec![8080, 8081], ..network(&["a.example:443"]) };
    let held = start(plan, &["serve 127.0.0.1:8080", "serve [::1]:8081", "serve 0.0.0.0:8080"]);
    for port in [8080, 8081, 8080] {
        let mut stream = connect(&held, port);
        assert!(stream.peer_addr().unwrap().ip().is_loopback());
        stream.write_all(b"hello").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "hello");
    }
    assert_eq!(held.finish().unwrap().lines, ["hello"; 3]);
}

/// A port that neither accepts nor refuses keeps only those waiting who asked for it, and pid 1
/// goes on with everything else.
pub(crate) fn a_full_queue_blocks_nobody() {
    let plan = GatekeeperPlan { publish: vec![8080, 8081], ..network(&["a.example:443"]) };
    let held = start(plan, &["fill 127.0.0.1:8080", "serve 127.0.0.1:8081", "sleep 1500"]);
    let mut stream = connect(&held, 8081);
    // More than the socket's own queue takes.
    for _ in 0..12 {
        request(&held, 8080);
    }
    stream.write_all(b"hello").unwrap();
    stream.read_exact(&mut [0; 5]).unwrap();
    // Asked for last and answered first.
    request(&held, 9);
    let (refused, _) = answer(held.socket(SocketKind::Inward));
    assert_eq!((refused.port, refused.errno), (9, u16::try_from(libc::ECONNREFUSED).ok()));
    for _ in 0..12 {
        let (late, connection) = answer(held.socket(SocketKind::Inward));
        assert_eq!((late.port, connection.is_some()), (8080, false));
    }
    held.finish().unwrap();
}
