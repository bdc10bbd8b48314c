//! Requests of components over HTTP: to a server of the test's own where the world gives a network, and denied elsewhere.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use engines::{Around, End, Limit, World};

use crate::native::{SAY, component, run};

const HTTP: &str = "
    $fields http/types [constructor]fields -> i32
    $append http/types [method]fields.append i32,i32,i32,i32,i32,i32
    $field http/types [method]fields.get i32,i32,i32,i32
    $request http/types [constructor]outgoing-request i32 -> i32
    $set-method http/types [method]outgoing-request.set-method i32,i32,i32,i32 -> i32
    $set-path http/types [method]outgoing-request.set-path-with-query i32,i32,i32,i32 -> i32
    $set-scheme http/types [method]outgoing-request.set-scheme i32,i32,i32,i32,i32 -> i32
    $set-authority http/types [method]outgoing-request.set-authority i32,i32,i32,i32 -> i32
    $headers-of-request http/types [method]outgoing-request.headers i32 -> i32
    $body http/types [method]outgoing-request.body i32,i32
    $write http/types [method]outgoing-body.write i32,i32
    $finish http/types [static]outgoing-body.finish i32,i32,i32,i32
    $drop-body http/types [resource-drop]outgoing-body i32
    $options http/types [constructor]request-options -> i32
    $set-first-byte http/types [method]request-options.set-first-byte-timeout i32,i32,i64 -> i32
    $set-between http/types [method]request-options.set-between-bytes-timeout i32,i32,i64 -> i32
    $handle http/outgoing-handler handle i32,i32,i32,i32
    $wait-for http/types [method]future-incoming-response.subscribe i32 -> i32
    $get http/types [method]future-incoming-response.get i32,i32
    $drop-future http/types [resource-drop]future-incoming-response i32
    $status http/types [method]incoming-response.status i32 -> i32
    $headers http/types [method]incoming-response.headers i32 -> i32
    $consume http/types [method]incoming-response.consume i32,i32
    $stream http/types [method]incoming-body.stream i32,i32
    $code-of http/types http-error-code i32,i32
    $response http/types [constructor]outgoing-response i32 -> i32
    $block io/poll [method]pollable.block i32
    $read io/streams [method]input-stream.blocking-read i32,i64,i32
";

/// A new request in `$a`, by plain HTTP to that authority, with a header.
const ASK: &str = "
    (local.set $c (call $fields))
    (call $append (local.get $c) (i32.const 1100) (i32.const 7) (i32.const 1110) (i32.const 3) (i32.const 100))
    (call $must (i32.const 100))
    (local.set $a (call $request (local.get $c)))
    (if (call $set-scheme (local.get $a) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)) (then (unreachable)))
    (if (call $set-authority (local.get $a) (i32.const 1) (i32.const 1028) (i32.load (i32.const 1024))) (then (unreachable)))
    (if (call $set-path (local.get $a) (i32.const 1) (i32.const 1120) (i32.const 4)) (then (unreachable)))
";
/// Sends `$a`: the future in `$b`.
const SEND: &str = "
    (call $handle (local.get $a) (i32.const 0) (i32.const 0) (i32.const 200)) (call $must (i32.const 200))
    (local.set $b (i32.load (i32.const 208)))
";
/// Waits for the answer of `$b`: what there is of it lies at 320, as a result, and at 328.
const WAIT: &str = "
    (call $block (call $wait-for (local.get $b)))
    (call $get (local.get $b) (i32.const 304))
    (if (i32.ne (i32.load8_u (i32.const 304)) (i32.const 1)) (then (unreachable)))
    (if (i32.load8_u (i32.const 312)) (then (unreachable)))
";
/// The answer in `$c`, its body's stream in `$d`.
const OPEN: &str = "
    (call $must (i32.const 320)) (local.set $c (i32.load (i32.const 328)))
    (call $consume (local.get $c) (i32.const 400)) (call $must (i32.const 400))
    (call $stream (i32.load (i32.const 404)) (i32.const 400)) (call $must (i32.const 400))
    (local.set $d (i32.load (i32.const 404)))
