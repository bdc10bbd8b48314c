//! Queries as a program could send them, good and bad.

use plan::network::Family;

use super::super::scripted::wire;
use super::{Fault, Question, Subject, Unanswered, Wanted, parse};

const OPT: &[u8] = b"\x00\x00\x29\x10\x00\x00\x00\x80\x00\x00\x00";

fn query(name: &[u8], kind: u16) -> Vec<u8> {
    let mut bytes = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(name);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

fn with_extension(record: &[u8]) -> Vec<u8> {
    let mut bytes = query(&wire("example.com"), 1);
    bytes[11] = 1;
    bytes.extend(record);
    bytes
}

fn parsed(bytes: &[u8]) -> Question {
    parse(bytes).unwrap_or_else(|error| panic!("{error:?}: {bytes:?}"))
}

/// K88: what is asked for, and what a cage may be told.
#[test]
fn types_are_told_apart() {
    let check = |kind, expected| {
        assert_eq!(parsed(&query(&wire("example.com"), kind)).wanted, expected, "{kind}");
    };
    check(1, Wanted::Addresses(Family::V4));
    check(28, Wanted::Addresses(Family::V6));
    check(12, Wanted::Pointer);
    // NULL, MX, TXT, SRV, SVCB, HTTPS, AXFR, ANY and one that does not exist.
    for kind in [10, 15, 16, 33, 64, 65, 252, 255, 65280] {
        check(kind, Wanted::Other);
    }
}

/// T43: a name has one form, and what is no host name never becomes one.
#[test]
fn names_are_normalised_or_told_to_be_none() {
    let check = |name: &[u8], expected: Result<&str, &str>| {
        let found = match parsed(&query(name, 1)).subject {
            Subject::Host(name) => Ok(name.to_string()),
            Subject::NoHost(text) => Err(text),
        };
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{name:?}");
    };
    check(&wire("ExAmPle.COM"), Ok("example.com"));
    check(&wire("host"), Ok("host"));
    check(&wire("_sip.printer.local"), Ok("_sip.printer.local"));
    check(&wire("xn--bcher-kva.example"), Ok("xn--bcher-kva.example"));
    check(&wire(""), Err("."));
    check(b"\x0bexample.com\x00", Err("example\\.com"));
    check(b"\x04evil\x08com\x00good\x03com\x00", Err("evil.com\\000good.com"));
    check(b"\x01*\x07example\x00", Err("*.example"));
    check("\u{7}b\u{fc}cher\u{0}".as_bytes(), Err("b\\195\\188cher"));
    check(&wire("10.0.0.1"), Err("10.0.0.1"));
    check(&wire("-a.example"), Err("-a.example"));
}

#[test]
fn what_is_no_question_gets_the_answer_for_that() {
    let check = |bytes: &[u8], expected: Fault| match parse(bytes) {
        Err(Unanswered::With(asked, fault)) => {
            assert_eq!((asked.id, fault), (0x1234, expected), "{bytes:?}");
        }
        other => panic!("{other:?}: {bytes:?}"),
    };
    let example = wire("example.com");
    let changed = |at: usize, value: u8| {
        let mut bytes = query(&example, 1);
        bytes[at] = value;
        bytes
    };
    check(&changed(5, 0), Fault::Malformed);
    check(&changed(5, 2), Fault::Malformed);
    check(&changed(4, 1), Fault::Malformed);
    check(&changed(7, 1), Fault::Malformed);
    check(&changed(9, 1), Fault::Malformed);
    check(&changed(11, 1), Fault::Malformed);
    check(&query(b"\xc0\x0c", 1), Fault::Malformed);
    check(&query(b"\x01a\xc0\x04", 1), Fault::Malformed);
    check(&query(&example, 1)[..20], Fault::Malformed);
    check(&query(&example, 1)[..12], Fault::Malformed);
    check(&[query(&example, 1), vec![0]].concat(), Fault::Malformed);
    check(&[query(&example, 1), vec![0; 1100]].concat(), Fault::Malformed);
    check(&with_extension(&[OPT, OPT].concat()), Fault::Malformed);
    // Something that is no EDNS record, or one of a host.
    check(&with_extension(b"\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00"), Fault::Malformed);
    check(&with_extension(b"\x01a\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"), Fault::Malformed);
    check(&with_extension(b"\x00\x00\x29\x10\x00\x00\x01\x00\x00\x00\x00"), Fault::UnknownVersion);
    // An option that claims more than there is.
    check(
        &with_extension(b"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x05\x00\x0a\x00\x02a"),
        Fault::Malformed,
    );
    // Inverse query, status, notify, update, and a reserved operation.
    for operation in [1, 2, 4, 5, 15] {
        check(&changed(2, operation << 3), Fault::UnknownOperation);
    }
    let last = query(&example, 1).len() - 1;
    // CHAOS, HESIOD, ANY.
    for class in [3, 4, 255] {
        check(&changed(last, class), Fault::UnknownClass);
    }
}

#[test]
fn answers_and_scraps_are_not_answered() {
    let mut answer = query(&wire("example.com"), 1);
    answer[2] |= 0x80;
    for bytes in [&answer[..], b"", b"\x12", b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00"] {
        assert_eq!(parse(bytes), Err(Unanswered::Silently), "{bytes:?}");
    }
}

#[test]
fn a_client_says_how_much_it_takes() {
    let room = |size: [u8; 2]| {
        let record = [b"\x00\x00\x29", &size[..], &[0; 6]].concat();
        parsed(&with_extension(&record)).asked.datagram_room()
    };
    assert_eq!(parsed(&query(&wire("a"), 1)).asked.datagram_room(), 512);
    assert_eq!(room([0, 0]), 512);
    assert_eq!(room([0x04, 0]), 1024);
    assert_eq!(room([0xff, 0xff]), 1232);
}

/// Cookies, client subnets and padding are read over.
#[test]
fn options_are_dropped() {
    let cookie = b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x0c\x00\x0a\x00\x08abcdefgh";
    assert_eq!(
        parsed(&with_extension(cookie)),
        parsed(&with_extension(b"\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"))
    );
}
