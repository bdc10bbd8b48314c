//! An upstream resolver that does what a test says, on real sockets, and remembers what it heard. Only
//! for tests; writes messages with code of its own, so that a mistake of the codec shows.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

pub(super) const A: u16 = 1;
pub(super) const CNAME: u16 = 5;
pub(super) const SOA: u16 = 6;
pub(super) const AAAA: u16 = 28;

/// A query that came.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) name: String,
    pub(super) kind: u16,
    pub(super) on_connection: bool,
    /// How many came before it.
    pub(super) before: usize,
    pub(super) has_extension: bool,
    bytes: Vec<u8>,
}

/// What is done about a query, in order.
pub(super) enum Deed {
    Send(Vec<u8>),
    SendFromElsewhere(Vec<u8>),
    Wait(Duration),
}

/// The data of a record.
pub(super) enum Data<'a> {
    Address(&'a str),
    Alias(&'a str),
    /// Start of authority with this minimum.
    Authority(u32),
}

/// A resolver that ends with the test.
pub(super) struct Scripted {
    pub(super) address: SocketAddr,
    log: Arc<Mutex<Vec<Heard>>>,
    _tasks: JoinSet<()>,
}

impl Scripted {
    pub(super) async fn start<S>(script: S) -> Self
    where
        S: Fn(&Heard) -> Vec<Deed> + Send + Sync + 'static,
    {
        let (socket, listener) = bound_pair().await;
        let address = socket.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::new(Hearing { script, log: Arc::clone(&log) });
        let mut tasks = JoinSet::new();
        tasks.spawn(datagrams(Arc::new(socket), Arc::clone(&hearing)));
        tasks.spawn(connections(listener, hearing));
        Self { address, log, _tasks: tasks }
    }

    /// Answers every question for addresses with these, whatever the name.
    pub(super) async fn with_addresses(v4: &'static [&str], v6: &'static [&str]) -> Self {
        Self::start(move |heard| {
            let addresses = if heard.kind == A { v4 } else { v6 };
            let records: Vec<_> = addresses
                .iter()
                .map(|text| (heard.name.as_str(), 300, Data::Address(text)))
                .collect();
            vec![Deed::Send(heard.reply(0, &records))]
        })
        .await
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn names_heard(&self) -> Vec<String> {
        self.heard().into_iter().map(|heard| heard.name).collect()
    }
}

impl Heard {
    fn read(bytes: &[u8], on_connection: bool, before: usize) -> Self {
        let mut name = String::new();
        let mut at = 12;
        while bytes[at] != 0 {
            let end = at + 1 + usize::from(bytes[at]);
            name.push_str(&String::from_utf8_lossy(&bytes[at + 1..end]));
            name.push('.');
            at = end;
        }
        name.pop();
        let kind = u16::from_be_bytes([bytes[at + 1], bytes[at + 2]]);
        let has_extension = bytes[11] == 1;
        Self { name, kind, on_connection, before, has_extension, bytes: bytes.to_vec() }
    }

    /// A reply with this response code and these answers; authorities go into their section.
    pub(super) fn reply(&self, code: u8, records: &[(&str, u32, Data<'_>)]) -> Vec<u8> {
        let question_end = 12 + wire(&self.name).len() + 4;
        let mut message = self.bytes[..question_end].to_vec();
        let is_authority = |data: &Data<'_>| matches!(data, Data::Authority(_));
        let authorities = records.iter().filter(|(_, _, data)| is_authority(data)).count();
        message[2] = 0x81;
        message[3] = 0x80 | code;
        message[7] = (records.len() - authorities) as u8;
        message[9] = authorities as u8;
        message[11] = 0;
        for (owner, ttl, data) in records {
            message.extend(wire(owner));
            let (kind, data) = encoded(data);
            message.extend(kind.to_be_bytes());
            message.extend([0, 1]);
            message.extend(ttl.to_be_bytes());
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(data);
        }
        message
    }

    pub(super) fn truncated(&self) -> Vec<u8> {
        let mut message = self.reply(0, &[]);
        message[2] |= 0x02;
        message
    }
}

pub(super) fn wire(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn encoded(data: &Data<'_>) -> (u16, Vec<u8>) {
    match data {
        Data::Address(text) => match text.parse().unwrap() {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        },
        Data::Alias(target) => (CNAME, wire(target)),
        Data::Authority(minimum) => {
            let mut bytes = [wire("a.example"), wire("b.example")].concat();
            bytes.extend([0; 16]);
            bytes.extend(minimum.to_be_bytes());
            (SOA, bytes)
        }
    }
}

/// A datagram socket and a listener with the same port.
async fn bound_pair() -> (UdpSocket, TcpListener) {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if let Ok(socket) = UdpSocket::bind(listener.local_addr().unwrap()).await {
            return (socket, listener);
        }
    }
}

struct Hearing<S> {
    script: S,
    log: Arc<Mutex<Vec<Heard>>>,
}

impl<S: Fn(&Heard) -> Vec<Deed>> Hearing<S> {
    fn hear(&self, bytes: &[u8], on_connection: bool) -> Vec<Deed> {
        let mut log = self.log.lock().unwrap();
        let heard = Heard::read(bytes, on_connection, log.len());
        log.push(heard.clone());
        drop(log);
        (self.script)(&heard)
    }
}

async fn datagrams<S>(socket: Arc<UdpSocket>, hearing: Arc<Hearing<S>>)
where
    S: Fn(&Heard) -> Vec<Deed> + Send + Sync + 'static,
{
    let mut tasks = JoinSet::new();
    let mut buffer = [0; 2048];
    loop {
        let (length, peer) = socket.recv_from(&mut buffer).await.unwrap();
        let deeds = hearing.hear(&buffer[..length], false);
        let socket = Arc::clone(&socket);
        tasks.spawn(async move {
            for deed in deeds {
                match deed {
                    Deed::Send(bytes) => _ = socket.send_to(&bytes, peer).await.unwrap(),
                    Deed::SendFromElsewhere(bytes) => {
                        let elsewhere = UdpSocket::bind("127.0.0.2:0").await.unwrap();
                        elsewhere.send_to(&bytes, peer).await.unwrap();
                    }
                    Deed::Wait(time) => tokio::time::sleep(time).await,
                }
            }
        });
    }
}

async fn connections<S>(listener: TcpListener, hearing: Arc<Hearing<S>>)
where
    S: Fn(&Heard) -> Vec<Deed> + Send + Sync + 'static,
{
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let length = stream.read_u16().await.unwrap();
        let mut query = vec![0; usize::from(length)];
        stream.read_exact(&mut query).await.unwrap();
        for deed in hearing.hear(&query, true) {
            match deed {
                Deed::Send(bytes) => {
                    stream.write_u16(bytes.len() as u16).await.unwrap();
                    stream.write_all(&bytes).await.unwrap();
                }
                Deed::Wait(time) => tokio::time::sleep(time).await,
                Deed::SendFromElsewhere(_) => {}
            }
        }
    }
}
