//! Hosts that no entry names, reached without any proxy: by address, by name, by another port. T36,
//! T44

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;

use sys::raw::{self, UpperBits};

use super::client::{PATIENCE, Route, dial, exchange, expect_hello, get, if_works, leave, look_up};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{
    ALLOWED, ALLOWED6, DENIED, DENIED6, DNS_TLS_PORT, HTTP_PORT, INWARD_PORT, METADATA, OTHER_PORT,
    PRIVATE,
};

pub(crate) const ATTACKS: &[Attack] = &[
    on_usual("T36", "direct-connection", "connects to an address that no entry names", |scene| {
        connect(scene, DENIED.into(), HTTP_PORT)
    }),
    on_usual("T36", "direct-connection-v6", "the same by IPv6", |scene| {
        connect(scene, DENIED6.into(), HTTP_PORT)
    }),
    on_usual("T36", "address-of-allowed-name", "connects to the address of an allowed name", {
        |scene| connect(scene, ALLOWED.into(), HTTP_PORT)
    }),
    on_usual("T36", "address-of-allowed-name-v6", "the same by IPv6", |scene| {
        connect(scene, ALLOWED6.into(), HTTP_PORT)
    }),
    on_usual("T36", "direct-to-private", "connects into the host's private network", |scene| {
        connect(scene, PRIVATE.into(), INWARD_PORT)
    }),
    on_usual("T36", "direct-to-metadata", "connects to a cloud's metadata service", |scene| {
        connect(scene, METADATA.into(), INWARD_PORT)
    }),
    on_usual("T36", "denied-name", "looks up a name that no entry names, and connects", |scene| {
        by_name(scene, b"other.example", HTTP_PORT)
    }),
    on_usual("T36", "name-denied-by-entry", "the same with a name that an entry denies", |scene| {
        by_name(scene, b"bad.wild.example", HTTP_PORT)
    }),
    on_usual("T36", "other-port", "connects to an allowed host on another port", |scene| {
        by_name(scene, b"web.example", OTHER_PORT)
    }),
    on_usual("T36", "other-port-over-socks", "the same by SOCKS", |scene| {
        Route::Socks5.then(|| say_mark(scene, &Route::Socks5.open(b"web.example", OTHER_PORT)?))
    }),
    on_usual("T36", "other-port-over-connect", "the same by `CONNECT`", |scene| {
        Route::Connect.then(|| say_mark(scene, &Route::Connect.open(b"web.example", OTHER_PORT)?))
    }),
    on_address("T36", "address-beside", "connects to an address beside the allowed one", |scene| {
        if_address_works(|| say_mark(scene, &dial((DENIED, HTTP_PORT))?))
    }),
    on_address(
        "T36",
        "address-other-port",
        "connects to the allowed one on another port",
        |scene| if_address_works(|| say_mark(scene, &dial((ALLOWED, OTHER_PORT))?)),
    ),
    on_address("T36", "name-of-allowed-address", "connects to it by a name", |scene| {
        if_address_works(|| say_mark(scene, &Route::Socks5.open(b"web.example", HTTP_PORT)?))
    }),
    on_usual("T43", "questions-over-tls", "connects to a resolver that speaks TLS", |scene| {
        connect(scene, DENIED.into(), DNS_TLS_PORT)
    }),
    on_usual("T44", "mapped-connection", "connects to an IPv4 address written as IPv6", |scene| {
        connect(scene, DENIED.to_ipv6_mapped().into(), HTTP_PORT)
    }),
    on_usual("T44", "multipath-connection", "connects with multipath TCP", |scene| {
        Route::Straight.then(|| {
            let socket =
                raw::socket(libc::AF_INET, libc::SOCK_STREAM, MULTIPATH, UpperBits::Clear)?;
            say_mark(scene, &connected(socket)?)
        })
    }),
    on_usual("T44", "fast-open", "sends data with the first packet of a connection", |scene| {
        Route::Straight.then(|| {
            let socket = raw::socket(libc::AF_INET, libc::SOCK_STREAM, 0, UpperBits::Clear)?;
            let data = format!("{};", scene.mark());
            let address = SocketAddr::from((DENIED, HTTP_PORT));
            let flags = rustix::net::SendFlags::from_bits_retain(FAST_OPEN);
            rustix::net::sendto(&socket, data.as_bytes(), flags, &address)?;
            let stream = TcpStream::from(socket);
            stream.set_read_timeout(Some(PATIENCE))?;
            leave(&stream, b"\n")
        })
    }),
    on_usual("T46", "connection-by-child", "lets a child without variables connect", |scene| {
        Route::Straight.then(|| {
            let program = std::env::current_exe()?;
            let mut child = Command::new(program);
            let address = SocketAddr::from((DENIED, HTTP_PORT)).to_string();
            child.args(["__attack", "reach", &address, scene.mark()]).env_clear();
            let status = child.status()?;
            Ok(Outcome::Attempted(format!("the child ended with {status}")))
        })
    }),
    on_usual("T46", "relay-inside", "connects through a relay of its own in the cage", |scene| {
        Route::Straight.then(|| through_own_relay(scene))
    }),
];

