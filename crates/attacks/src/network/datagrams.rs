//! What is neither TCP nor a question about names: datagrams, to one and to many, and echo requests.
//! T44

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::client::{PATIENCE, Route, any_like, look_up};
use super::{USUAL, on_usual};
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{
    DENIED, DENIED6, DNS_TLS_PORT, HOST, INWARD_PORT, MULTICAST_DNS_PORT, MULTICAST_PORT,
    NEIGHBOURS, TLS_PORT,
};

pub(crate) const ATTACKS: &[Attack] = &[
    on_usual("T44", "datagram", "sends a datagram as QUIC does", |scene| {
        send(scene, DENIED.into(), TLS_PORT)
    }),
    on_usual("T44", "datagram-v6", "the same by IPv6", |scene| {
        send(scene, DENIED6.into(), TLS_PORT)
    }),
    on_usual("T44", "datagram-mapped", "the same to an IPv4 address in IPv6", |scene| {
        send(scene, DENIED.to_ipv6_mapped().into(), TLS_PORT)
    }),
    on_usual(
        "T44",
        "datagram-anywhere",
        "sends one to a port that nothing is known for",
        |scene| send(scene, DENIED.into(), 8125),
    ),
    on_usual("T44", "datagram-to-allowed-name", "sends one to an allowed host", |scene| {
        Route::Straight.then(|| {
            let addresses = look_up("web.example")?;
            let first = addresses.first().copied();
            let address = first.ok_or(Refused("the name has no address".to_owned()))?;
            send_now(scene, address, TLS_PORT)
        })
    }),
    on_usual("T43", "datagram-to-resolver", "sends one to a resolver that speaks TLS", |scene| {
        send(scene, DENIED.into(), DNS_TLS_PORT)
    }),
    on_usual("T43", "multicast-question", "sends one to where neighbours are asked", |scene| {
        send(scene, DENIED.into(), MULTICAST_DNS_PORT)
    }),
    on_usual("T44", "datagram-to-many", "sends one to all neighbours", |scene| {
        send(scene, NEIGHBOURS.into(), MULTICAST_PORT)
    }),
    on_usual("T44", "datagram-to-host", "sends one to the host's own address", |scene| {
        send(scene, HOST.into(), INWARD_PORT)
    }),
    on_usual("T44", "datagram-to-loopback", "sends one to the host's loopback", |scene| {
        send(scene, Ipv4Addr::LOCALHOST.into(), INWARD_PORT)
    }),
    on_usual("T44", "datagram-to-loopback-v6", "the same by IPv6", |scene| {
        send(scene, Ipv6Addr::LOCALHOST.into(), INWARD_PORT)
    }),
    Attack::new("T44", "echo-request", "asks a host for an echo", |_| Route::Straight.then(echo))
        .in_world(USUAL),
];

fn send(scene: &Scene<'_>, to: IpAddr, port: u16) -> Result<Outcome, Refused> {
    Route::Straight.then(|| send_now(scene, to, port))
}

/// Sends the mark, and waits for an answer or a refusal where there is somebody to give one.
fn send_now(scene: &Scene<'_>, to: IpAddr, port: u16) -> Result<Outcome, Refused> {
    let socket = UdpSocket::bind(SocketAddr::new(any_like(to), 0))?;
    let mark = format!("{};", scene.mark());
    if to.is_multicast() {
        socket.send_to(mark.as_bytes(), (to, port))?;
        return Ok(Outcome::Attempted("sent it to whoever listens".to_owned()));
    }
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.connect((to, port))?;
    socket.send(mark.as_bytes())?;
    let length = socket.recv(&mut [0; 128])?;
    Ok(Outcome::Attempted(format!("sent it, and {length} bytes came back")))
}

/// The kernel of the other host answers.
fn echo() -> Result<Outcome, Refused> {
    let kind = rustix::net::SocketType::DGRAM;
    let family = rustix::net::AddressFamily::INET;
    let socket = rustix::net::socket(family, kind, Some(rustix::net::ipproto::ICMP))?;
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(PATIENCE))?;
    // Type 8, and what the kernel fills in or does not look at.
    socket.send_to(&[8, 0, 0, 0, 0, 0, 0, 1], (DENIED, 0))?;
    let length = socket.recv(&mut [0; 128])?;
    Ok(Outcome::Succeeded(format!("{length} bytes came back")))
}
