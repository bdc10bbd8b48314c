//! The client that is measured: the same program in a cage, behind NAT, or on the bare host. Prints
//! one line of JSON. Knows nothing of cages.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use measures::statistics::Spread;
use serde::{Deserialize, Serialize};

use crate::server::{BULK_PORT, ECHO_PORT, FLOOD_PORT, SINK_PORT};

/// The word that makes this program the client.
pub(crate) const ROLE: &str = "__client";

/// What a client measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// How many things were done: bytes, connections, answers.
    pub(crate) count: u64,
    /// How many were refused or failed.
    pub(crate) failed: u64,
    /// In how many seconds.
    pub(crate) seconds: f64,
    /// How long single ones took.
    pub(crate) spread: Option<Spread>,
}

impl Measured {
    /// Things done in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.count as f64 / self.seconds
    }
}

/// Does what the words say: `bulk HOST SOCKS FLOWS MILLISECONDS`, `upload …` likewise, `spin THREADS`, `short HOST SOCKS CLIENTS MS`,
/// `latency HOST SOCKS COUNT`, `names SERVER CLIENTS MS`, `idle HOST COUNT`, `flood-connections HOST
/// COUNT`, `flood-names SERVER COUNT`. SOCKS is `-` or the address of a SOCKS server.
pub(crate) fn run(words: &[&str]) -> io::Result<String> {
    let number = |word: &str| {
        word.parse::<u64>().map_err(|_| io::Error::other(format!("`{word}` is not a number")))
    };
    let time = |word: &str| number(word).map(Duration::from_millis);
    let measured = match words {
        ["bulk", host, socks, flows, ms] => {
            bulk(&Route::new(host, socks)?, BULK_PORT, number(flows)?, time(ms)?, download)
        }
        ["upload", host, socks, flows, ms] => {
            bulk(&Route::new(host, socks)?, SINK_PORT, number(flows)?, time(ms)?, upload)
        }
        ["spin", threads] => Ok(spin(number(threads)?)),
        ["short", host, socks, clients, ms] => {
            short(&Route::new(host, socks)?, number(clients)?, time(ms)?)
        }
        ["latency", host, socks, count] => latency(&Route::new(host, socks)?, number(count)?),
        ["names", server, clients, ms] => names(server, number(clients)?, time(ms)?),
        ["idle", host, count] => idle(&Route::new(host, "-")?, number(count)?),
        ["flood-connections", host, count] => {
            flood_connections(&Route::new(host, "-")?, number(count)?)
        }
        ["flood-names", server, count] => flood_names(server, number(count)?),
        _ => Err(io::Error::other(format!("unknown words {words:?}"))),
    }?;
    Ok(serde_json::to_string(&measured)?)
}

/// How the far side is reached. A name is looked up once, as long-running clients do; questions about
/// names are measured apart.
#[derive(Clone, Debug)]
struct Route {
    host: String,
    address: Option<IpAddr>,
    socks: Option<SocketAddr>,
}

impl Route {
    fn new(host: &str, socks: &str) -> io::Result<Self> {
        let socks = match socks {
            "-" => None,
            text => Some(text.parse().map_err(io::Error::other)?),
        };
        let found = || (host, 0).to_socket_addrs().map(|mut addresses| addresses.next());
        let address = if socks.is_none() { found()? } else { None };
        Ok(Self { host: host.to_owned(), address: address.map(|found| found.ip()), socks })
    }

    fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let Some(proxy) = self.socks else {
            let address = self.address.ok_or(io::ErrorKind::NotFound)?;
            return TcpStream::connect((address, port));
        };
        let mut connection = TcpStream::connect(proxy)?;
        connection.set_nodelay(true)?;
        connection.write_all(&[5, 1, 0])?;
        connection.read_exact(&mut [0; 2])?;
        let name = self.host.as_bytes();
        let length = u8::try_from(name.len()).map_err(io::Error::other)?;
        let [high, low] = port.to_be_bytes();
        let request = [&[5, 1, 0, 3, length], name, &[high, low]].concat();
        connection.write_all(&request)?;
        let mut answer = [0; 10];
        connection.read_exact(&mut answer)?;
        match answer {
            [5, 0, ..] => Ok(connection),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

/// Bytes that go over this many connections at once.
fn bulk(
    route: &Route,
    port: u16,
    flows: u64,
    time: Duration,
    work: fn(TcpStream, &AtomicU64, &AtomicBool) -> io::Result<()>,
) -> io::Result<Measured> {
    let (bytes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let connections: Vec<TcpStream> =
        (0..flows).map(|_| route.connect(port)).collect::<Result<_, _>>()?;
    std::thread::scope(|scope| {
        for connection in connections {
            let (bytes, stop) = (&bytes, &stop);
            scope.spawn(move || work(connection, bytes, stop));
        }
        // The first moments belong to slow start.
        std::thread::sleep(time / 10);
        let (before, from) = (bytes.load(Ordering::Relaxed), Instant::now());
        std::thread::sleep(time);
        let count = bytes.load(Ordering::Relaxed) - before;
        let seconds = from.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        Ok(Measured { count, seconds, ..Measured::default() })
    })
}

fn download(mut connection: TcpStream, bytes: &AtomicU64, stop: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    connection.write_all(&u64::MAX.to_be_bytes())?;
    while !stop.load(Ordering::Relaxed) {
        let length = connection.read(&mut buffer)?;
        bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(())
}

fn upload(mut connection: TcpStream, bytes: &AtomicU64, stop: &AtomicBool) -> io::Result<()> {
    // Nothing that any protocol begins with.
    let block = vec![0xff; 256 * 1024];
    while !stop.load(Ordering::Relaxed) {
        let length = connection.write(&block)?;
        bytes.fetch_add(length as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// So many threads that do nothing but use processors, until the input ends.
fn spin(threads: u64) -> Measured {
    let flood = Flood::begin(0);
    let work = || {
        while flood.goes_on() {}
        (Vec::new(), 0)
    };
    let measured = gathered(threads, Duration::ZERO, work);
    flood.end(measured.failed)
}

/// Connections that are made, used for one byte each way and closed, by so many clients.
fn short(route: &Route, clients: u64, time: Duration) -> io::Result<Measured> {
    let deadline = Instant::now() + time;
    let work = || {
        let (mut times, mut failed) = (Vec::new(), 0);
        while Instant::now() < deadline {
            let started = Instant::now();
            match one_byte(route) {
                Ok(()) => times.push(started.elapsed()),
                Err(_) => failed += 1,
            }
        }
        (times, failed)
    };
    Ok(gathered(clients, time, work))
}

fn one_byte(route: &Route) -> io::Result<()> {
    let mut connection = route.connect(ECHO_PORT)?;
    connection.set_nodelay(true)?;
    connection.write_all(&[1])?;
    connection.read_exact(&mut [0])
}

/// One byte there and back on a connection that stands.
fn latency(route: &Route, count: u64) -> io::Result<Measured> {
    let mut connection = route.connect(ECHO_PORT)?;
    connection.set_nodelay(true)?;
    let begun = Instant::now();
    let mut times = Vec::new();
    for _ in 0..count {
        let started = Instant::now();
        connection.write_all(&[1])?;
        connection.read_exact(&mut [0])?;
        times.push(started.elapsed());
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Measured { count, failed: 0, seconds, spread: Spread::of(times) })
}

/// Questions about one name, from so many clients that each wait for the answer.
fn names(server: &str, clients: u64, time: Duration) -> io::Result<Measured> {
    let deadline = Instant::now() + time;
    let work = || {
        let (mut times, mut failed) = (Vec::new(), 0);
        let Ok(socket) = asking(server) else { return (times, 1) };
        while Instant::now() < deadline {
            let started = Instant::now();
            match ask(&socket) {
                Ok(true) => times.push(started.elapsed()),
                _ => failed += 1,
            }
        }
        (times, failed)
    };
    Ok(gathered(clients, time, work))
}

fn asking(server: &str) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    Ok(socket)
}

/// Whether the name was answered with an address.
fn ask(socket: &UdpSocket) -> io::Result<bool> {
    socket.send(QUESTION)?;
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer)?;
    Ok(length > QUESTION.len() && answer.get(3).is_some_and(|flags| flags & 15 == 0))
}

fn gathered(
    clients: u64,
    time: Duration,
    work: impl Fn() -> (Vec<Duration>, u64) + Sync,
) -> Measured {
    let (mut times, mut failed) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(&work)).collect();
        for (more, missed) in threads.into_iter().filter_map(|thread| thread.join().ok()) {
            times.extend(more);
            failed += missed;
        }
    });
    let count = times.len() as u64;
    Measured { count, failed, seconds: time.as_secs_f64(), spread: Spread::of(times) }
}

/// Connections that stay open and are asked again at the end; those that answer count.
fn idle(route: &Route, count: u64) -> io::Result<Measured> {
    let started = Instant::now();
    let mut connections = Vec::new();
    let mut failed = 0;
    for _ in 0..count {
        match route.connect(ECHO_PORT) {
            Ok(connection) => connections.push(connection),
            Err(_) => failed += 1,
        }
    }
    let mut alive = 0;
    for connection in &mut connections {
        connection.set_read_timeout(Some(Duration::from_secs(5)))?;
        let answered = connection.write_all(&[1]).and_then(|()| connection.read_exact(&mut [0]));
        match answered {
            Ok(()) => alive += 1,
            Err(_) => failed += 1,
        }
    }
    println!(
        "{}",
        serde_json::to_string(&Measured { count: alive, failed, ..Measured::default() })?
    );
    io::stdout().flush()?;
    // Whoever measures looks at memory meanwhile, and closes our input when it has seen enough.
    let _end = io::stdin().read(&mut [0])?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Measured { count: alive, failed, seconds, spread: None })
}

/// Connections as fast as possible, each ended at once: so many, and more until the input ends.
fn flood_connections(route: &Route, count: u64) -> io::Result<Measured> {
    let flood = Flood::begin(count);
    let work = || {
        let mut failed = 0;
        while flood.goes_on() {
            let ended = route.connect(FLOOD_PORT).and_then(|connection| {
                // A reset leaves no port waiting, of which there are fewer than connections.
                Ok(rustix::net::sockopt::set_socket_linger(connection, Some(Duration::ZERO))?)
            });
            failed += u64::from(ended.is_err());
        }
        (Vec::new(), failed)
    };
    let measured = gathered(FLOODERS, Duration::ZERO, work);
    Ok(flood.end(measured.failed))
}

/// Questions as fast as possible, without waiting for answers: so many, and more until the input ends.
fn flood_names(server: &str, count: u64) -> io::Result<Measured> {
    let socket = asking(server)?;
    let flood = Flood::begin(count);
    let mut failed = 0;
    while flood.goes_on() {
        failed += u64::from(socket.send(QUESTION).is_err());
    }
    Ok(flood.end(failed))
}

/// A flood that lasts as long as somebody watches.
struct Flood {
    least: u64,
    done: AtomicU64,
    watched: Arc<AtomicBool>,
    started: Instant,
}

impl Flood {
    fn begin(least: u64) -> Self {
        let watched = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&watched);
        std::thread::spawn(move || {
            let _end = io::stdin().read(&mut [0]);
            seen.store(false, Ordering::Relaxed);
        });
        Self { least, done: AtomicU64::new(0), watched, started: Instant::now() }
    }

    /// Counts one more, if there is to be one.
    fn goes_on(&self) -> bool {
        let before = self.done.fetch_add(1, Ordering::Relaxed);
        before < self.least || self.watched.load(Ordering::Relaxed)
    }

    fn end(self, failed: u64) -> Measured {
        let seconds = self.started.elapsed().as_secs_f64();
        Measured { count: self.done.into_inner(), failed, seconds, spread: None }
    }
}

/// An address of `bench.example`.
const QUESTION: &[u8] =
    b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x05bench\x07example\x00\x00\x01\x00\x01";
const FLOODERS: u64 = 8;
