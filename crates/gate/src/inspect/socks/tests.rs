//! Clients' bytes and what is made of them.

use super::*;

/// Runs a client that sends everything at once, and the same client byte by byte; both must come to
/// the same end. Gives all answers on the way and the last step.
fn run(bytes: &[u8]) -> (Vec<u8>, Step) {
    let whole = run_in_parts(bytes, bytes.len().max(1));
    for size in 1..bytes.len() {
        assert_eq!(run_in_parts(bytes, size), whole, "in parts of {size}");
    }
    whole
}

fn run_in_parts(bytes: &[u8], size: usize) -> (Vec<u8>, Step) {
    let mut negotiation = Negotiation::new();
    let mut buffer = Vec::new();
    let mut answers = Vec::new();
    for part in bytes.chunks(size) {
        buffer.extend(part);
        loop {
            match negotiation.advance(&buffer) {
                Step::NeedMore => break,
                Step::Answer { consumed, answer } => {
                    buffer.drain(..consumed);
                    answers.extend(answer);
                }
                last => return (answers, last),
            }
        }
    }
    (answers, Step::NeedMore)
}

fn request(bytes: &[u8]) -> Request {
    match run(bytes).1 {
        Step::Request { request, .. } => request,
        other => panic!("{bytes:?}: {other:?}"),
    }
}

fn refusal_of(bytes: &[u8]) -> (Vec<u8>, DenialCode) {
    match run(bytes).1 {
        Step::Refuse { answer, denial } => (answer, denial.code),
        other => panic!("{bytes:?}: {other:?}"),
    }
}

fn after_greeting(rest: &[u8]) -> Vec<u8> {
    [&[5, 1, 0], rest].concat()
}

/// K101, T40: every form of request that asks for a connection.
#[test]
fn requests_are_read() {
    let domain = |text: &str| {
        let length = u8::try_from(text.len()).unwrap();
        after_greeting(&[&[5, 1, 0, 3, length], text.as_bytes(), &[1, 187]].concat())
    };
    let v6 = [&[5, 1, 0, 4][..], &[0x20, 1, 0xd, 0xb8], &[0; 11], &[1], &[0, 80]].concat();
    let mapped = [&[5, 1, 0, 4][..], &[0; 10], &[255, 255, 192, 0, 2, 1], &[0, 80]].concat();
    let table: Vec<(Vec<u8>, Version, &str, u16)> = vec![
        (domain("Example.COM."), Version::V5, "example.com", 443),
        (domain("192.0.2.7"), Version::V5, "192.0.2.7", 443),
        (domain("2001:db8::1"), Version::V5, "2001:db8::1", 443),
        (after_greeting(&[5, 1, 0, 1, 192, 0, 2, 1, 0, 22]), Version::V5, "192.0.2.1", 22),
        (after_greeting(&v6), Version::V5, "2001:db8::1", 80),
        (after_greeting(&mapped), Version::V5, "192.0.2.1", 80),
        (b"\x04\x01\0\x50\xc0\0\x02\x01\0".to_vec(), Version::V4, "192.0.2.1", 80),
        (b"\x04\x01\0\x50\xc0\0\x02\x01user\0".to_vec(), Version::V4, "192.0.2.1", 80),
        (b"\x04\x01\0\x50\0\0\0\x01u\0a.example\0".to_vec(), Version::V4, "a.example", 80),
        (b"\x04\x01\0\x50\0\0\0\0\0".to_vec(), Version::V4, "0.0.0.0", 80),
    ];
    for (bytes, version, host, port) in table {
        let request = request(&bytes);
        let target = Target::parse(host.as_bytes()).unwrap();
        assert_eq!(request, Request { version, target, port });
    }
}

/// A client may send what is for the server at once; it is not touched.
#[test]
fn what_follows_a_request_is_left() {
    let bytes = b"\x05\x01\0\x01\xc0\0\x02\x01\0\x50GET / HTTP/1.1";
    let mut negotiation = Negotiation { stage: Stage::Greeted };
    let Step::Request { consumed, .. } = negotiation.advance(bytes) else { panic!() };
    assert_eq!(&bytes[consumed..], b"GET / HTTP/1.1");
}

