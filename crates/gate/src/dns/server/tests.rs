//! The server of one cage on real sockets of loopback, against a resolver of the test's own.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plan::GatekeeperPlan;
use plan::destination::Name;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::Outside;
use super::super::scripted::{A, AAAA, Data, Deed, Scripted, wire};
use super::{CageNames, Resolver, Server, Sockets};
use crate::decision::{Verdict, decide_question};
use crate::event::EventKind;
use crate::limits;
use crate::rules::Rules;
use crate::synthetic::{MapFull, SyntheticMap, SyntheticPair};

mod dig;

/// A cage with the given entries, and what was told about it.
struct Cage {
    rules: Rules,
    map: Mutex<SyntheticMap>,
    outside: Outside,
    told: Mutex<Vec<EventKind>>,
}

impl CageNames for Cage {
    fn decide(&self, name: &Name) -> Verdict {
        decide_question(&self.rules, name)
    }

    fn assign(&self, name: &Name) -> Result<SyntheticPair, MapFull> {
        self.map.lock().unwrap().assign(name)
    }

    fn outside(&self) -> Outside {
        self.outside
    }

    fn had_no_descriptor(&self) {}

    fn tell(&self, event: EventKind) {
        self.told.lock().unwrap().push(event);
    }
}

/// A cage whose names are served.
struct Served {
    cage: Arc<Cage>,
    upstream: Scripted,
    /// Of the datagram sockets of both families and the listener.
    v4: SocketAddr,
    v6: SocketAddr,
    connections: SocketAddr,
    server: JoinHandle<()>,
}

impl Served {
    async fn with(allow: &[&str], deny: &[&str], upstream: Scripted) -> Self {
        Self::through(allow, deny, upstream, Outside::Resolvers).await
    }

    async fn through(allow: &[&str], deny: &[&str], upstream: Scripted, outside: Outside) -> Self {
        let parsed = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let plan =
            GatekeeperPlan { allow: parsed(allow), deny: parsed(deny), ..Default::default() };
        let cage = Arc::new(Cage {
            rules: Rules::new(&plan),
            map: Mutex::new(SyntheticMap::new(7)),
            outside,
            told: Mutex::default(),
        });
        // The same port for datagrams and connections, for clients that know but one.
        let (v4, listener) = loop {
            let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
            if let Ok(socket) = std::net::UdpSocket::bind(listener.local_addr().unwrap()) {
                break (socket, listener);
            }
        };
        let v6 = std::net::UdpSocket::bind("[::1]:0").unwrap();
        let mut connections = listener.local_addr().unwrap();
        connections.set_ip("127.0.0.1".parse().unwrap());
        let addresses = (connections, v6.local_addr().unwrap(), connections);
        let sockets = Sockets { datagrams: vec![v4, v6], listeners: vec![listener] };
        let resolver = Arc::new(Resolver::new(vec![upstream.address], 1_000));
        let server = Server::new(sockets, Arc::clone(&cage), resolver).unwrap();
        let server = tokio::spawn(server.run());
        let (v4, v6, connections) = addresses;
        Self { cage, upstream, v4, v6, connections, server }
    }

    /// The answer to a datagram, which must come from where it was asked.
    async fn ask(&self, name: &str, kind: u16) -> Answered {
        Answered(exchange(self.v4, &query(name, kind)).await.expect("an answer"))
    }

    fn synthetic(&self, name: &str) -> SyntheticPair {
        self.cage.assign(&Name::parse(name).unwrap()).unwrap()
    }

    fn told(&self) -> Vec<EventKind> {
        std::mem::take(&mut *self.cage.told.lock().unwrap())
    }
}

