//! Bytes through the relay, between sockets of this process.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Direction, HeldBack, Meter, Pipes, relay, reset};
use crate::limits;

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (one, other) = tokio::join!(TcpStream::connect(address), listener.accept());
    (one.unwrap(), other.unwrap().0)
}

fn pattern(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

async fn check_transfer(pipes: &Pipes, length: usize) {
    let (mut client, inside) = pair().await;
    let (outside, mut server) = pair().await;
    let (inward, outward) = (AtomicU64::new(0), AtomicU64::new(0));
    let held_back = HeldBack::default();
    let meter = Meter::new(pipes, &inward, &outward, &held_back);
    let (request, answer) = (pattern(length, 1), pattern(length + 17, 2));
    let client_side = async {
        let (mut read, mut write) = client.split();
        let send = async {
            write.write_all(&request).await.unwrap();
            write.shutdown().await.unwrap();
        };
        let mut got = Vec::new();
        let (_, received) = tokio::join!(send, read.read_to_end(&mut got));
        received.unwrap();
        got
    };
    let server_side = async {
        let mut got = Vec::new();
        let (mut read, mut write) = server.split();
        let (received, _) = tokio::join!(read.read_to_end(&mut got), async {
            write.write_all(&answer).await.unwrap();
        });
        received.unwrap();
        // The client has shut its side and still gets all of this.
        write.write_all(b"the end").await.unwrap();
        write.shutdown().await.unwrap();
        got
    };
    let (relayed, at_client, at_server) =
        tokio::join!(relay(&inside, &outside, &meter), client_side, server_side);
    relayed.unwrap();
    assert!(at_server == request);
    assert!(at_client == [answer.as_slice(), b"the end"].concat());
    assert_eq!(outward.load(Ordering::Relaxed), length as u64);
    assert_eq!(inward.load(Ordering::Relaxed), length as u64 + 17 + 7);
}

/// K106: every byte arrives, in both directions at once, and half-closed connections go on.
#[tokio::test]
async fn everything_arrives_both_ways() {
    let pipes = Pipes::new(limits::PIPES);
    for length in [0, 1, 70_000, 20 << 20] {
        check_transfer(&pipes, length).await;
    }
    assert_eq!(pipes.taken_for_tests(), 0);
}

/// The same where no pipe is left.
#[tokio::test]
async fn everything_arrives_without_pipes() {
    let pipes = Pipes::new(limits::PIPES);
    let taken: Vec<_> = (0..limits::PIPES).map_while(|_| pipes.take()).collect();
    assert_eq!(taken.len(), limits::PIPES);
    for length in [0, 1, 70_000, 8 << 20] {
        check_transfer(&pipes, length).await;
    }
}

/// A receiver that does not read stops the sender; the relay holds at most a pipe.
#[tokio::test]
async fn a_slow_receiver_slows_the_sender() {
    let pipes = Pipes::new(limits::PIPES);
    let (mut client, inside) = pair().await;
    let (outside, _server) = pair().await;
    let (inward, outward) = (AtomicU64::new(0), AtomicU64::new(0));
    let held_back = HeldBack::default();
    let meter = Meter::new(&pipes, &inward, &outward, &held_back);
    let flood = async {
        let chunk = vec![0_u8; 1 << 20];
        let mut sent = 0;
        let pause = testing::slowly(std::time::Duration::from_millis(300));
        while tokio::time::timeout(pause, client.write_all(&chunk)).await.is_ok() {
            sent += 1;
            assert!(sent < 200, "nothing stops the sender");
        }
    };
    tokio::select! {
        _ = relay(&inside, &outside, &meter) => unreachable!("nobody has ended"),
        () = flood => {}
    }
    assert_eq!(pipes.spare_for_tests(), 0, "a pipe with bytes in it was kept");
}

/// A side that breaks off breaks the other off.
#[tokio::test]
async fn a_reset_is_passed_on() {
    let pipes = Pipes::new(limits::PIPES);
    let (mut client, inside) = pair().await;
    let (outside, server) = pair().await;
    let (inward, outward) = (AtomicU64::new(0), AtomicU64::new(0));
    let held_back = HeldBack::default();
    let meter = Meter::new(&pipes, &inward, &outward, &held_back);
    reset(server);
    let relayed = relay(&inside, &outside, &meter).await;
    assert_eq!(relayed.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    reset(inside);
    let error = client.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

/// A connection that is silent for too long ends.
#[tokio::test(start_paused = true)]
async fn silence_ends_a_connection() {
    let pipes = Pipes::new(limits::PIPES);
    let (_client, inside) = pair().await;
    let (outside, _server) = pair().await;
    let (inward, outward) = (AtomicU64::new(0), AtomicU64::new(0));
    let held_back = HeldBack::default();
    let meter = Meter::new(&pipes, &inward, &outward, &held_back);
    let relayed = relay(&inside, &outside, &meter).await;
    assert_eq!(relayed.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
}

/// What connections hold back is counted together, and counted off with them.
#[test]
fn held_back_bytes_are_counted() {
    let (pipes, held_back) = (Pipes::new(limits::PIPES), HeldBack::default());
    let (inward, outward) = (AtomicU64::new(0), AtomicU64::new(0));
    let meter = || Meter::new(&pipes, &inward, &outward, &held_back);
    let (one, other) = (meter(), meter());
    let (small, half) = (limits::HELD_BACK_ALWAYS, limits::HELD_BACK / 2);
    one.hold_back(Direction::Outward, half).unwrap();
    one.hold_back(Direction::Inward, half - small).unwrap();
    // Saying it again is not holding back more.
    one.hold_back(Direction::Outward, half).unwrap();
    other.hold_back(Direction::Outward, small).unwrap();
    let refused = other.hold_back(Direction::Outward, small + 1).unwrap_err();
    assert_eq!(refused.code.as_str(), "too_much_held_back");
    other.hold_back(Direction::Outward, small).unwrap();
    one.hold_back(Direction::Inward, 0).unwrap();
    other.hold_back(Direction::Outward, half - small).unwrap();
    drop(one);
    other.hold_back(Direction::Outward, 2 * half).unwrap();
}
