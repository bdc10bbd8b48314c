//! Every request that a proxy knows, for a host that no entry names: all must come to the same
//! decision. T40

use std::net::{Ipv4Addr, UdpSocket};

use super::addresses::say_mark;
use super::client::{
    PATIENCE, Route, connect_by, forward, get, if_forwarded, literal, socks4, socks5,
    socks5_command,
};
use super::on_usual;
use crate::attack::{Attack, Outcome};
use crate::world::{DENIED, DENIED6, HTTP_PORT, TLS_PORT};

pub(crate) const ATTACKS: &[Attack] = &[
    on_usual("T40", "socks5-name", "asks SOCKS 5 for a denied name", |scene| {
        Route::Socks5.then(|| say_mark(scene, &Route::Socks5.open(b"other.example", HTTP_PORT)?))
    }),
    on_usual("T40", "socks5-address", "asks it for an address", |scene| {
        Route::Socks5.then(|| say_mark(scene, &socks5(&literal(DENIED.into()), HTTP_PORT)?))
    }),
    on_usual("T40", "socks5-address-v6", "asks it for an IPv6 address", |scene| {
        Route::Socks5.then(|| say_mark(scene, &socks5(&literal(DENIED6.into()), HTTP_PORT)?))
    }),
    on_usual("T40", "socks4-address", "asks SOCKS 4 for an address", |scene| {
        Route::Socks4a.then(|| say_mark(scene, &socks4(DENIED, HTTP_PORT, None)?))
    }),
    on_usual("T40", "socks4a-name", "asks SOCKS 4a for a denied name", |scene| {
        Route::Socks4a.then(|| say_mark(scene, &Route::Socks4a.open(b"other.example", HTTP_PORT)?))
    }),
    on_usual("T40", "socks4a-denied-by-entry", "asks it for one that an entry denies", |scene| {
        Route::Socks4a
            .then(|| say_mark(scene, &Route::Socks4a.open(b"bad.wild.example", HTTP_PORT)?))
    }),
    on_usual("T40", "connect-name", "asks for a tunnel to a denied name", |scene| {
        Route::Connect.then(|| say_mark(scene, &Route::Connect.open(b"other.example", HTTP_PORT)?))
    }),
    on_usual("T40", "connect-address", "asks for a tunnel to an address", |scene| {
        Route::Connect.then(|| say_mark(scene, &connect_by(b"203.0.113.3:80")?))
    }),
    on_usual("T40", "connect-address-v6", "asks for one to an IPv6 address", |scene| {
        Route::Connect.then(|| say_mark(scene, &connect_by(b"[2001:db8:1::3]:80")?))
    }),
    on_usual("T40", "url-name", "has a URL of a denied name fetched", |scene| {
        let path = format!("http://other.example/{};", scene.mark());
        if_forwarded(|| forward(&get("other.example", &path)))
    }),
    on_usual("T40", "url-address", "has a URL with an address fetched", |scene| {
        let path = format!("http://203.0.113.3/{};", scene.mark());
        if_forwarded(|| forward(&get("203.0.113.3", &path)))
    }),
    on_usual("T40", "url-other-port", "has a URL with another port fetched", |scene| {
        let path = format!("http://web.example:8080/{};", scene.mark());
        if_forwarded(|| forward(&get("web.example:8080", &path)))
    }),
    on_usual("T40", "url-of-tls", "has a URL that begins with `https` fetched", |scene| {
        let path = format!("https://other.example/{};", scene.mark());
        if_forwarded(|| forward(&get("other.example", &path)))
    }),
    Attack::new("T40", "socks5-bind", "has a port of the host opened", |_| {
        Route::Socks5.then(|| {
            let (_stream, code, port) = socks5_command(2, &literal(DENIED.into()), HTTP_PORT)?;
            Ok(match code {
                0 => Outcome::Succeeded(format!("the host listens on port {port}")),
                code => Outcome::Failed(format!("SOCKS answered {code}")),
            })
        })
    })
    .in_world(super::USUAL),
    on_usual("T40", "socks5-datagrams", "has datagrams passed on", |scene| {
        Route::Socks5.then(|| {
            let nobody = literal(Ipv4Addr::UNSPECIFIED.into());
            let (_stream, code, port) = socks5_command(3, &nobody, 0)?;
            if code != 0 {
                return Ok(Outcome::Failed(format!("SOCKS answered {code}")));
            }
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            let mut words = vec![0, 0, 0];
            words.extend(literal(DENIED.into()));
            words.extend(TLS_PORT.to_be_bytes());
            words.extend(format!("{};", scene.mark()).into_bytes());
            socket.send_to(&words, (Ipv4Addr::LOCALHOST, port))?;
            Ok(Outcome::Attempted("sent a datagram to the proxy".to_owned()))
        })
    }),
];