";
/// Says the code of the error that there is instead of an answer.
const SAY_CODE: &str = "
    (if (i32.ne (i32.load8_u (i32.const 320)) (i32.const 1)) (then (unreachable)))
    (call $say (i32.const 328) (i32.const 1))
";
/// Counts what the stream in `$d` has, in `$a`; what it ended by lies at 500.
const COUNT: &str = "
    (local.set $a (i32.const 0))
    (block $over (loop $again
      (global.set $free (i32.const 65536))
      (call $read (local.get $d) (i64.const 32768) (i32.const 500))
      (br_if $over (i32.load8_u (i32.const 500)))
      (local.set $a (i32.add (local.get $a) (i32.load (i32.const 508))))
      (br $again)))
";

/// A component that asks at that address.
fn asks(address: &str, body: &[&str]) -> Vec<u8> {
    let data = format!(
        "(data (i32.const 1024) \"\\{:02x}\\00\\00\\00{address}\")
         (data (i32.const 1100) \"x-asked\") (data (i32.const 1110) \"yes\")
         (data (i32.const 1120) \"/a?b\") (data (i32.const 1130) \"x-answer\")
         (data (i32.const 1140) \"host\") (data (i32.const 1150) \"a b\")
         (data (i32.const 1160) \"content-length\")
         (data (i32.const 1200) \"what is sent\")",
        address.len()
    );
    component(&[SAY, HTTP].concat(), &data, &body.concat())
}

fn run_here(bytes: &[u8], prepare: impl FnOnce(&mut World)) -> (End, Vec<u8>) {
    run(bytes, |world| {
        world.around = Around::ThisProcess;
        prepare(world);
    })
}

/// A server that answers one connection after the other so: its address, and what each has asked. It closes each afterwards.
fn server(
    answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + 'static,
) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (to, asked) = channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().take(64) {
            let mut connection = connection.unwrap();
            connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let _nobody_listens = to.send(request(&mut connection));
            // The component may have gone.
            let _gone = answer(&mut connection);
        }
    });
    (address, asked)
}

fn answers(text: &'static str) -> (String, Receiver<String>) {
    server(move |connection| connection.write_all(text.as_bytes()))
}

/// What a client asks, with its body.
fn request(connection: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let so_far = String::from_utf8_lossy(&text).to_lowercase();
        if let Some((head, body)) = so_far.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return so_far;
            }
        }
        match connection.read(&mut bytes) {
            Ok(count) if count > 0 => text.extend_from_slice(&bytes[..count]),
            _ => return so_far,
        }
    }
}

