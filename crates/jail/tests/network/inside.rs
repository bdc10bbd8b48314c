//! What the program of these tests does inside a cage: one action after the other, each of which
//! prints one line.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, Protocol, SocketType};
use testing::slowly;

/// The argument that makes this program the caged one.
pub(crate) const MARK: &str = "--inside";

/// The actions, if this process is the caged one.
pub(crate) fn asked_for() -> Option<Vec<String>> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == MARK).then(|| arguments.collect())
}

/// Takes all actions.
pub(crate) fn act(actions: &[String]) {
    let mut kept = Vec::new();
    for action in actions {
        let (verb, rest) = action.split_once(' ').unwrap_or((action, ""));
        let began = Instant::now();
        let result = match verb {
            "talk" => talk(rest),
            "ask" => ask(rest),
            "send" => send(rest),
            "own" => own(rest),
            "connect-all" => connect_all(rest),
            "raw" => raw(),
            "change" => change(),
            "resolve-hints" => resolve_hints(),
            "interfaces" => interfaces(),
            "serve" => serve(rest),
            "fill" => fill(rest, &mut kept),
            "sleep" => {
                std::thread::sleep(Duration::from_millis(rest.parse().unwrap()));
                Ok("slept".to_owned())
            }
            other => panic!("no action {other}"),
        };
        let slow = if began.elapsed() > slowly(Duration::from_secs(3)) { " slowly" } else { "" };
        match result {
            Ok(text) => println!("{text}{slow}"),
            Err(error) => println!("{:?}{slow}", error.kind()),
        }
    }
}

/// Connects, says hello, and prints what comes back.
fn talk(to: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(to)?;
    stream.write_all(b"hello")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(format!("{answer} from {}", stream.peer_addr()?))
}

/// Sends a question from an unconnected socket and prints the answer and from where it came.
fn ask(to: &str) -> std::io::Result<String> {
    let to: SocketAddr = to.parse().unwrap();
    let socket = UdpSocket::bind(if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" })?;
    socket.set_read_timeout(Some(slowly(Duration::from_secs(5))))?;
    socket.send_to(b"question", to)?;
    let mut buffer = [0; 64];
    let (length, from) = socket.recv_from(&mut buffer)?;
    Ok(format!("{} from {from}", String::from_utf8_lossy(&buffer[..length])))
}

/// Sends a datagram nobody takes: both ways in which a program can hear about it.
fn send(to: &str) -> std::io::Result<String> {
    let to: SocketAddr = to.parse().unwrap();
    let any = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let unconnected = UdpSocket::bind(any)?.send_to(b"x", to).map_err(|error| error.kind());
    let socket = UdpSocket::bind(any)?;
    socket.set_read_timeout(Some(slowly(Duration::from_secs(5))))?;
    socket.connect(to)?;
    let connected = socket.send(b"x").map_err(|error| error.kind());
    let heard = socket.recv(&mut [0; 8]).map_err(|error| error.kind());
    Ok(format!("{unconnected:?} {connected:?} {heard:?}"))
}

/// A server and a client of the cage, on one of its own addresses, by TCP and UDP.
fn own(address: &str) -> std::io::Result<String> {
    let address: IpAddr = address.parse().unwrap();
    let listener = TcpListener::bind((address, 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"own")?;
    let mut taken = [0; 3];
    server.read_exact(&mut taken)?;
    let datagrams = UdpSocket::bind((address, 0))?;
    datagrams.set_read_timeout(Some(slowly(Duration::from_secs(5))))?;
    datagrams.send_to(b"own", datagrams.local_addr()?)?;
    datagrams.recv(&mut taken)?;
    Ok(format!("own {address}"))
}

fn connect_all(to: &str) -> std::io::Result<String> {
    let one = |to: &str| match TcpStream::connect(to) {
        Ok(_) => "connected".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    Ok(to.split(' ').map(one).collect::<Vec<_>>().join(" "))
}

/// Sockets that see or make packets of their own, and protocols other than TCP and UDP.
fn raw() -> std::io::Result<String> {
    let protocol = |number: u32| Protocol::from_raw(std::num::NonZero::new(number).unwrap());
    let (icmp, icmp6, sctp) = (protocol(1), protocol(58), protocol(132));
    let table = [
        (AddressFamily::INET, SocketType::RAW, Some(icmp)),
        (AddressFamily::INET6, SocketType::RAW, Some(icmp6)),
        (AddressFamily::INET, SocketType::DGRAM, Some(icmp)),
        (AddressFamily::INET6, SocketType::DGRAM, Some(icmp6)),
        (AddressFamily::PACKET, SocketType::RAW, None),
        (AddressFamily::PACKET, SocketType::DGRAM, None),
        (AddressFamily::INET, SocketType::STREAM, Some(sctp)),
        (AddressFamily::VSOCK, SocketType::STREAM, None),
        (AddressFamily::from_raw(44), SocketType::RAW, None),
    ];
    let made = table.iter().filter(|(family, kind, protocol)| {
        let made = rustix::net::socket(*family, *kind, *protocol);
        match made {
            // A kernel may have SCTP. All addresses are the namespace's own for it, too.
            Ok(socket) if *protocol == Some(sctp) => {
                let to: SocketAddr = "203.0.113.9:443".parse().unwrap();
                rustix::net::connect(&socket, &to).is_ok()
            }
            Ok(_) => true,
            Err(_) => false,
        }
    });
    Ok(format!("{} sockets", made.count()))
}

/// Tries to change addresses, routes and rules by the very calls that made them.
fn change() -> std::io::Result<String> {
    let routes = sys::route::make_every_address_own(sys::route::Reach::V4AndV6);
    let delivery = sys::nftables::Delivery::Assigned;
    let rules = sys::nftables::LeadingRules { delivery, transparent_port: 1, log_group: 1 };
    let rules = sys::nftables::install(rules);
    let log = sys::packet_log::PacketLog::bind(2).map(drop);
    let loopback = sys::loopback::bring_up();
    let results = [routes.map_err(|refused| refused.errno), rules, log, loopback];
    let number =
        |result: Result<(), sys::Errno>| result.map_or_else(|errno| errno.raw_os_error(), |()| 0);
    Ok(format!("{:?}", results.map(number)))
}

/// As programs ask that want only families which the machine has.
fn resolve_hints() -> std::io::Result<String> {
    let addresses = ("name.example", 443).to_socket_addrs()?;
    Ok(format!("{:?}", addresses.collect::<Vec<_>>()))
}

/// The names of all interfaces.
fn interfaces() -> std::io::Result<String> {
    let table = std::fs::read_to_string("/proc/net/dev")?;
    let names = table.lines().skip(2).filter_map(|line| line.split(':').next());
    Ok(names.map(str::trim).collect::<Vec<_>>().join(" "))
}

/// Takes one connection and answers what was said.
fn serve(on: &str) -> std::io::Result<String> {
    let listener = TcpListener::bind(on)?;
    let (mut stream, _) = listener.accept()?;
    let mut said = [0; 5];
    stream.read_exact(&mut said)?;
    stream.write_all(&said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Listens with a queue that is full from the start.
fn fill(on: &str, kept: &mut Vec<TcpStream>) -> std::io::Result<String> {
    let on: SocketAddr = on.parse().unwrap();
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    rustix::net::bind(&socket, &on)?;
    rustix::net::listen(&socket, 0)?;
    kept.push(TcpStream::connect(on)?);
    kept.push(TcpStream::from(socket));
    Ok("full".to_owned())
}
