//! Hosts that are written so that one reader takes them for an allowed one and the next for another.
//! T37

use super::addresses::say_mark;
use super::client::{Route, connect_by, forward, if_forwarded, literal, socks5};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{DENIED, HTTP_PORT, INWARD_PORT};

/// A host by name over SOCKS 5.
macro_rules! by_socks {
    ($name:literal, $summary:literal, $host:expr) => {
        on_usual("T37", $name, $summary, |scene| by_socks(scene, $host, HTTP_PORT))
    };
}

/// An authority in `CONNECT`.
macro_rules! by_connect {
    ($name:literal, $summary:literal, $authority:expr) => {
        on_usual("T37", $name, $summary, |scene| {
            Route::Connect.then(|| say_mark(scene, &connect_by($authority)?))
        })
    };
}

/// An authority in the URL of a request to an HTTP proxy, with another in `Host`.
macro_rules! by_url {
    ($name:literal, $summary:literal, $authority:literal) => {
        on_usual("T37", $name, $summary, |scene| by_url(scene, $authority))
    };
}

pub(crate) const ATTACKS: &[Attack] = &[
    by_socks!("nul-in-name", "ends a name early with a NUL", b"other.example\0.wild.example"),
    by_socks!(
        "line-end-in-name",
        "puts a line's end into a name",
        b"other.example\r\n.wild.example"
    ),
    by_socks!("final-dot", "writes a denied name with a final dot", b"bad.wild.example."),
    by_socks!("upper-case", "writes a denied name in capitals", b"BAD.WILD.EXAMPLE"),
    by_socks!("two-final-dots", "writes it with two of them", b"bad.wild.example.."),
    by_socks!("wildcard-apex", "asks for the name above a wildcard", b"wild.example"),
    by_socks!("two-labels-below", "asks for two labels below a wildcard", b"a.b.wild.example"),
    by_socks!("deep-apex", "asks for the name above a deep wildcard", b"deep.example"),
    by_socks!("allowed-as-ending", "ends a name like an allowed one", b"evilwild.example"),
    by_socks!("allowed-as-beginning", "begins a name like one", b"web.example.evil.example"),
    by_socks!("any-letter-for-dot", "writes a letter where the entry has a dot", b"webxexample"),
    by_socks!("name-below-name", "asks for a name below one without wildcard", b"a.web.example"),
    by_socks!("empty-label", "writes an empty label", b"other..wild.example"),
    by_socks!("wildcard-as-name", "asks for the wildcard itself", b"*.other.example"),
    by_socks!(
        "look-alike",
        "asks for a name that looks like an allowed one",
        b"xn--wb-bja.example"
    ),
    by_socks!("letters-beyond-ascii", "the same, not in ASCII", "w\u{435}b.example".as_bytes()),
    by_socks!("user-before-name", "writes a user before the name", b"web.example@other.example"),
    by_socks!("address-as-name", "writes an address where a name goes", b"203.0.113.3"),
    by_socks!("decimal-address", "writes an address as one number", b"3405803779"),
    by_socks!("hexadecimal-address", "writes it as a hexadecimal one", b"0xcb007103"),
    by_socks!("octal-address", "writes it in octal numbers", b"0313.0.0161.3"),
    by_socks!("short-address", "writes it with two numbers", b"203.28931"),
    by_socks!("mapped-address-as-name", "writes it as IPv6", b"::ffff:203.0.113.3"),
    by_socks!("brackets-in-name", "puts it into brackets", b"[::ffff:203.0.113.3]"),
    on_usual("T37", "mapped-address-over-socks", "gives it as an IPv6 one", |scene| {
        let host = literal(DENIED.to_ipv6_mapped().into());
        Route::Socks5.then(|| say_mark(scene, &socks5(&host, HTTP_PORT)?))
    }),
    on_usual("T37", "empty-name", "asks for the host without a name", |scene| {
        by_socks(scene, b"", INWARD_PORT)
    }),
    on_usual("T37", "zero-as-name", "asks for the host `0`", |scene| {
        by_socks(scene, b"0", INWARD_PORT)
    }),
    on_usual("T37", "name-beyond-bound", "asks for a name that is cut off in a buffer", |scene| {
        by_url(scene, &beyond_bound())
    }),
    by_connect!("connect-user-before-name", "writes a user", b"web.example@other.example:80"),
    by_connect!("connect-user-and-port", "with a port", b"web.example:80@other.example:80"),
    by_connect!("connect-final-dot", "writes a denied name with a dot", b"bad.wild.example.:80"),
    by_connect!("connect-upper-case", "writes it in capitals", b"Bad.Wild.Example:80"),
    by_connect!("connect-decimal-address", "writes an address as a number", b"3405803779:80"),
    by_connect!("connect-mapped-address", "writes it as IPv6", b"[::ffff:cb00:7103]:80"),
    by_connect!("connect-zone", "writes an interface behind it", b"[::1%25lo]:8000"),
    by_connect!("connect-empty-host", "writes a port alone", b":8000"),
    by_connect!("connect-percent", "writes a dot in another way", b"other%2eexample:80"),
    by_connect!("connect-nul", "ends the name early", b"other.example\0.wild.example:80"),
    by_connect!(
        "connect-hash",
        "writes the allowed one as a fragment",
        b"other.example#.wild.example:80"
    ),
    by_url!("url-user-before-name", "writes a user in a URL", "web.example@other.example"),
    by_url!("url-user-and-port", "with a port", "web.example:80@other.example"),
    by_url!("url-hash", "writes the allowed name as a fragment", "other.example#.wild.example"),
    by_url!("url-question", "writes it as a question", "other.example?.wild.example"),
    by_url!("url-backslash", "writes it behind a backslash", "other.example\\.wild.example"),
    by_url!("url-address-v6", "writes an address", "[2001:db8:1::3]"),
    Attack::new("T37", "top-level-wildcard", "has everything below `example` allowed", |scene| {
        say_mark(scene, &Route::Straight.open(b"other.example", HTTP_PORT)?)
    })
    .harms()
    .in_refused_cage(r#"net.allow = ["**.example"]"#),
    Attack::new("T37", "address-with-zeros", "has an address allowed that reads in two ways", {
        |scene| say_mark(scene, &socks5(&literal(DENIED.into()), HTTP_PORT)?)
    })
    .harms()
    .in_refused_cage(r#"net.allow = ["0313.0.0161.3"]"#),
];

fn by_socks(scene: &Scene<'_>, host: &[u8], port: u16) -> Result<Outcome, Refused> {
    Route::Socks5.then(|| say_mark(scene, &Route::Socks5.open(host, port)?))
}

fn by_url(scene: &Scene<'_>, authority: &str) -> Result<Outcome, Refused> {
    let mark = scene.mark();
    let request = format!("GET http://{authority}/{mark}; HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    if_forwarded(|| forward(request.as_bytes()))
}

/// A name of which the first 255 bytes are a denied one, and the whole of which ends in an allowed
/// one.
fn beyond_bound() -> String {
    let denied = ".other.example";
    let labels: String = std::iter::repeat_n("a.", 200).collect();
    let start = labels.get(..255 - denied.len() - 1).unwrap_or_default();
    format!("{start}b{denied}.deep.example")
}
