//! Allowed names whose owner has them lead inward: to the host itself, to its networks, to what
//! clouds answer machines with. No public address has anything on the port that is asked for. T42

use std::net::TcpStream;

use super::addresses::say_mark;
use super::client::{Route, dial, look_up};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::INWARD_PORT;

/// A name below `inward.example`, which is allowed.
macro_rules! leads_to {
    ($name:literal, $summary:literal, $host:literal) => {
        on_usual("T42", $name, $summary, |scene| straight(scene, $host))
    };
}

pub(crate) const ATTACKS: &[Attack] = &[
    leads_to!("name-of-loopback", "a name leads to loopback", "loopback.inward.example"),
    leads_to!("name-of-any-loopback", "to 127.9.9.9", "other-loopback.inward.example"),
    leads_to!("name-of-private", "into a private network", "private.inward.example"),
    leads_to!("name-of-metadata", "to a metadata service", "metadata.inward.example"),
    leads_to!("name-of-metadata-v6", "to one by IPv6", "metadata6.inward.example"),
    leads_to!("name-of-link", "to a neighbour on the link", "link.inward.example"),
    leads_to!("name-of-carrier", "into a provider's network", "carrier.inward.example"),
    leads_to!("name-of-unique-local", "into a private one by IPv6", "unique.inward.example"),
    leads_to!("name-of-unspecified", "to 0.0.0.0", "unspecified.inward.example"),
    leads_to!("name-of-unspecified-v6", "to ::", "unspecified6.inward.example"),
    leads_to!("name-of-mapped", "inward, written as IPv6", "mapped.inward.example"),
    leads_to!("name-of-translated", "inward, by a translator", "translated.inward.example"),
    leads_to!("name-of-host", "to the host's own address", "host.inward.example"),
    leads_to!("name-through-alias", "to another name, which does", "alias.inward.example"),
    leads_to!("name-of-both", "to the internet and inward", "mixed.inward.example"),
    by_proxy("inward-over-socks", "the same by SOCKS", |scene| by(scene, Route::Socks5)),
    by_proxy("inward-over-socks4a", "the same by SOCKS 4a", |scene| by(scene, Route::Socks4a)),
    by_proxy("inward-over-connect", "the same by `CONNECT`", |scene| by(scene, Route::Connect)),
    on_usual("T42", "rebinding", "a name leads outward first and inward then", |scene| {
        Route::Straight.then(|| {
            let mut last = Err(Refused("nothing was tried".to_owned()));
            for _ in 0..TURNS {
                last = try_all(scene, "rebind.inward.example");
            }
            last
        })
    }),
    on_usual("T42", "rebinding-over-socks", "the same by SOCKS", |scene| {
        Route::Socks5.then(|| {
            let open = || Route::Socks5.open(b"rebind.inward.example", INWARD_PORT);
            let mut last = Err(Refused("nothing was tried".to_owned()));
            for _ in 0..TURNS {
                last = open().and_then(|stream: TcpStream| say_mark(scene, &stream));
            }
            last
        })
    }),
];

const fn by_proxy(
    name: &'static str,
    summary: &'static str,
    function: fn(&Scene<'_>) -> Result<Outcome, Refused>,
) -> Attack {
    on_usual("T42", name, summary, function)
}

fn by(scene: &Scene<'_>, route: Route) -> Result<Outcome, Refused> {
    route.then(|| say_mark(scene, &route.open(b"private.inward.example", INWARD_PORT)?))
}

fn straight(scene: &Scene<'_>, name: &str) -> Result<Outcome, Refused> {
    Route::Straight.then(|| try_all(scene, name))
}

/// Says the mark to every address that a name has now.
fn try_all(scene: &Scene<'_>, name: &str) -> Result<Outcome, Refused> {
    let mut last = Err(Refused("the name has no address".to_owned()));
    for address in look_up(name)? {
        last = dial((address, INWARD_PORT)).and_then(|stream| say_mark(scene, &stream));
    }
    last
}

/// As often as a name has different addresses, and once more.
const TURNS: usize = 5;