/// A22: a component asks a server and has its status, its headers and its body.
#[test]
fn an_answer_has_a_status_headers_and_a_body() {
    let (address, asked) = answers(
        "HTTP/1.1 302 Found\r\nX-Answer: no\r\nLocation: /other\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    );
    let say = "
        (i32.store (i32.const 600) (call $status (local.get $c))) (call $say (i32.const 600) (i32.const 2))
        (call $field (call $headers (local.get $c)) (i32.const 1130) (i32.const 8) (i32.const 600))
        (if (i32.ne (i32.load (i32.const 604)) (i32.const 1)) (then (unreachable)))
        (local.set $a (i32.load (i32.const 600)))
        (call $say (i32.load (local.get $a)) (i32.load offset=4 (local.get $a)))
        (call $read (local.get $d) (i64.const 99) (i32.const 500)) (call $must (i32.const 500))
        (call $say (i32.load (i32.const 504)) (i32.load (i32.const 508)))
        ;; The end is `closed`, and an answer is taken once.
        (call $read (local.get $d) (i64.const 99) (i32.const 500))
        (if (i32.ne (i32.load8_u (i32.const 504)) (i32.const 1)) (then (unreachable)))
        (call $get (local.get $b) (i32.const 304))
        (if (i32.eqz (i32.load8_u (i32.const 312))) (then (unreachable)))
        (call $consume (local.get $c) (i32.const 400))
        (if (i32.eqz (i32.load8_u (i32.const 400))) (then (unreachable)))";
    let (end, shown) = run_here(&asks(&address, &[ASK, SEND, WAIT, OPEN, say]), |_| {});
    // A redirection is an answer: nobody has asked for the other one.
    assert_eq!((end, &*shown), (End::Exited(0), &b"\x2e\x01nohello"[..]));
    let asked = asked.recv().unwrap();
    assert!(asked.starts_with("get /a?b http/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nx-asked: yes\r\n"), "{asked}");
    assert!(asked.contains(&format!("\r\nhost: {address}\r\n")), "{asked}");
}

/// A22: a body is sent whole when it is finished, before the request is sent or after.
#[test]
fn bodies_are_sent() {
    let method = "(if (call $set-method (local.get $a) (i32.const 2) (i32.const 0) (i32.const 0)) (then (unreachable)))
        (call $body (local.get $a) (i32.const 704)) (call $must (i32.const 704))
        (local.set $d (i32.load (i32.const 708)))";
    let write = "(call $write (local.get $d) (i32.const 704)) (call $must (i32.const 704))
        (call $write-out (i32.load (i32.const 708)) (i32.const 1200) (i32.const 12) (i32.const 704))
        (call $must (i32.const 704))
        (call $finish (local.get $d) (i32.const 0) (i32.const 0) (i32.const 704)) (call $must (i32.const 704))";
    let say =
        "(call $read (local.get $d) (i64.const 99) (i32.const 500)) (call $must (i32.const 500))
        (call $say (i32.load (i32.const 504)) (i32.load (i32.const 508)))";
    for order in [[method, write, SEND], [method, SEND, write]] {
        let (address, asked) = answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        let body = [&[ASK], &order[..], &[WAIT, OPEN, say]].concat();
        let (end, shown) = run_here(&asks(&address, &body), |_| {});
        assert_eq!((end, &*shown), (End::Exited(0), &b"ok"[..]));
        let asked = asked.recv().unwrap();
        assert!(asked.starts_with("post /a?b http/1.1\r\n"), "{asked}");
        assert!(asked.contains("\r\ncontent-length: 12\r\n"), "{asked}");
        assert!(asked.ends_with("\r\n\r\nwhat is sent"), "{asked}");
    }
}

/// A25: a body that is dropped before it is finished is never sent, nor one that is shorter or longer than its header says.
#[test]
fn bodies_that_are_not_whole_are_not_sent() {
    let begin = "(call $body (local.get $a) (i32.const 704)) (call $must (i32.const 704))
        (local.set $d (i32.load (i32.const 708)))";
    let (address, asked) = answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let dropped = "(call $drop-body (local.get $d))";
    let bytes = asks(&address, &[ASK, begin, SEND, dropped, WAIT, SAY_CODE]);
    // `internal-error`
    assert_eq!(run_here(&bytes, |_| {}), (End::Exited(0), vec![38]));
    let length = "(call $append (local.get $c) (i32.const 1160) (i32.const 14) (i32.const 1180) (i32.const 1) (i32.const 704))
        (call $must (i32.const 704))
        (i32.store8 (i32.const 1180) (i32.const 51))";
    // The header says 3. What is more than that is refused at once, and what is less when it is finished.
    let said = ASK.replace(
        "(local.set $a (call $request",
        &format!(
            "(i32.store8 (i32.const 1180) (i32.const 51)) {length} (local.set $a (call $request"
        ),
    );
    let write = "(call $write (local.get $d) (i32.const 704)) (call $must (i32.const 704))
        (call $write-out (i32.load (i32.const 708)) (i32.const 1200) (i32.const 12) (i32.const 720))
        (if (i32.eqz (i32.load8_u (i32.const 720))) (then (unreachable)))
        (call $code-of (i32.load (i32.const 728)) (i32.const 800)) (call $say (i32.const 808) (i32.const 1))
        (call $finish (local.get $d) (i32.const 0) (i32.const 0) (i32.const 800))
        (call $say (i32.const 808) (i32.const 1))";
    let bytes = asks(&address, &[&said, begin, SEND, write, WAIT, SAY_CODE]);
    // `HTTP-request-body-size`, twice
    assert_eq!(run_here(&bytes, |_| {}), (End::Exited(0), vec![17, 17, 38]));
    assert!(asked.try_recv().is_err());
}

/// A1: whoever has no network around it asks nobody: `HTTP-request-denied`.
#[test]
fn without_a_network_requests_are_denied() {
    let (address, asked) = answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let ask = "(call $handle (local.get $a) (i32.const 0) (i32.const 0) (i32.const 200))
        (if (i32.eqz (i32.load8_u (i32.const 200))) (then (unreachable)))
        (call $say (i32.const 208) (i32.const 1))";
    for around in [Around::Nothing, Around::default()] {
        let (end, shown) = run(&asks(&address, &[ASK, ask]), |world| world.around = around);
        assert_eq!((end, &*shown), (End::Exited(0), &[15][..]));
    }
    assert!(asked.try_recv().is_err());
}

/// A22: why a request has failed is named.
#[test]
fn failures_are_named() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let nonsense = answers("this is no HTTP at all\r\n\r\n").0;
    let closed = answers("").0;
    let headers = server(|connection| {
        connection.write_all(b"HTTP/1.1 200 OK\r\n")?;
        let more = format!("X-More: {}\r\n", "of the same ".repeat(200));
        (0..100).try_for_each(|_| connection.write_all(more.as_bytes()))
    });
    for (address, code) in [(gone, 6), (nonsense, 35), (closed, 25), (headers.0, 26)] {
        let (end, shown) = run_here(&asks(&address, &[ASK, SEND, WAIT, SAY_CODE]), |_| {});
        assert_eq!((end, &*shown), (End::Exited(0), &[code][..]), "{address}");
    }
    // Without a scheme it is HTTPS, which this server does not speak: `TLS-protocol-error`.
    let plain = answers("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").0;
    let without = "(if (call $set-scheme (local.get $a) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (then (unreachable)))";
    let (end, shown) = run_here(&asks(&plain, &[ASK, without, SEND, WAIT, SAY_CODE]), |_| {});
    assert_eq!((end, &*shown), (End::Exited(0), &[12][..]));
}

