//! The host itself: services on its loopback and on its own addresses, by every route and every
//! spelling; and the ports of it that an entry does not name. T45

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::addresses::{connect, say_mark};
use super::client::{
    Route, connect_by, dial, exchange, expect_hello, forward, get, if_forwarded, if_works, literal,
    socks4, socks5,
};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{HOST, HOST6, INWARD_PORT, NAMED_PORT};

pub(crate) const ATTACKS: &[Attack] = &[
    on_usual("T45", "host-loopback", "connects to a service on the host's loopback", |scene| {
        connect(scene, Ipv4Addr::LOCALHOST.into(), INWARD_PORT)
    }),
    on_usual("T45", "host-loopback-v6", "the same by IPv6", |scene| {
        connect(scene, Ipv6Addr::LOCALHOST.into(), INWARD_PORT)
    }),
    on_usual("T45", "host-loopback-by-name", "the same by the name `localhost`", |scene| {
        Route::Socks5.then(|| say_mark(scene, &Route::Socks5.open(b"localhost", INWARD_PORT)?))
    }),
    on_usual("T45", "host-loopback-over-socks", "the same by SOCKS 5 with an address", |scene| {
        over_socks(scene, Ipv4Addr::LOCALHOST.into())
    }),
    on_usual("T45", "host-loopback-over-socks-v6", "the same with an IPv6 address", |scene| {
        over_socks(scene, Ipv6Addr::LOCALHOST.into())
    }),
    on_usual("T45", "host-loopback-over-socks4", "the same by SOCKS 4", |scene| {
        Route::Socks4a.then(|| say_mark(scene, &socks4(Ipv4Addr::LOCALHOST, INWARD_PORT, None)?))
    }),
    on_usual("T45", "host-loopback-over-connect", "the same by `CONNECT`", |scene| {
        by_connect(scene, "127.0.0.1:8000")
    }),
    on_usual("T45", "host-loopback-name-over-connect", "the same with `localhost`", |scene| {
        by_connect(scene, "localhost:8000")
    }),
    on_usual("T45", "host-loopback-over-http", "the same by an HTTP proxy", |scene| {
        let path = format!("http://127.0.0.1:{INWARD_PORT}/{};", scene.mark());
        if_forwarded(|| forward(&get("127.0.0.1:8000", &path)))
    }),
    on_usual("T45", "host-short-address", "the same with `127.1`", |scene| {
        by_connect(scene, "127.1:8000")
    }),
    on_usual("T45", "host-unspecified-address", "connects to 0.0.0.0 by SOCKS", |scene| {
        over_socks(scene, Ipv4Addr::UNSPECIFIED.into())
    }),
    on_usual("T45", "host-own-address", "connects to an address of the host itself", |scene| {
        connect(scene, HOST.into(), INWARD_PORT)
    }),
    on_usual("T45", "host-own-address-v6", "the same by IPv6", |scene| {
        connect(scene, HOST6.into(), INWARD_PORT)
    }),
    on_usual("T45", "host-own-address-over-socks", "the same by SOCKS", |scene| {
        over_socks(scene, HOST.into())
    }),
    Attack::new("T45", "host-port-beside", "connects to a port beside the named one", |scene| {
        if_works(named_port_works(), || say_mark(scene, &dial((Ipv4Addr::LOCALHOST, INWARD_PORT))?))
    })
    .harms()
    .in_world(ONE_PORT),
    Attack::new(
        "T45",
        "host-port-elsewhere",
        "connects to the named port on another address of the host",
        |scene| if_works(named_port_works(), || say_mark(scene, &dial((HOST, NAMED_PORT))?)),
    )
    .harms()
    .in_world(ONE_PORT),
];

fn over_socks(scene: &Scene<'_>, address: IpAddr) -> Result<Outcome, Refused> {
    Route::Socks5.then(|| say_mark(scene, &socks5(&literal(address), INWARD_PORT)?))
}

fn by_connect(scene: &Scene<'_>, authority: &str) -> Result<Outcome, Refused> {
    Route::Connect.then(|| say_mark(scene, &connect_by(authority.as_bytes())?))
}

fn named_port_works() -> Result<(), Refused> {
    let service = dial((Ipv4Addr::LOCALHOST, NAMED_PORT))?;
    expect_hello(exchange(&service, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?)
}

/// A cage that may use one port of the host's loopback.
const ONE_PORT: &str = "net.host_ports = [8001]";
