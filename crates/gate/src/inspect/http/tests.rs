//! Requests as clients send them, and as attackers do.

use proptest::prelude::*;

use super::*;
use crate::decision::Target;

/// What came out of a connection: its heads, the bytes of its bodies, and how it ended.
#[derive(Debug, PartialEq)]
struct Seen {
    heads: Vec<RequestHead>,
    bodies: Vec<u8>,
    error: Option<HttpError>,
}

fn run_in_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut requests = Requests::new();
    let mut seen = Seen { heads: Vec::new(), bodies: Vec::new(), error: None };
    for part in parts {
        let mut rest = part;
        while !rest.is_empty() && seen.error.is_none() {
            match requests.next(rest) {
                Ok(Step::NeedMore) => rest = &[],
                Ok(Step::Head { consumed, head }) => {
                    seen.heads.push(*head);
                    rest = &rest[consumed..];
                }
                Ok(Step::Body { consumed }) => {
                    assert!(consumed > 0);
                    seen.bodies.extend(&rest[..consumed]);
                    rest = &rest[consumed..];
                }
                Err(error) => {
                    assert_eq!(requests.next(b"GET"), Err(error.clone()));
                    seen.error = Some(error);
                }
            }
        }
    }
    seen
}

/// Runs a connection whole and byte by byte. Of a body that turns out to be malformed more may have
/// been passed on where it came in small parts.
fn run(bytes: &[u8]) -> Seen {
    let whole = run_in_parts([bytes]);
    let mut single = run_in_parts(bytes.chunks(1));
    if whole.error.is_some() {
        assert!(single.bodies.starts_with(&whole.bodies));
        single.bodies.clone_from(&whole.bodies);
    }
    assert_eq!(whole, single, "{}", bytes.escape_ascii());
    whole
}

fn only_head(text: &str) -> RequestHead {
    let mut seen = run(text.as_bytes());
    assert_eq!((seen.error, seen.heads.len()), (None, 1), "{text:?}");
    seen.heads.remove(0)
}

fn get(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\n{fields}\r\n")
}