/// A22: what is said of time is kept, for the head of an answer and between its bytes.
#[test]
fn timeouts_are_kept() {
    let begun = Instant::now();
    let silent = || server(|connection| connection.read(&mut [0]).map(drop)).0;
    let options = |set: &str| {
        format!(
            "(local.set $d (call $options))
             (if (call {set} (local.get $d) (i32.const 1) (i64.const 200000000)) (then (unreachable)))
             (call $handle (local.get $a) (i32.const 1) (local.get $d) (i32.const 200)) (call $must (i32.const 200))
             (local.set $b (i32.load (i32.const 208)))"
        )
    };
    // `HTTP-response-timeout`
    let first = options("$set-first-byte");
    let (end, shown) = run_here(&asks(&silent(), &[ASK, &first, WAIT, SAY_CODE]), |_| {});
    assert_eq!((end, &*shown), (End::Exited(0), &[33][..]));
    // `connection-read-timeout`, after what has come
    let (address, _) = server(|connection| {
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel")?;
        connection.read(&mut [0]).map(drop)
    });
    let between = options("$set-between");
    let say = "(i32.store (i32.const 600) (local.get $a)) (call $say (i32.const 600) (i32.const 1))
        (call $code-of (i32.load (i32.const 508)) (i32.const 800)) (call $say (i32.const 808) (i32.const 1))";
    let bytes = asks(&address, &[ASK, &between, WAIT, OPEN, COUNT, say]);
    let (end, shown) = run_here(&bytes, |_| {});
    assert_eq!((end, &*shown), (End::Exited(0), &[3, 9][..]));
    assert!(begun.elapsed() < testing::slowly(Duration::from_secs(15)), "{:?}", begun.elapsed());
}