/// Says the mark to an address, if straight connections work.
pub(super) fn connect(scene: &Scene<'_>, to: IpAddr, port: u16) -> Result<Outcome, Refused> {
    Route::Straight.then(|| say_mark(scene, &dial((to, port))?))
}

/// Says the mark, and nothing else that anybody could take offence at.
pub(super) fn say_mark(scene: &Scene<'_>, stream: &TcpStream) -> Result<Outcome, Refused> {
    leave(stream, format!("{};\n", scene.mark()).as_bytes())
}

/// What the child of `connection-by-child` does.
pub(crate) fn reach(address: SocketAddr, mark: &str) -> Result<Outcome, Refused> {
    leave(&dial(address)?, format!("{mark};\n").as_bytes())
}

/// An attack on a cage with an entry for one address and port.
const fn on_address(
    id: &'static str,
    name: &'static str,
    summary: &'static str,
    function: fn(&Scene<'_>) -> Result<Outcome, Refused>,
) -> Attack {
    Attack::new(id, name, summary, function).harms().in_world(ADDRESS)
}

/// Does something if the address can be reached that the entry names.
fn if_address_works(attack: impl FnOnce() -> Result<Outcome, Refused>) -> Result<Outcome, Refused> {
    let works = || expect_hello(exchange(&dial((ALLOWED, HTTP_PORT))?, &get("web.example", "/"))?);
    if_works(works(), attack)
}

fn by_name(scene: &Scene<'_>, name: &[u8], port: u16) -> Result<Outcome, Refused> {
    Route::Straight.then(|| say_mark(scene, &Route::Straight.open(name, port)?))
}

fn connected(socket: OwnedFd) -> Result<TcpStream, Refused> {
    rustix::net::connect(&socket, &SocketAddr::from((DENIED, HTTP_PORT)))?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// The decision must not depend on which process connects, and a connection inside is nobody's
/// business.
fn through_own_relay(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let relay = std::thread::spawn(move || -> Result<(), Refused> {
        let (mut client, _) = listener.accept()?;
        let mut said = [0; 128];
        let length = std::io::Read::read(&mut client, &mut said)?;
        let addresses = look_up("other.example")?;
        let target = addresses.first().copied().unwrap_or(DENIED.into());
        let mut server = dial((target, HTTP_PORT))?;
        server.write_all(said.get(..length).unwrap_or_default())?;
        let answered = std::io::Read::read(&mut server, &mut said)?;
        client.write_all(said.get(..answered).unwrap_or_default())?;
        Ok(())
    });
    let outcome = say_mark(scene, &dial(address)?);
    match relay.join() {
        Ok(Ok(())) => outcome,
        Ok(Err(refused)) => Err(refused),
        Err(_) => Err(Refused("the relay broke".to_owned())),
    }
}

/// A cage with an entry for one address and port.
const ADDRESS: &str = r#"net.allow = ["203.0.113.2/32:80"]"#;
/// `IPPROTO_MPTCP`.
const MULTIPATH: i32 = 262;
/// `MSG_FASTOPEN`.
const FAST_OPEN: u32 = 0x2000_0000;
