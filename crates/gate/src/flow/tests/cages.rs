//! Cages beside each other, and their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use plan::network::{Family, GatekeeperPlan, SocketKind, Transport};
use testing::slowly;

use super::support::{Gate, ask, echo_server, listener, report};
use crate::control::{CageReport, Order, Waiting};
use crate::limits;
use crate::settings::Settings;

async fn connected(cage: &super::support::TestCage, port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(cage.socks).await.unwrap();
    let [high, low] = port.to_be_bytes();
    let answer = ask(&mut stream, &[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, high, low], 12).await;
    assert_eq!(answer[3], 0);
    assert_eq!(ask(&mut stream, b"ping", 4).await, b"ping");
    stream
}

/// K83, K89, K102: one gatekeeper, and each socket has the rules of its own cage.
#[tokio::test]
async fn a_socket_is_its_cages_identity() {
    let gate = Gate::start().await;
    let mut cages = Vec::new();
    for name in ["a.test", "b.test"] {
        let plan = GatekeeperPlan { allow: vec![name.parse().unwrap()], ..Default::default() };
        let questions = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = questions.local_addr().unwrap();
        let kind = SocketKind::Dns { family: Family::V4, transport: Transport::Udp };
        let sockets = vec![(kind, questions.into())];
        cages.push((gate.register(&plan, Settings::default(), sockets).await, address, name));
    }
    for (_channel, server, own) in &cages {
        for label in [b'a', b'b'] {
            let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let head = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01";
            let query = [&head[..], &[label], b"\x04test\x00\x00\x01\x00\x01"].concat();
            client.send_to(&query, server).await.unwrap();
            let mut answer = [0; 512];
            timeout(slowly(Duration::from_secs(8)), client.recv(&mut answer))
                .await
                .unwrap()
                .unwrap();
            let is_refused = answer[3] & 0x0f == 3;
            assert_eq!(is_refused, own.as_bytes()[0] != label, "{own} and {label}");
        }
    }
}

/// K85, K86: what a cage had ends when it is let go; others go on.
#[tokio::test]
async fn the_end_of_a_cage_ends_its_connections() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let (one, other) = (gate.cage(&["127.0.0.1"]).await, gate.cage(&["127.0.0.1"]).await);
    let mut of_one = connected(&one, port).await;
    let mut of_other = connected(&other, port).await;
    let account = one.unregister().await;
    assert_eq!(account.counters.bytes_out, 4);
    let ended = timeout(slowly(Duration::from_secs(5)), of_one.read(&mut [0; 4])).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    assert!(TcpStream::connect(one.socks).await.is_err(), "its listener is still there");
    assert_eq!(report(&one.channel).await, None);
    assert_eq!(ask(&mut of_other, b"pong", 4).await, b"pong");
    // The same where the owner just goes away.
    drop(other.channel);
    let ended = timeout(slowly(Duration::from_secs(5)), of_other.read(&mut [0; 4])).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

/// K220: what a cage does is told while it runs.
#[tokio::test]
async fn counters_are_told_while_a_cage_runs() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["127.0.0.1"]).await;
    let _stream = connected(&cage, port).await;
    loop {
        let Some(CageReport::Progress(counters)) = report(&cage.channel).await else { panic!() };
        if (counters.tcp_allowed, counters.bytes_in) == (1, 4) {
            break;
        }
    }
}

/// K192: without its supervisor there is no gatekeeper, and without it no connection.
#[tokio::test]
async fn the_end_of_the_supervisor_ends_everything() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["127.0.0.1"]).await;
    let mut stream = connected(&cage, port).await;
    drop(gate.control);
    gate.serving.await.unwrap().unwrap();
    let ended = timeout(slowly(Duration::from_secs(5)), stream.read(&mut [0; 4])).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    assert!(TcpStream::connect(cage.socks).await.is_err());
}

#[tokio::test]
async fn a_draining_gatekeeper_serves_its_cages_and_takes_no_more() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["127.0.0.1"]).await;
    gate.control.send(&Order::Drain, &[], Waiting::Refused).unwrap();
    let stream = connected(&cage, port).await;
    drop(stream);
    cage.unregister().await;
    timeout(slowly(Duration::from_secs(5)), gate.serving).await.unwrap().unwrap().unwrap();
}

