//! A cage that allows nothing, and lists that would allow everything. T38

use std::net::{Ipv4Addr, UdpSocket};

use super::addresses::say_mark;
use super::client::{Route, ask, dial};
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{ALLOWED, DENIED, HTTP_PORT, Question, TLS_PORT};

pub(crate) const ATTACKS: &[Attack] = &[
    with_nothing("nothing-allowed-address", "connects to an address", |scene| {
        say_mark(scene, &dial((DENIED, HTTP_PORT))?)
    }),
    with_nothing("nothing-allowed-name", "looks a name up and connects", |scene| {
        say_mark(scene, &Route::Straight.open(b"web.example", HTTP_PORT)?)
    }),
    with_nothing("nothing-allowed-question", "asks a resolver", |scene| {
        let name = format!("{}.example", scene.mark());
        let answer = ask(&Question::message(&[Question::v4(&name)], b""), ALLOWED.into())?;
        Ok(Outcome::Attempted(format!("{} bytes came back", answer.len())))
    }),
    with_nothing("nothing-allowed-socks", "connects by SOCKS", |scene| {
        say_mark(scene, &Route::Socks5.open(b"web.example", HTTP_PORT)?)
    }),
    with_nothing("nothing-allowed-connect", "connects by `CONNECT`", |scene| {
        say_mark(scene, &Route::Connect.open(b"web.example", HTTP_PORT)?)
    }),
    with_nothing("nothing-allowed-datagram", "sends a datagram", |scene| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.send_to(format!("{};", scene.mark()).as_bytes(), (DENIED, TLS_PORT))?;
        Ok(Outcome::Attempted("sent it".to_owned()))
    }),
    with_list("everything-by-star", "has `*` allowed", r#"net.allow = ["*"]"#),
    with_list("everything-by-stars", "has `**` allowed", r#"net.allow = ["**"]"#),
    with_list("everything-by-network", "has 0.0.0.0/0 allowed", r#"net.allow = ["0.0.0.0/0"]"#),
];

const fn with_nothing(
    name: &'static str,
    summary: &'static str,
    function: fn(&Scene<'_>) -> Result<Outcome, Refused>,
) -> Attack {
    Attack::new("T38", name, summary, function).harms().in_world(NOTHING)
}

/// A cage with such a list must not come to be.
const fn with_list(name: &'static str, summary: &'static str, net: &'static str) -> Attack {
    let reach = |scene: &Scene<'_>| say_mark(scene, &dial((DENIED, HTTP_PORT))?);
    Attack::new("T38", name, summary, reach).harms().in_refused_cage(net)
}

const NOTHING: &str = "net.allow = []";