/// A25: a body of an answer comes as it is read, and ends at the limit of memory.
#[test]
fn answers_are_bounded() {
    let limit = |world: &mut World| world.limits.max_memory = 4 << 20;
    let say =
        "(i32.store (i32.const 600) (local.get $a)) (call $say (i32.const 600) (i32.const 4))";
    let (address, _) = server(|connection| {
        connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        connection.write_all(&vec![7; 3 << 20])
    });
    let (end, shown) = run_here(&asks(&address, &[ASK, SEND, WAIT, OPEN, COUNT, say]), limit);
    assert_eq!((end, &*shown), (End::Exited(0), &(3_u32 << 20).to_le_bytes()[..]));
    // `HTTP-response-body-size`: at once where it is said, else when it is reached.
    let (address, _) = answers("HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\nhello");
    let (end, shown) = run_here(&asks(&address, &[ASK, SEND, WAIT, SAY_CODE]), limit);
    assert_eq!((end, &*shown), (End::Exited(0), &[28][..]));
    let (address, _) = server(|connection| {
        connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        (0..200).try_for_each(|_| connection.write_all(&vec![7; 1 << 20]))
    });
    let say = "(call $code-of (i32.load (i32.const 508)) (i32.const 800)) (call $say (i32.const 808) (i32.const 1))";
    let (end, shown) = run_here(&asks(&address, &[ASK, SEND, WAIT, OPEN, COUNT, say]), limit);
    assert_eq!((end, &*shown), (End::Exited(0), &[28][..]));
}

/// A1: headers of a request that is made and of an answer stay as they are, and none says how the connection is used.
#[test]
fn headers_are_checked() {
    let (address, _) = answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let append = |to: &str, name: u32, length: u32| {
        format!(
            "(call $append {to} (i32.const {name}) (i32.const {length}) (i32.const 1110) (i32.const 3) (i32.const 704))
             (call $say (i32.const 704) (i32.const 2))"
        )
    };
    let (invalid, host) = (append("(call $fields)", 1150, 3), append("(call $fields)", 1140, 4));
    let of_request = append("(call $headers-of-request (local.get $a))", 1100, 7);
    let of_answer = append("(call $headers (local.get $c))", 1100, 7);
    let body = [&*invalid, &host, ASK, &of_request, SEND, WAIT, OPEN, &of_answer];
    let (end, shown) = run_here(&asks(&address, &body), |_| {});
    assert_eq!((end, &*shown), (End::Exited(0), &[1, 0, 1, 1, 1, 2, 1, 2][..]));
}