/// K15: ten thousand connections that say nothing are held, and hold neither pipes nor buffers.
#[tokio::test]
async fn ten_thousand_idle_connections_are_held() {
    let wanted = 4 * IDLE_CONNECTIONS as u64 + 1000;
    if !super::support::raise_descriptor_limit(wanted) {
        return testing::skip(format!("this process may not have {wanted} descriptors"));
    }
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["127.0.0.1"]).await;
    let before = resident_bytes();
    let mut idle = Vec::new();
    for _ in 0..IDLE_CONNECTIONS {
        idle.push(connected(&cage, port).await);
    }
    let each = resident_bytes().saturating_sub(before) / IDLE_CONNECTIONS as u64;
    // The client and the server of the test are in the same process and take their share.
    assert!(each < 24 * 1024, "{each} bytes for each connection");
    for stream in idle.iter_mut().rev().step_by(1000) {
        assert_eq!(ask(stream, b"still", 5).await, b"still");
    }
    assert_eq!(cage.unregister().await.counters.tcp_allowed, IDLE_CONNECTIONS as u64);
}

/// K15, T29: whatever one cage holds, another has its connections, and what is given back is used.
#[tokio::test]
async fn one_cage_leaves_descriptors_for_others() {
    let gate = Gate::with_descriptors(600).await;
    let port = echo_server().await;
    let other = gate.cage(&["127.0.0.1"]).await;
    let mut greedy = Vec::new();
    for _ in 0..4 {
        let cage = gate.cage(&["127.0.0.1"]).await;
        let mut held = Vec::new();
        while let Ok(stream) =
            timeout(slowly(Duration::from_millis(300)), connected(&cage, port)).await
        {
            held.push(stream);
        }
        greedy.push((cage, held));
    }
    let counts: Vec<usize> = greedy.iter().map(|(_, held)| held.len()).collect();
    assert!((100..130).contains(&counts[0]), "{counts:?}");
    assert!(counts.iter().all(|count| *count >= limits::OWN_CONNECTIONS), "{counts:?}");
    let mut streams = Vec::new();
    for _ in 0..limits::OWN_CONNECTIONS {
        streams.push(connected(&other, port).await);
    }
    assert_eq!(other.unregister().await.out_of_descriptors, 0);
    let (first, held) = greedy.remove(0);
    drop(held);
    connected(&first, port).await;
    assert!(first.unregister().await.out_of_descriptors > 0);
}