fn query(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(wire(name));
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

async fn exchange(server: SocketAddr, query: &[u8]) -> Option<Vec<u8>> {
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await.unwrap();
    socket.send_to(query, server).await.unwrap();
    let mut buffer = [0; 2048];
    let received =
        timeout(testing::slowly(Duration::from_secs(8)), socket.recv_from(&mut buffer)).await;
    let (length, from) = received.ok()?.unwrap();
    assert_eq!(from, server);
    Some(buffer[..length].to_vec())
}

/// An answer's bytes.
struct Answered(Vec<u8>);

impl Answered {
    fn code(&self) -> u8 {
        assert_eq!(self.0[..2], [0x12, 0x34]);
        self.0[3] & 0x0f
    }

    /// The one address, at the end of the message, and its time to live.
    fn address(&self) -> Option<(IpAddr, u32)> {
        if self.0[7] == 0 {
            return None;
        }
        assert_eq!((self.0[7], self.code()), (1, 0));
        let v6 = self.0.len() > 28 && self.0[self.0.len() - 18..][..2] == [0, 16];
        let (data, at) = match v6 {
            true => (self.0.last_chunk::<16>().map(|octets| IpAddr::from(*octets)), 22),
            false => (self.0.last_chunk::<4>().map(|octets| IpAddr::from(*octets)), 10),
        };
        let ttl = self.0[self.0.len() - at..][..4].try_into().map(u32::from_be_bytes).unwrap();
        data.map(|address| (address, ttl))
    }
}

/// K88, K94, K95, K197: an allowed name gets the address that stands for it, and never its own.
#[tokio::test]
async fn an_allowed_name_gets_its_synthetic_address() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &["2001:db8::1"]).await;
    let served = Served::with(&["example.com:443"], &[], upstream).await;
    let pair = served.synthetic("example.com");
    let (address, seconds) = served.ask("Example.COM", A).await.address().unwrap();
    assert_eq!(address, IpAddr::V4(pair.v4));
    assert!((50..=60).contains(&seconds), "{seconds}");
    assert_eq!(served.ask("example.com", AAAA).await.address().unwrap().0, IpAddr::V6(pair.v6));
    assert_eq!(served.upstream.names_heard(), ["example.com", "example.com"]);
    let hostname = "example.com".to_owned();
    let resolved_ip = "203.0.113.1".parse().unwrap();
    assert_eq!(served.told()[0], EventKind::DnsAllowed { hostname, resolved_ip });
    // Asked again, and by way of IPv6, nobody outside hears of it.
    let bytes = exchange(served.v6, &query("example.com", A)).await.unwrap();
    assert_eq!(Answered(bytes).address().unwrap().0, IpAddr::V4(pair.v4));
    assert_eq!(served.upstream.heard().len(), 2);
}

/// K90, K91, K92, K93, K97, K98, K235, T43: what no entry names is refused, told, and sent to nobody.
#[tokio::test]
async fn a_denied_name_is_never_sent_upstream() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let allow =
        ["exact.example", "*.one.example", "**.any.example:443", "10.0.0.0/8", "part.example:1-9"];
    let deny = ["bad.any.example", "part.example:1-5", "*.one.example:1-65535"];
    let served = Served::with(&allow, &deny, upstream).await;
    let allowed = ["exact.example", "a.any.example", "b.a.any.example", "part.example"];
    let denied = [
        "example",
        "www.exact.example",
        "one.example",
        "a.one.example",
        "a.b.one.example",
        "any.example",
        "bad.any.example",
        "printer.local",
        "host",
        "leak.exact.example.evil.example",
        "c2VjcmV0.xn--bcher-kva.example",
    ];
    for name in allowed {
        assert!(served.ask(name, A).await.address().is_some(), "{name}");
    }
    served.told();
    for name in denied {
        for kind in [A, AAAA, 16, 10, 255, 65] {
            let answer = served.ask(name, kind).await;
            assert_eq!((answer.code(), answer.address()), (3, None), "{name} {kind}");
        }
        let told = served.told();
        assert_eq!(told.len(), 6);
        let name = name.to_ascii_lowercase();
        let is_about = |event: &EventKind| match event {
            EventKind::DnsDenied { hostname, .. } => *hostname == name,
            _ => false,
        };
        assert!(told.iter().all(is_about), "{told:?}");
    }
    assert_eq!(served.upstream.names_heard(), allowed);
}

