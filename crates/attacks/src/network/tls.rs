//! Another name inside TLS than the connection was allowed for. The servers of the world look at no
//! name, as servers of many names do not. T39

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use super::client::{Route, exchange, expect_hello, if_works, leave};
use super::hello::{hello, padding, protocol, record, record_of, server_names, with_extensions};
use super::on_usual;
use crate::attack::{Attack, Outcome, Refused, Scene};
use crate::world::TLS_PORT;

pub(crate) const ATTACKS: &[Attack] = &[
    on_usual("T39", "other-server-name", "names another server in TLS", |scene| {
        send(scene, Route::Straight, |mark| record(&hello(&[OTHER], mark)))
    }),
    on_usual("T39", "other-server-name-over-connect", "the same in a tunnel", |scene| {
        send(scene, Route::Connect, |mark| record(&hello(&[OTHER], mark)))
    }),
    on_usual("T39", "other-server-name-over-socks", "the same by SOCKS", |scene| {
        send(scene, Route::Socks5, |mark| record(&hello(&[OTHER], mark)))
    }),
    on_usual("T39", "no-server-name", "names no server", |scene| {
        send(scene, Route::Straight, |mark| record(&hello(&[], mark)))
    }),
    on_usual("T39", "no-server-name-over-connect", "the same in a tunnel", |scene| {
        send(scene, Route::Connect, |mark| record(&hello(&[], mark)))
    }),
    on_usual("T39", "two-server-names", "names the allowed server and another", |scene| {
        send(scene, Route::Straight, |mark| record(&hello(&[WEB, OTHER], mark)))
    }),
    on_usual("T39", "two-server-names-reversed", "names them in the other order", |scene| {
        send(scene, Route::Straight, |mark| record(&hello(&[OTHER, WEB], mark)))
    }),
    on_usual("T39", "server-name-twice", "names them in two extensions", |scene| {
        send(scene, Route::Straight, |mark| {
            let names = [server_names(&[WEB]), server_names(&[OTHER]), protocol(mark)];
            record(&with_extensions(&names.concat()))
        })
    }),
    on_usual("T39", "server-name-twice-reversed", "the same in the other order", |scene| {
        send(scene, Route::Straight, |mark| {
            let names = [server_names(&[OTHER]), server_names(&[WEB]), protocol(mark)];
            record(&with_extensions(&names.concat()))
        })
    }),
    on_usual("T39", "server-name-below", "names a server below the allowed one", |scene| {
        send(scene, Route::Straight, |mark| record(&hello(&[b"a.web.example"], mark)))
    }),
    on_usual("T39", "server-name-with-nul", "ends the server's name early", |scene| {
        send(scene, Route::Straight, |mark| record(&hello(&[b"other.example\0.web.example"], mark)))
    }),
    on_usual("T39", "server-name-over-records", "spreads the name over two records", |scene| {
        send(scene, Route::Straight, |mark| {
            let hello = hello(&[OTHER], mark);
            let (first, second) = hello.split_at_checked(NAME_STARTS).unwrap_or_default();
            [record(first), record(second)].concat()
        })
    }),
    on_usual("T39", "server-name-after-padding", "names it behind 20,000 bytes", |scene| {
        send(scene, Route::Straight, |mark| {
            let extensions = [padding(20_000), server_names(&[OTHER]), protocol(mark)].concat();
            with_extensions(&extensions).chunks(16_000).flat_map(record).collect()
        })
    }),
    on_usual("T39", "server-name-in-pieces", "sends the message a few bytes at a time", |scene| {
        if_works(tls_works(Route::Straight), || in_pieces(scene))
    }),
    on_usual("T39", "two-hellos-in-record", "puts a second message behind the first", |scene| {
        send(scene, Route::Straight, |mark| {
            record(&[hello(&[WEB], ""), hello(&[OTHER], mark)].concat())
        })
    }),
    on_usual("T39", "hello-after-alert", "sends a warning before the message", |scene| {
        send(scene, Route::Straight, |mark| {
            [record_of(21, &[1, 0]), record(&hello(&[OTHER], mark))].concat()
        })
    }),
    on_usual("T39", "hello-after-empty-record", "sends an empty record before it", |scene| {
        send(scene, Route::Straight, |mark| [record(&[]), record(&hello(&[OTHER], mark))].concat())
    }),
    on_usual("T39", "hello-of-ssl2", "sends the message in its oldest form", |scene| {
        send(scene, Route::Straight, |mark| {
            let length = u8::try_from(9 + mark.len()).unwrap_or_default();
            let challenge = u8::try_from(mark.len()).unwrap_or_default();
            let head = [0x80, length, 1, 3, 1, 0, 0, 0, 0, 0, challenge];
            [&head, mark.as_bytes()].concat()
        })
    }),
];

/// Sends what `words` makes of the mark, if TLS for the allowed name is let through.
fn send(scene: &Scene<'_>, route: Route, words: fn(&str) -> Vec<u8>) -> Result<Outcome, Refused> {
    if_works(tls_works(route), || {
        leave(&route.open(WEB, TLS_PORT)?, &words(&format!(";{};", scene.mark())))
    })
}

fn tls_works(route: Route) -> Result<(), Refused> {
    let stream = route.open(WEB, TLS_PORT)?;
    expect_hello(exchange(&stream, &record(&hello(&[WEB], "http/1.1")))?)
}

fn in_pieces(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let mut stream: TcpStream = Route::Straight.open(WEB, TLS_PORT)?;
    let words = record(&hello(&[OTHER], &format!(";{};", scene.mark())));
    let (first, last) = words.split_at_checked(words.len() - PIECE).unwrap_or_default();
    for piece in first.chunks(PIECE) {
        stream.write_all(piece)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    leave(&stream, last)
}

const WEB: &[u8] = b"web.example";
const OTHER: &[u8] = b"other.example";
/// In the middle of the server's name.
const NAME_STARTS: usize = 58;
const PIECE: usize = 16;