/// A cage that there are no descriptors for is refused; those that are served do not notice.
#[tokio::test]
async fn a_cage_too_many_is_refused_and_the_others_go_on() {
    let gate = Gate::with_descriptors(300).await;
    let port = echo_server().await;
    let first = gate.cage(&["127.0.0.1"]).await;
    let mut stream = connected(&first, port).await;
    let (mut taken, mut refused) = (Vec::new(), None);
    while refused.is_none() && taken.len() < 100 {
        let sockets =
            vec![(SocketKind::Socks, listener().0), (SocketKind::HttpProxy, listener().0)];
        let plan = GatekeeperPlan::default();
        let channel = gate.ask_to_register(&plan, Settings::default(), sockets);
        match report(&channel).await {
            Some(CageReport::Registered) => taken.push(channel),
            Some(CageReport::Refused { reason }) => refused = Some(reason),
            other => panic!("{other:?}"),
        }
    }
    assert!(refused.unwrap().contains("ulimit -n"));
    assert!(taken.len() > 5, "{} cages", taken.len());
    assert_eq!(ask(&mut stream, b"pong", 4).await, b"pong");
    // What one leaves is the next one's.
    drop(taken);
    gate.cage(&["127.0.0.1"]).await;
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A flood of refused connections of one cage leaves another its turn. Turns are counted, and no time is
/// taken: a machine that stands still holds up both.
#[tokio::test]
async fn a_flood_leaves_others_their_turn() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let (quiet, busy) = (gate.cage(&["127.0.0.1"]).await, gate.cage(&["a.test"]).await);
    let mut stream = connected(&quiet, port).await;
    let address = busy.any;
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let flood = tokio::spawn(async move {
        loop {
            let _refused = TcpStream::connect(address).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut longest = 0;
    for _ in 0..300 {
        let before = made.load(Ordering::Relaxed);
        assert_eq!(ask(&mut stream, b"ping", 4).await, b"ping");
        longest = longest.max(made.load(Ordering::Relaxed) - before);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    flood.abort();
    assert!(longest < 100, "{longest} connections were made before an answer came");
    assert!(busy.unregister().await.counters.tcp_denied > 300);
}

/// More dials at once than a cage may have wait for each other, and none is lost.
#[tokio::test]
async fn dials_beyond_the_bound_wait_their_turn() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let cage = gate.cage(&["127.0.0.1"]).await;
    let many = (0..2000).map(|_| async {
        let mut stream = connected(&cage, port).await;
        assert_eq!(ask(&mut stream, b"ping", 4).await, b"ping");
    });
    let mut tasks = Vec::new();
    for one in many {
        tasks.push(Box::pin(one));
    }
    for chunk in tasks.chunks_mut(500) {
        let mut left: Vec<_> = chunk.iter_mut().collect();
        std::future::poll_fn(|context| {
            left.retain_mut(|task| task.as_mut().poll(context).is_pending());
            if left.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
    assert_eq!(cage.unregister().await.counters.tcp_allowed, 2000);
}

/// Heads that do not end are kept only so far; short ones of the same cage, and other cages, go on.
#[tokio::test]
async fn unfinished_messages_are_bounded() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let (busy, other) = (gate.cage(&["a.test"]).await, gate.cage(&["127.0.0.1"]).await);
    let long =
        [b"GET / HTTP/1.1\r\nHost: a.test\r\nX: ", vec![b'x'; LONG_HEAD].as_slice()].concat();
    let mut unfinished = Vec::new();
    for _ in 0..2 * limits::HELD_BACK / LONG_HEAD {
        let mut stream = TcpStream::connect(busy.http).await.unwrap();
        // Those that are refused may be gone before all is said.
        let _refused = stream.write_all(&long).await;
        unfinished.push(stream);
    }
    let refused = async {
        let (mut refused, mut answer) = (0, [0; 12]);
        for stream in &mut unfinished {
            let said =
                timeout(slowly(Duration::from_millis(5)), stream.read_exact(&mut answer)).await;
            refused += usize::from(matches!(said, Ok(Ok(_)) if answer == *b"HTTP/1.1 400"));
        }
        refused
    };
    let (refused, opened) = (refused.await, unfinished.len());
    let kept = (opened - refused) * long.len();
    assert!(kept <= limits::HELD_BACK, "{kept} bytes are kept, {refused} of {opened} refused");
    assert!(kept > limits::HELD_BACK / 2, "{refused} of {opened} refused");
    let mut short = TcpStream::connect(busy.http).await.unwrap();
    let words = b"GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n";
    assert_eq!(ask(&mut short, words, 12).await, b"HTTP/1.1 403");
    connected(&other, port).await;
    drop(unfinished);
    let account = busy.unregister().await;
    let denied = account.denials.iter().find(|denied| denied.target == "-").unwrap();
    assert_eq!(denied.code.as_deref(), Some("too_much_held_back"));
}

const LONG_HEAD: usize = 60 * 1024;
const IDLE_CONNECTIONS: usize = 10_000;

/// However many connections a cage has open, the kernel holds back much for a few of them alone.
#[test]
fn few_connections_have_large_buffers() {
    let buffer = |open: usize| super::super::send_buffer(limits::CONNECTIONS - open);
    assert_eq!(buffer(1), limits::SEND_BUFFER_OF_FEW);
    assert_eq!(buffer(limits::FEW), limits::SEND_BUFFER_OF_FEW);
    assert_eq!(buffer(limits::FEW + 1), limits::SEND_BUFFER);
    assert_eq!(buffer(limits::CONNECTIONS), limits::SEND_BUFFER);
}