/// T43: what could carry a message out under an allowed name is answered here as well.
#[tokio::test]
async fn other_types_of_an_allowed_name_are_answered_without_asking() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&["example.com"], &[], upstream).await;
    for kind in [2, 5, 6, 10, 12, 15, 16, 33, 64, 65, 252, 255] {
        let answer = served.ask("example.com", kind).await;
        assert_eq!((answer.code(), answer.0[7]), (0, 0), "{kind}");
        assert_eq!(answer.0[9], 1, "the time that it holds");
    }
    assert!(served.upstream.heard().is_empty());
}

#[tokio::test]
async fn names_of_the_cage_itself_are_known() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&[], &[], upstream).await;
    for name in ["localhost", "LocalHost", "a.localhost"] {
        let found = served.ask(name, A).await.address().unwrap();
        assert_eq!(found, ("127.0.0.1".parse().unwrap(), 60));
        assert_eq!(served.ask(name, AAAA).await.address().unwrap().0.to_string(), "::1");
        assert_eq!(served.ask(name, 16).await.code(), 0);
    }
    assert_eq!(served.ask("1.0.18.198.in-addr.arpa", 12).await.code(), 3);
    assert!(served.told().is_empty() && served.upstream.heard().is_empty());
    assert_eq!(served.ask("notlocalhost", A).await.code(), 3);
}

/// K99: the second family may be empty without the name being so.
#[tokio::test]
async fn a_name_without_ipv6_has_no_data_for_it() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&["example.com"], &[], upstream).await;
    let answer = served.ask("example.com", AAAA).await;
    assert_eq!((answer.code(), answer.address()), (0, None));
    assert!(served.ask("example.com", A).await.address().is_some());
}

/// K100, K201: nobody answers, which is told once in a while.
#[tokio::test]
async fn unreachable_resolvers_are_a_failure_that_is_told() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&["**.example.com"], &[], upstream).await;
    // Its port is closed from here on.
    let Served { cage, upstream, v4, server: _server, .. } = served;
    drop(upstream);
    tokio::task::yield_now().await;
    for name in ["a.example.com", "b.example.com"] {
        let answer = Answered(exchange(v4, &query(name, A)).await.unwrap());
        assert_eq!(answer.code(), 2);
    }
    let told = cage.told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(matches!(&told[0], EventKind::UpstreamUnreachable { error } if !error.is_empty()));
}

#[tokio::test]
async fn what_the_resolver_says_of_a_name_is_passed_on_as_an_outcome() {
    let upstream = Scripted::start(|heard| {
        let code = if heard.name.starts_with("none") { 3 } else { 2 };
        vec![Deed::Send(heard.reply(code, &[(&heard.name, 60, Data::Address("203.0.113.1"))]))]
    })
    .await;
    let served = Served::with(&["*.example.com"], &[], upstream).await;
    assert_eq!(served.ask("none.example.com", A).await.code(), 3);
    assert_eq!(served.ask("broken.example.com", A).await.code(), 2);
    assert!(served.told().is_empty());
}

/// With a proxy outside, the host need not know any name.
#[tokio::test]
async fn a_proxy_makes_asking_needless() {
    let upstream = Scripted::start(|_| Vec::new()).await;
    let served = Served::through(&["example.com"], &[], upstream, Outside::Proxy).await;
    let pair = served.synthetic("example.com");
    assert_eq!(served.ask("example.com", A).await.address(), Some((pair.v4.into(), 60)));
    assert_eq!(served.ask("example.com", AAAA).await.address(), Some((pair.v6.into(), 60)));
    assert_eq!(served.ask("other.com", A).await.code(), 3);
    assert!(served.upstream.heard().is_empty());
}

async fn read_framed(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u16().await.ok()?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}

fn framed(query: &[u8]) -> Vec<u8> {
    [&(query.len() as u16).to_be_bytes()[..], query].concat()
}

