//! A gatekeeper in the test's own runtime, and what stands around it.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plan::network::{Family, GatekeeperPlan, SocketKind};
use rustix::io::Errno;
use testing::slowly;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::account::Account;
use crate::budget::Serves;
use crate::control::{CageOrder, CageReport, Channel, Order, Registration, Waiting, write_plan};
use crate::event::EventKind;
use crate::process::serve_all;
use crate::settings::Settings;

/// A running gatekeeper, whose names all lead to loopback.
pub(super) struct Gate {
    pub(super) control: Channel,
    pub(super) serving: tokio::task::JoinHandle<std::io::Result<()>>,
    pub(super) asked: Arc<Mutex<Vec<String>>>,
}

/// A registered cage, seen from its own side and from its supervisor's.
pub(super) struct TestCage {
    pub(super) channel: Channel,
    pub(super) socks: SocketAddr,
    pub(super) http: SocketAddr,
    pub(super) any: SocketAddr,
}

impl Gate {
    pub(super) async fn start() -> Self {
        Self::with_descriptors(crate::limits::DESCRIPTORS).await
    }

    /// One that may have so many descriptors open.
    pub(super) async fn with_descriptors(descriptors: u64) -> Self {
        let (control, theirs) = Channel::pair().unwrap();
        let serving = tokio::spawn(serve_all(theirs.into_fd(), descriptors, Serves::ManyCages));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let resolver = name_server(Arc::clone(&asked)).await;
        let order = Order::Upstream { resolvers: vec![resolver] };
        control.send(&order, &[], Waiting::Refused).unwrap();
        Self { control, serving, asked }
    }

    /// A cage that may reach what is listed, and loopback where names lead to it.
    pub(super) async fn cage(&self, allow: &[&str]) -> TestCage {
        self.cage_with(allow, &[], Settings::default()).await
    }

    pub(super) async fn cage_with(
        &self,
        allow: &[&str],
        deny: &[&str],
        settings: Settings,
    ) -> TestCage {
        let parse = |entries: &[&str]| entries.iter().map(|entry| entry.parse().unwrap()).collect();
        let plan =
            GatekeeperPlan { allow: parse(allow), deny: parse(deny), ..GatekeeperPlan::default() };
        let kinds = [
            SocketKind::Socks,
            SocketKind::HttpProxy,
            SocketKind::PerPort { family: Family::V4, port: 1 },
        ];
        let made: Vec<_> = kinds.into_iter().map(|kind| (kind, listener())).collect();
        let [socks, http, any] = [0, 1, 2].map(|index: usize| made[index].1.1);
        let sockets = made.into_iter().map(|(kind, (listener, _))| (kind, listener)).collect();
        let channel = self.register(&plan, settings, sockets).await;
        TestCage { channel, socks, http, any }
    }

    pub(super) async fn register(
        &self,
        plan: &GatekeeperPlan,
        settings: Settings,
        sockets: Vec<(SocketKind, OwnedFd)>,
    ) -> Channel {
        let channel = self.ask_to_register(plan, settings, sockets);
        assert_eq!(report(&channel).await, Some(CageReport::Registered));
        channel
    }

    /// The channel of a cage that may not be taken.
    pub(super) fn ask_to_register(
        &self,
        plan: &GatekeeperPlan,
        settings: Settings,
        sockets: Vec<(SocketKind, OwnedFd)>,
    ) -> Channel {
        let (ours, theirs) = Channel::pair().unwrap();
        let order = Order::Register(Box::new(Registration {
            invocation: "01TEST".to_owned(),
            project: "/project".to_owned(),
            settings,
            kinds: sockets.iter().map(|(kind, _)| *kind).collect(),
            published: Vec::new(),
        }));
        let plan = write_plan(plan).unwrap();
        let mut descriptors = vec![theirs.as_fd(), plan.as_fd()];
        descriptors.extend(sockets.iter().map(|(_, socket)| socket.as_fd()));
        self.control.send(&order, &descriptors, Waiting::Refused).unwrap();
        ours
    }
}