/// K101: no authentication is chosen out of what is offered, or the client is sent away.
#[test]
fn greetings_are_answered() {
    assert_eq!(run(&[5, 3, 2, 0, 1]).0, [5, 0]);
    for insisting in [&[5, 1, 2][..], &[5, 0]] {
        assert_eq!(refusal_of(insisting), (vec![5, 255], DenialCode::SocksRefused));
    }
}

/// K110, T37, T40: refusals carry the number that says why.
#[test]
fn refusals_say_why() {
    let v5 = |code| vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0];
    let v4 = vec![0, 91, 0, 0, 0, 0, 0, 0];
    let long_user = [&b"\x04\x01\0\x50\xc0\0\x02\x01"[..], &[b'u'; 256]].concat();
    let long_host = [&b"\x04\x01\0\x50\0\0\0\x01\0"[..], &[b'h'; 256]].concat();
    let connect = |host: &[u8]| {
        let length = u8::try_from(host.len()).unwrap();
        after_greeting(&[&[5, 1, 0, 3, length], host, &[0, 80]].concat())
    };
    let table: Vec<(&str, Vec<u8>, Vec<u8>, DenialCode)> = vec![
        ("bind", after_greeting(&[5, 2, 0, 1, 1, 1, 1, 1, 0, 1]), v5(7), DenialCode::SocksRefused),
        ("udp", after_greeting(&[5, 3, 0, 1, 0, 0, 0, 0, 0, 0]), v5(7), DenialCode::SocksRefused),
        (
            "bind 4",
            b"\x04\x02\0\x50\xc0\0\x02\x01\0".to_vec(),
            v4.clone(),
            DenialCode::SocksRefused,
        ),
        ("kind", after_greeting(&[5, 1, 0, 2]), v5(8), DenialCode::SocksRefused),
        ("version", after_greeting(&[4, 1, 0, 1]), v5(1), DenialCode::SocksRefused),
        ("http", b"GET / HTTP/1.1\r\n".to_vec(), Vec::new(), DenialCode::SocksRefused),
        ("empty host", connect(b""), v5(2), DenialCode::BadName),
        ("NUL", connect(b"a.example\0b.example"), v5(2), DenialCode::BadName),
        ("user", connect(b"u@a.example"), v5(2), DenialCode::BadName),
        ("octal", connect(b"0177.0.0.1"), v5(2), DenialCode::BadName),
        ("long", connect(&[b'a'; 255]), v5(2), DenialCode::BadName),
        ("long user", long_user, v4.clone(), DenialCode::SocksRefused),
        ("long host", long_host, v4, DenialCode::SocksRefused),
    ];
    for (what, bytes, answer, code) in table {
        assert_eq!(refusal_of(&bytes), (answer, code), "{what}");
    }
}

/// K107: every reply has its number.
#[test]
fn replies_have_their_numbers() {
    let replies = [
        Reply::Succeeded,
        Reply::GeneralFailure,
        Reply::NotAllowed,
        Reply::NetworkUnreachable,
        Reply::HostUnreachable,
        Reply::ConnectionRefused,
        Reply::TimedOut,
        Reply::CommandNotSupported,
        Reply::AddressTypeNotSupported,
    ];
    for (code, reply) in (0..).zip(replies) {
        assert_eq!(Version::V5.reply(reply), [5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Version::V4.reply(reply)[1], if code == 0 { 90 } else { 91 });
    }
}

/// However long the input, a step is found within its bound.
#[test]
fn no_step_needs_more_than_its_bound() {
    let user = [b'u'; 255];
    let longest = [&b"\x04\x01\0\x50\0\0\0\x01"[..], &user, b"\0", &[b'h'; 255], b"\0"].concat();
    assert_eq!(longest.len(), MAX_STEP);
    assert!(matches!(run(&longest).1, Step::Refuse { .. }));
}