/// K68: several queries on one connection, in pieces or all at once.
#[tokio::test]
async fn a_connection_carries_several_queries() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &["2001:db8::1"]).await;
    let served = Served::with(&["example.com"], &[], upstream).await;
    let mut stream = TcpStream::connect(served.connections).await.unwrap();
    let queries = [query("example.com", A), query("denied.com", A), query("example.com", AAAA)]
        .map(|q| framed(&q));
    stream.write_all(&queries.concat()).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(Answered(read_framed(&mut stream).await.unwrap()));
    }
    assert_eq!(answers.iter().map(Answered::code).collect::<Vec<_>>(), [0, 3, 0]);
    for byte in framed(&query("localhost", A)) {
        stream.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let answer = Answered(read_framed(&mut stream).await.unwrap());
    assert_eq!(answer.address().unwrap().0.to_string(), "127.0.0.1");
    // Nothing that long is a query.
    stream.write_all(&[0xff, 0xff, 0, 0]).await.unwrap();
    assert!(read_framed(&mut stream).await.is_none());
}

/// A cage that holds all its connections open waits for itself; the slow are let go.
#[tokio::test]
async fn connections_are_bounded_and_not_held_for_ever() {
    let upstream = Scripted::with_addresses(&[], &[]).await;
    let served = Served::with(&[], &[], upstream).await;
    let mut idle = Vec::new();
    for _ in 0..limits::QUERY_CONNECTIONS {
        let mut stream = TcpStream::connect(served.connections).await.unwrap();
        stream.write_all(&[0]).await.unwrap();
        idle.push(stream);
    }
    let mut late = TcpStream::connect(served.connections).await.unwrap();
    late.write_all(&framed(&query("localhost", A))).await.unwrap();
    assert!(timeout(Duration::from_secs(1), read_framed(&mut late)).await.is_err());
    // Datagrams are answered meanwhile.
    assert_eq!(served.ask("localhost", A).await.code(), 0);
    let longest = limits::QUERY_IDLE + testing::slowly(Duration::from_secs(2));
    let answer = timeout(longest, read_framed(&mut late)).await;
    assert!(answer.unwrap().is_some());
}

#[tokio::test]
async fn what_is_no_query_gets_no_address_and_often_no_answer() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&["example.com"], &[], upstream).await;
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for silent in [&b""[..], b"\x00", &[0xff; 12], &[0xff; 1400]] {
        client.send_to(silent, served.v4).await.unwrap();
    }
    let large = [query("example.com", A), vec![0; 1100]].concat();
    client.send_to(&large, served.v4).await.unwrap();
    let mut buffer = [0; 512];
    let length = client.recv(&mut buffer).await.unwrap();
    assert_eq!((length, buffer[3] & 0x0f), (12, 1));
    assert!(served.upstream.heard().is_empty());
}

#[tokio::test]
async fn nothing_is_answered_after_the_end() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&["example.com"], &[], upstream).await;
    assert_eq!(served.ask("example.com", A).await.code(), 0);
    served.server.abort();
    assert!(served.server.await.unwrap_err().is_cancelled());
    let again = std::net::UdpSocket::bind(served.v4);
    assert!(again.is_ok(), "the sockets are closed");
}

/// The map holds a bounded number of names; beyond it names fail and nothing else does.
#[tokio::test]
async fn a_full_map_is_a_failure_that_is_told() {
    let upstream = Scripted::with_addresses(&["203.0.113.1"], &[]).await;
    let served = Served::with(&["**.example.com"], &[], upstream).await;
    let known = served.synthetic("known.example.com");
    for index in 0..crate::synthetic::MAX_NAMES {
        _ = served.cage.assign(&Name::parse(&format!("n{index}.example.com")).unwrap());
    }
    assert_eq!(served.ask("new.example.com", A).await.code(), 2);
    assert!(matches!(&served.told()[..], [EventKind::DnsDenied { .. }]));
    let found = served.ask("known.example.com", A).await.address().unwrap().0;
    assert_eq!(found, IpAddr::V4(known.v4));
}