impl TestCage {
    /// The account, with the cage let go.
    pub(super) async fn unregister(&self) -> Account {
        self.channel.send(&CageOrder::Unregister, &[], Waiting::Refused).unwrap();
        loop {
            match report(&self.channel).await {
                Some(CageReport::Account(account)) => return account,
                Some(CageReport::Event(_) | CageReport::Progress(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next event.
    pub(super) async fn event(&self) -> EventKind {
        loop {
            match report(&self.channel).await {
                Some(CageReport::Event(event)) => return event.kind,
                Some(CageReport::Progress(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The target, port and reason of the next event, which is a refused connection.
    pub(super) async fn denied(&self) -> (String, u16, String) {
        match self.event().await {
            EventKind::TcpDenied { target, port, reason, .. } => (target, port, reason),
            other => panic!("{other:?}"),
        }
    }
}

/// What the gatekeeper says next; none at the end.
pub(super) async fn report(channel: &Channel) -> Option<CageReport> {
    let waiting = async {
        loop {
            match channel.receive(Waiting::Refused) {
                Ok(packet) => return packet.map(|(report, _)| report),
                Err(Errno::AGAIN) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(errno) => panic!("{errno}"),
            }
        }
    };
    timeout(slowly(Duration::from_secs(10)), waiting).await.expect("the gatekeeper says nothing")
}

pub(super) fn listener() -> (OwnedFd, SocketAddr) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener.into(), address)
}

/// A server that does the same with each connection.
pub(super) async fn server<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    port
}

/// A server that sends back what it gets.
pub(super) async fn echo_server() -> u16 {
    server(|mut stream| async move {
        let (mut read, mut write) = stream.split();
        let _gone = tokio::io::copy(&mut read, &mut write).await;
        let _gone = write.shutdown().await;
    })
    .await
}

/// Whether the connection ends with a reset, at once and without a byte.
pub(super) async fn is_reset(stream: &mut TcpStream) -> bool {
    let read = timeout(slowly(Duration::from_secs(2)), stream.read_u8()).await;
    let error = read.expect("the end does not come").expect_err("a byte came");
    error.kind() == std::io::ErrorKind::ConnectionReset
}

/// Sends something and returns as many bytes as come back.
pub(super) async fn ask(stream: &mut TcpStream, words: &[u8], length: usize) -> Vec<u8> {
    stream.write_all(words).await.unwrap();
    let mut answer = vec![0; length];
    let read = timeout(slowly(Duration::from_secs(5)), stream.read_exact(&mut answer)).await;
    read.expect("no answer").unwrap();
    answer
}

/// Answers every question for an A record with 127.0.0.1, and keeps the names.
async fn name_server(asked: Arc<Mutex<Vec<String>>>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 1500];
        while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
            let query = &buffer[..length];
            let (name, end) = name_in(query);
            asked.lock().unwrap().push(name);
            let is_a = query[end..end + 2] == [0, 1];
            let mut answer = query[..2].to_vec();
            answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
            answer.extend(&query[12..end + 4]);
            if is_a {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4]);
                answer.extend(Ipv4Addr::LOCALHOST.octets());
            }
            socket.send_to(&answer, client).await.unwrap();
        }
    });
    address
}

fn name_in(query: &[u8]) -> (String, usize) {
    let (mut labels, mut position) = (Vec::new(), 12);
    while query[position] != 0 {
        let length = usize::from(query[position]);
        let label = &query[position + 1..position + 1 + length];
        labels.push(String::from_utf8(label.to_vec()).unwrap());
        position += 1 + length;
    }
    (labels.join("."), position + 1)
}

/// Lets this process have so many descriptors; false where its hard limit is lower and holds.
pub(super) fn raise_descriptor_limit(wanted: u64) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(Resource::Nofile).maximum.map(|hard| hard.max(wanted));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: hard }).is_ok()
}