fn check_error(text: &str, expected: HttpError) {
    assert_eq!(run(text.as_bytes()).error, Some(expected), "{text:?}");
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// K234, T37: the host is found in every form of target, and normalised.
#[test]
fn hosts_are_found() {
    let absolute = |path: &str| Form::Absolute { scheme: Scheme::Http, path: path.to_owned() };
    let table = [
        ("GET /x HTTP/1.1\r\nHost: A.example.\r\n\r\n", "a.example", Form::Origin),
        ("GET /x HTTP/1.0\r\nhost:\t a.example:81 \r\n\r\n", "a.example:81", Form::Origin),
        ("GET / HTTP/1.1\r\nHost: [2001:DB8::1]:8\r\n\r\n", "[2001:db8::1]:8", Form::Origin),
        ("GET / HTTP/1.1\r\nHost: [::ffff:192.0.2.1]\r\n\r\n", "192.0.2.1", Form::Origin),
        ("TRACE / HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example", Form::Origin),
        ("OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example", Form::Asterisk),
        ("GET http://a.example HTTP/1.1\r\nHost: A.example\r\n\r\n", "a.example", absolute("/")),
        (
            "GET HTTP://a.example?q HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
            "a.example",
            absolute("/?q"),
        ),
        (
            "GET http://a.example:81/p HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
            "a.example:81",
            absolute("/p"),
        ),
        (
            "OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "a.example",
            absolute("*"),
        ),
        ("CONNECT a.example:443 HTTP/1.0\r\n\r\n", "a.example:443", Form::Authority { port: 443 }),
        (
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "a.example:443",
            Form::Authority { port: 443 },
        ),
    ];
    for (request, host, form) in table {
        let head = only_head(request);
        assert_eq!((head.host.to_string().as_str(), &head.form), (host, &form), "{request:?}");
        assert_eq!(text(&head.bytes), request);
    }
}

/// T37, T39: what names no host, several or a bad one is refused.
#[test]
fn bad_hosts_are_refused() {
    check_error(&get(""), HttpError::NoHost);
    check_error("GET http://a.example/ HTTP/1.1\r\n\r\n", HttpError::NoHost);
    check_error(&get("Host: a.example\r\nHost: a.example\r\n"), HttpError::SeveralHosts);
    check_error(&get("Host: a.example\r\nhOST: b.example\r\n"), HttpError::SeveralHosts);
    for absolute in [
        "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n",
        "GET https://a.example/ HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n",
    ] {
        check_error(absolute, HttpError::HostsDisagree);
    }
    for host in [
        "",
        "u@a.example",
        "a.example:",
        "a.example:0",
        "a.example:080",
        "a.example:65536",
        "a.example:+80",
        "a.example:80:80",
        "2001:db8::1",
        "[2001:db8::1",
        "[2001:db8::1]80",
        "[fe80::1%eth0]",
        "[a.example]",
        "a.example, b.example",
        "a.example b.example",
        "127.1",
        "0x7f.1",
        "a..example",
        "*.example",
        "bücher.example",
        "a.example/",
        "a.example\\b",
    ] {
        let error = run(get(&format!("Host: {host}\r\n")).as_bytes()).error;
        assert!(matches!(error, Some(HttpError::BadHost(_))), "{host}: {error:?}");
    }
    for target in
        ["http://u@a.example/", "http://a.example\\@b/", "http:///x", "http://a.example:x/"]
    {
        let error =
            run(format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n").as_bytes()).error;
        assert!(matches!(error, Some(HttpError::BadHost(_))), "{target}: {error:?}");
    }
}

/// Targets that no client sends.
#[test]
fn bad_targets_are_refused() {
    for request in [
        "GET * HTTP/1.1",
        "GET a.example HTTP/1.1",
        "GET ftp://a.example/ HTTP/1.1",
        "GET http:/a.example HTTP/1.1",
        "CONNECT a.example HTTP/1.1",
        "GET http://a.example#@b/ HTTP/1.1",
        "GET \u{fc} HTTP/1.1",
    ] {
        check_error(&format!("{request}\r\nHost: a.example\r\n\r\n"), HttpError::BadTarget);
    }
}

/// T41: lines that two parsers could end in two places.
#[test]
fn line_tricks_are_refused() {
    let table = [
        ("GET / HTTP/1.1\nHost: a.example\n\n", HttpError::BareLineEnd),
        ("GET / HTTP/1.1\r\nHost: a.example\n\r\n", HttpError::BareLineEnd),
        ("GET / HTTP/1.1\r\nA: b\rHost: b.example\r\n", HttpError::BareLineEnd),
        ("GET / HTTP/1.1\r\nA: b\r\r\n", HttpError::BareLineEnd),
        ("GET / HTTP/1.1\r\nA: b\0\r\n", HttpError::ControlCharacter),
        ("GET / HTTP/1.1\r\nA: b\x0b\r\n", HttpError::ControlCharacter),
        ("\r\nGET / HTTP/1.1\r\n", HttpError::LeadingBlank),
        ("GET / HTTP/1.1\r\nHost: a.example\r\n folded\r\n\r\n", HttpError::BadField),
        ("GET / HTTP/1.1\r\nHost: a.example\r\n\tfolded\r\n\r\n", HttpError::BadField),
        ("GET / HTTP/1.1\r\n Host: a.example\r\n\r\n", HttpError::BadField),
        ("GET / HTTP/1.1\r\nHost : a.example\r\n\r\n", HttpError::BadField),
        ("GET / HTTP/1.1\r\nHost\r\n\r\n", HttpError::BadField),
        ("GET / HTTP/1.1\r\n: a\r\n\r\n", HttpError::BadField),
        ("GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n", HttpError::BadFirstLine),
        ("GET / HTTP/1.1 \r\n", HttpError::BadFirstLine),
        ("GET\t/\tHTTP/1.1\r\n", HttpError::BadFirstLine),
        ("GET /\r\n", HttpError::OtherVersion),
        ("GET / HTTP/2.0\r\n", HttpError::OtherVersion),
        ("GET / HTTP/1.2\r\n", HttpError::OtherVersion),
        ("GET / http/1.1\r\n", HttpError::OtherVersion),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HttpError::Http2),
        ("G(T / HTTP/1.1\r\nHost: a.example\r\n\r\n", HttpError::BadFirstLine),
    ];
    for (request, expected) in table {
        check_error(request, expected);
    }
}

/// T41: the end of a body is known in one way, or the request is refused.
#[test]
fn framing_tricks_are_refused() {
    let table = [
        ("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", HttpError::LengthAndEncoding),
        ("Content-Length: 1\r\nContent-Length: 1\r\n", HttpError::BadLength),
        ("Content-Length: 1, 1\r\n", HttpError::BadLength),
        ("Content-Length: +1\r\n", HttpError::BadLength),
        ("Content-Length: -1\r\n", HttpError::BadLength),
        ("Content-Length: 0x1\r\n", HttpError::BadLength),
        ("Content-Length: 1 1\r\n", HttpError::BadLength),
        ("Content-Length:\r\n", HttpError::BadLength),
        ("Content-Length: 99999999999999999999\r\n", HttpError::BadLength),
        ("Transfer-Encoding: gzip, chunked\r\n", HttpError::BadEncoding),
        ("Transfer-Encoding: chunked, identity\r\n", HttpError::BadEncoding),
        ("Transfer-Encoding: xchunked\r\n", HttpError::BadEncoding),
        ("Transfer-Encoding: \"chunked\"\r\n", HttpError::BadEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", HttpError::BadEncoding),
        ("Transfer-Encoding:\r\n", HttpError::BadEncoding),
        ("Connection: close, Host\r\n", HttpError::FramingIsHopByHop),
        ("Connection: content-length\r\n", HttpError::FramingIsHopByHop),
    ];
    for (fields, expected) in table {
        check_error(&get(&format!("Host: a.example\r\n{fields}")), expected);
    }
    let old = "POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_error(old, HttpError::BadEncoding);
}

/// T41: every request of a connection is seen, behind whatever body.
#[test]
fn every_request_is_found() {
    let connection = b"POST /1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nGET /\
        GET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n\
        POST /3 HTTP/1.1\r\nHost: c.example\r\nTransfer-Encoding: Chunked\r\n\r\n\
        5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n000\r\nX-Sum: 1\r\nY: 2\r\n\r\n\
        PUT /4 HTTP/1.1\r\nHost: d.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
        HEAD /5 HTTP/1.1\r\nHost: e.example\r\nContent-Length: 0\r\n\r\n";
    let seen = run(connection);
    assert_eq!(seen.error, None);
    let hosts: Vec<String> = seen.heads.iter().map(|head| head.host.to_string()).collect();
    assert_eq!(hosts, ["a.example", "b.example", "c.example", "d.example", "e.example"]);
    let heads: usize = seen.heads.iter().map(|head| head.bytes.len()).sum();
    assert_eq!(heads + seen.bodies.len(), connection.len());
}

/// T41: chunks that two parsers could end in two places.
#[test]
fn chunk_tricks_are_refused() {
    let long = format!("1;{}\r\n", "x".repeat(300));
    let many = format!("0\r\n{}\r\n", "a: b\r\n".repeat(129));
    let table = [
        ("5\nhello", HttpError::BadChunk),
        ("5\r\nhello0\r\n", HttpError::BadChunk),
        ("5\r\nhello\n0", HttpError::BadChunk),
        ("\r\n", HttpError::BadChunk),
        (" 5\r\n", HttpError::BadChunk),
        ("5 \r\n", HttpError::BadChunk),
        ("-1\r\n", HttpError::BadChunk),
        ("0x5\r\n", HttpError::BadChunk),
        ("5;a\nb\r\n", HttpError::BadChunk),
        ("5;a\0\r\n", HttpError::BadChunk),
        ("5\rx", HttpError::BadChunk),
        ("1000000000000000\r\n", HttpError::ChunkLineTooLong),
        ("0000000000000001\r\n", HttpError::ChunkLineTooLong),
        (&long, HttpError::ChunkLineTooLong),
        ("0\r\nHost: b.example\r\n\r\n", HttpError::BadTrailer),
        ("0\r\nContent-Length: 4\r\n\r\n", HttpError::BadTrailer),
        ("0\r\nA: b\n\r\n", HttpError::BareLineEnd),
        ("0\r\n folded\r\n\r\n", HttpError::BadField),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", HttpError::BadField),
        (&many, HttpError::TooManyFields),
    ];
    let head = "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, expected) in table {
        check_error(&format!("{head}{body}"), expected);
    }
}

/// Heads have a largest size, and it is reached at the same byte in every split.
#[test]
fn heads_are_bounded() {
    let padded = |count: usize| get(&format!("Host: a.example\r\nA: {}\r\n", "x".repeat(count)));
    let fitting = MAX_HEAD - padded(0).len();
    assert_eq!(only_head(&padded(fitting)).bytes.len(), MAX_HEAD);
    check_error(&padded(fitting + 1), HttpError::HeadTooLong);
    let fields = |count: usize| get(&format!("Host: a.example\r\n{}", "A: b\r\n".repeat(count)));
    only_head(&fields(MAX_FIELDS - 1));
    check_error(&fields(MAX_FIELDS), HttpError::TooManyFields);
    let trailer = format!("A: {}", "x".repeat(MAX_HEAD));
    let head = "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_error(&format!("{head}0\r\n{trailer}"), HttpError::HeadTooLong);
}

/// What may be passed on unseen is exactly what belongs to a body.
#[test]
fn bodies_can_be_passed_unseen() {
    let mut requests = Requests::new();
    assert!(requests.is_between() && requests.unseen() == 0);
    requests.next(b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000\r\n\r\n").unwrap();
    assert_eq!(requests.unseen(), 1000);
    requests.passed_unseen(990);
    assert_eq!(requests.next(b"0123456789GET").unwrap(), Step::Body { consumed: 10 });
    assert!(requests.is_between());
    requests
        .next(b"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    assert_eq!(requests.unseen(), 0);
    assert_eq!(requests.next(b"ff\r\n").unwrap(), Step::Body { consumed: 4 });
    assert_eq!(requests.unseen(), 255);
    requests.passed_unseen(255);
    assert_eq!(requests.next(b"\r\n0\r\n\r\nGET").unwrap(), Step::Body { consumed: 7 });
    assert!(requests.is_between());
    requests.next(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(requests.unseen(), u64::MAX);
    assert_eq!(requests.next(b"\x16\x03").unwrap(), Step::Body { consumed: 2 });
}

/// T39, T41: an offer to switch is kept where its answer can be followed and HTTP ends with it.
#[test]
fn switches_are_kept_or_removed() {
    let websocket =
        get("Host: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n");
    let head = only_head(&websocket);
    assert!(head.may_switch);
    assert_eq!(text(&head.bytes), websocket);
    let attached = get("Host: a.example\r\nConnection: Upgrade\r\nUpgrade: TCP\r\n");
    assert!(only_head(&attached).may_switch);
    let later = run(format!("{}{websocket}", get("Host: a.example\r\n")).as_bytes());
    assert!(!later.heads[1].may_switch);
    let kept = get("Host: a.example\r\nConnection: keep-alive\r\n");
    assert_eq!(text(&later.heads[1].bytes), kept);
    for offer in [
        "h2c",
        "H2C",
        "websocket, h2c",
        "TLS/1.0",
        "HTTP/2.0",
        "h2c-14",
        "h2c-16",
        "\"h2c\"",
        "foo h2c",
        "foo;h2c",
        "foo",
        "websocket/13, x",
        "SPDY/3.1",
    ] {
        let offering = get(&format!(
            "Connection: Upgrade, HTTP2-Settings\r\nHost: a.example\r\nUpgrade: {offer}\r\nHTTP2-Settings: A\r\nB: c\r\n"
        ));
        let head = only_head(&offering);
        assert!(!head.may_switch);
        assert_eq!(text(&head.bytes), get("Host: a.example\r\nB: c\r\n"), "{offer}");
    }
}

/// T40: a request to a proxy becomes one to the server, without what was for the proxy.
#[test]
fn proxy_requests_become_plain() {
    let head = only_head(
        "POST http://A.example:81/p?q HTTP/1.1\r\nAccept: x\r\nHost: a.example:81\r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nConnection: X-Mine, close\r\n\
         X-Mine: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\nB:  c\r\n\r\n0\r\n\r\n",
    );
    assert_eq!(
        text(&head.in_origin_form()),
        "POST /p?q HTTP/1.1\r\nHost: a.example:81\r\nAccept: x\r\nTransfer-Encoding: chunked\r\nB:  c\r\n\
         Connection: close\r\n\r\n"
    );
    let old = only_head("GET http://a.example HTTP/1.0\r\nHost: a.example\r\n\r\n");
    let expected = "GET / HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    assert_eq!(text(&old.in_origin_form()), expected);
    assert_eq!(old.host.target, Target::parse(b"a.example").unwrap());
}

/// Heads of responses are followed through interim ones, and told to be the last.
#[test]
fn responses_are_followed() {
    let stream = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\
        Keep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nhi";
    for size in [1, 7, stream.len()] {
        let mut reader = ResponseReader::new();
        let mut heads = Vec::new();
        let mut rest = Vec::new();
        for part in stream.chunks(size) {
            rest.extend(part);
            while heads.len() < 2 {
                match reader.next(&rest).unwrap() {
                    Answer::NeedMore => {
                        rest.clear();
                        break;
                    }
                    Answer::Head { consumed, head } => {
                        rest.drain(..consumed);
                        heads.push(head);
                    }
                }
            }
        }
        assert_eq!(rest, b"hi");
        assert!(heads[0].is_interim() && !heads[1].is_interim() && !heads[1].switches());
        let expected = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert_eq!(text(&heads[1].closing()), expected);
    }
    let switch = ResponseReader::new().next(b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n\x81");
    let Ok(Answer::Head { head, .. }) = switch else { panic!("{switch:?}") };
    assert!(head.switches() && !head.is_interim());
    let mut reader = ResponseReader::new();
    assert_eq!(reader.next(b"HTTP/1.1 200"), Ok(Answer::NeedMore));
    assert_eq!(reader.kept(), b"HTTP/1.1 200");
    assert!(ResponseReader::new().next(b"SSH-2.0-x\r\n\r\n").is_err());
}

/// What a refusal says cannot end its field.
#[test]
fn refusals_are_one_field() {
    let denial = Denial::new(DenialCode::NotAllowed, "no\r\nSet-Cookie: x\u{7f}é");
    let answer = refusal(&denial);
    let mut fields = [httparse::EMPTY_HEADER; 8];
    let mut response = httparse::Response::new(&mut fields);
    let end = response.parse(&answer).unwrap().unwrap();
    assert_eq!(response.code, Some(403));
    let reason = response.headers.iter().find(|field| field.name == "X-Stockade-Reason").unwrap();
    assert_eq!(text(reason.value), "no??Set-Cookie: x??");
    assert!(!response.headers.iter().any(|field| field.name == "Set-Cookie"));
    assert_eq!(text(&answer[end..]), "stockade: no??Set-Cookie: x??\n");
    let long = failure(Failure::Unreachable, &"x".repeat(10_000));
    assert!(long.starts_with(b"HTTP/1.1 502 ") && long.len() < 2048);
    for kind in [Failure::BadRequest, Failure::Busy, Failure::TimedOut] {
        assert!(failure(kind, "why").ends_with(b"\r\n\r\nstockade: why\n"));
    }
}

proptest! {
    /// Pieces of requests in any order and any split: the same heads and the same end.
    #[test]
    fn any_split_gives_the_same(
        pieces in prop::collection::vec(prop::sample::select(&[
            "GET / HTTP/1.1\r\n", "POST http://a.b/ HTTP/1.1\r\n", "Host: a.b\r\n", "\r\n", "\n", "\r",
            "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", "0\r\n\r\n", "abc",
            "Connection: upgrade\r\n", "Upgrade: h2c\r\n", " x\r\n", "\0", "CONNECT a.b:1 HTTP/1.1\r\n",
        ]), 0..16),
        splits in prop::collection::vec(0usize..200, 0..4),
    ) {
        let bytes = pieces.concat().into_bytes();
        let mut ends: Vec<usize> = splits.into_iter().map(|at| at.min(bytes.len())).collect();
        ends.extend([0, bytes.len()]);
        ends.sort_unstable();
        let parts: Vec<&[u8]> = ends.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let split = run_in_parts(parts);
        let whole = run(&bytes);
        prop_assert_eq!(split.heads, whole.heads);
        prop_assert_eq!(split.error, whole.error);
    }
}