/// A25: endless headers, bodies and requests end at their limits; those that are dropped are given back.
#[test]
fn what_is_made_without_end_is_bounded() {
    let small = |world: &mut World| {
        world.limits.max_memory = 4 << 20;
        world.limits.max_descriptors = 8;
    };
    let more = "(call $append (local.get $c) (i32.const 1100) (i32.const 7) (i32.const 2048) (i32.const 60000) (i32.const 100))
        (call $must (i32.const 100))";
    let spaces = "(memory.fill (i32.const 2048) (i32.const 65) (i32.const 60000))";
    let endless =
        format!("{spaces} (local.set $c (call $fields)) (loop $again {more} (br $again))");
    let (end, _) = run_here(&asks("a", &[&endless]), small);
    assert!(matches!(end, End::Failed { .. }), "{end:?}");
    let many = format!("{spaces} (loop $again (local.set $c (call $fields)) {more} (br $again))");
    assert_eq!(run_here(&asks("a", &[&many]), small).0, End::Reached(Limit::Memory));
    let body = format!(
        "{ASK} (call $body (local.get $a) (i32.const 704)) (call $must (i32.const 704))
         (call $write (i32.load (i32.const 708)) (i32.const 704)) (call $must (i32.const 704))
         (loop $again
           (call $write-out (i32.load (i32.const 708)) (i32.const 2048) (i32.const 4096) (i32.const 720))
           (br_if $again (i32.eqz (i32.load8_u (i32.const 720)))))
         (call $code-of (i32.load (i32.const 728)) (i32.const 800)) (call $say (i32.const 808) (i32.const 1))"
    );
    assert_eq!(run_here(&asks("a", &[&body]), small), (End::Exited(0), vec![17]));
    // Nobody answers, and each request counts as a descriptor: `connection-limit-reached`.
    let (address, _) = server(|connection| connection.read(&mut [0]).map(drop));
    let requests = format!(
        "(loop $again {ASK}
           (call $handle (local.get $a) (i32.const 0) (i32.const 0) (i32.const 200))
           (br_if $again (i32.eqz (i32.load8_u (i32.const 200)))))
         (call $say (i32.const 208) (i32.const 1))"
    );
    let begun = Instant::now();
    assert_eq!(run_here(&asks(&address, &[&requests]), small), (End::Exited(0), vec![11]));
    assert!(begun.elapsed() < testing::slowly(Duration::from_secs(15)), "{:?}", begun.elapsed());
    // Whoever waits for each has any number of them.
    let (address, asked) = answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let turns = format!(
        "(i32.store (i32.const 900) (i32.const 20))
         (loop $again {ASK} {SEND} {WAIT} (call $must (i32.const 320))
           (call $drop-response (i32.load (i32.const 328)))
           (call $drop-pollable (local.get $d)) (call $drop-future (local.get $b))
           (i32.store (i32.const 900) (i32.sub (i32.load (i32.const 900)) (i32.const 1)))
           (br_if $again (i32.load (i32.const 900))))"
    );
    let turns = turns.replace(
        "(call $block (call $wait-for (local.get $b)))",
        "(local.set $d (call $wait-for (local.get $b))) (call $block (local.get $d))",
    );
    let drops = "
        $drop-response http/types [resource-drop]incoming-response i32
        $drop-pollable io/poll [resource-drop]pollable i32
    ";
    let data = format!(
        "(data (i32.const 1024) \"\\{:02x}\\00\\00\\00{address}\")
         (data (i32.const 1100) \"x-asked\") (data (i32.const 1110) \"yes\")
         (data (i32.const 1120) \"/a?b\")",
        address.len()
    );
    let bytes = component(&[SAY, HTTP, drops].concat(), &data, &turns);
    assert_eq!(run_here(&bytes, small).0, End::Exited(0));
    assert_eq!(asked.try_iter().count(), 20);
}

/// A22: nobody is served: who makes an answer is ended.
#[test]
fn answers_of_components_are_refused() {
    let (end, _) = run_here(&asks("a", &["(drop (call $response (call $fields)))"]), |_| {});
    let why = "cannot serve requests";
    assert!(matches!(&end, End::Failed { message, .. } if message.contains(why)), "{end:?}");
}

/// A25: whatever a component asks for is sent or refused with a code, and the thread that sends it never fails.
#[test]
fn odd_requests_are_sent_or_refused() {
    let authority = "(if (call $set-authority (local.get $a) (i32.const 1) (i32.const 1028) (i32.load (i32.const 1024))) (then
        (call $say (i32.const 1110) (i32.const 1)) (return (i32.const 0))))";
    let set = ASK.lines().find(|line| line.contains("$set-authority")).unwrap();
    let ask = ASK.replace(set, authority);
    let send = "(call $handle (local.get $a) (i32.const 0) (i32.const 0) (i32.const 200))
        (if (i32.load8_u (i32.const 200)) (then
          (call $say (i32.const 208) (i32.const 1)) (return (i32.const 0))))
        (local.set $b (i32.load (i32.const 208)))";
    let say = "(call $say (i32.const 320) (i32.const 1)) (if (i32.load8_u (i32.const 320)) (then
        (call $say (i32.const 328) (i32.const 1))))";
    for odd in
        [":80", "@", "user@", "a b", "[::1", "[::]:0", "127.0.0.1:0", "127.0.0.1:99999", "-", ""]
    {
        let (end, shown) = run_here(&asks(odd, &[&ask, send, WAIT, say]), |_| {});
        assert_eq!(end, End::Exited(0), "{odd}");
        assert_ne!(shown, [0], "{odd}");
    }
    // Each method, with a body and without one; the last is `connect`, which is no request: `HTTP-request-method-invalid`.
    let body = "(call $body (local.get $a) (i32.const 704)) (call $must (i32.const 704))
        (local.set $d (i32.load (i32.const 708)))
        (call $finish (local.get $d) (i32.const 0) (i32.const 0) (i32.const 704)) (call $must (i32.const 704))";
    for method in [0, 1, 2, 3, 4, 6, 7, 8, 9, 5] {
        for body in ["", body] {
            let (address, _) = answers("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
            let method = format!(
                "(if (call $set-method (local.get $a) (i32.const {method}) (i32.const 1110) (i32.const 3)) (then (unreachable)))"
            );
            let bytes = asks(&address, &[&ask, &method, body, send, WAIT, say]);
            let expected = if method.contains("(i32.const 5)") { 18 } else { 0 };
            assert_eq!(run_here(&bytes, |_| {}), (End::Exited(0), vec![expected]), "{method}");
        }
    }
}
