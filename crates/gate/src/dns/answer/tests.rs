//! Answers byte by byte: header, question, records, EDNS.

use std::net::{IpAddr, Ipv6Addr};

use super::super::question::{Asked, Fault, Unanswered, parse};
use super::super::scripted::wire;
use super::super::wire::Reader;
use super::{Answer, Carrier, encode};

fn asked(name: &str, extension: &[u8]) -> Asked {
    let mut bytes = b"\xab\xcd\x01\x10\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
    bytes[11] = u8::from(!extension.is_empty());
    bytes.extend(wire(name));
    bytes.extend([0, 1, 0, 1]);
    bytes.extend(extension);
    match parse(&bytes) {
        Ok(question) => question.asked,
        Err(Unanswered::With(asked, _)) => asked,
        Err(Unanswered::Silently) => panic!("{bytes:?}"),
    }
}

const OPT: &[u8] = b"\x00\x00\x29\x10\x00\x00\x00\x80\x00\x00\x00";

fn addresses(addresses: &[&str], seconds: u32) -> Answer {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    Answer::Addresses { addresses, seconds }
}

/// K88, K95: the question as it was spelled, the address, and a minute at most.
#[test]
fn an_address_is_answered_under_the_name_as_it_was_spelled() {
    let bytes =
        encode(&asked("ExAmple.com", b""), &addresses(&["198.18.0.1"], 86400), Carrier::Datagram);
    let expected = [
        &b"\xab\xcd\x81\x90\x00\x01\x00\x01\x00\x00\x00\x00"[..],
        b"\x07ExAmple\x03com\x00\x00\x01\x00\x01",
        b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x00\x01",
    ];
    assert_eq!(bytes, expected.concat());
}

/// K97, K99: a no holds for a short time, which the start of authority tells.
#[test]
fn a_no_comes_with_the_time_that_it_holds() {
    let check = |name: &str, answer: &Answer, code: u8, owner: &str| {
        let bytes = encode(&asked(name, OPT), answer, Carrier::Datagram);
        assert_eq!(bytes[2..4], [0x81, 0x90 | code]);
        assert_eq!(bytes[4..12], [0, 1, 0, 0, 0, 1, 0, 1]);
        let mut reader = Reader::new(&bytes);
        reader.take(12 + wire(name).len() + 4).unwrap();
        let authority = reader.record().unwrap();
        assert_eq!((authority.owner.to_string().as_str(), authority.kind), (owner, 6));
        assert_eq!((authority.ttl, authority.class), (10, 1));
        let mut data = authority.data_reader();
        assert_eq!(data.name().unwrap().to_string(), "stockade.invalid");
        assert_eq!(data.name().unwrap().to_string(), "stockade.invalid");
        assert_eq!(data.take(16).unwrap().len(), 16);
        assert_eq!(data.u32(), Ok(10));
        assert!(data.is_at_end());
        let extension = reader.record().unwrap();
        assert_eq!((extension.kind, extension.class, extension.ttl), (41, 1232, 0));
        assert!(reader.is_at_end() && extension.data.is_empty());
    };
    check("www.Example.com", &Answer::NoSuchName, 3, "Example.com");
    check("www.example.com", &Answer::NoData, 0, "example.com");
    check("host", &Answer::NoSuchName, 3, ".");
    check("", &Answer::NoSuchName, 3, ".");
}

#[test]
fn every_outcome_has_its_code() {
    let check = |answer: &Answer, code: u8, upper: u8| {
        let bytes = encode(&asked("example.com", OPT), answer, Carrier::Connection);
        assert_eq!(bytes[3] & 0x0f, code, "{answer:?}");
        let extension = &bytes[bytes.len() - 11..];
        assert_eq!(extension, [0, 0, 41, 0x04, 0xd0, upper, 0, 0, 0, 0, 0], "{answer:?}");
    };
    check(&Answer::Faulty(Fault::Malformed), 1, 0);
    check(&Answer::ServerFailure, 2, 0);
    check(&Answer::NoSuchName, 3, 0);
    check(&Answer::Faulty(Fault::UnknownOperation), 4, 0);
    check(&Answer::Refused, 5, 0);
    check(&Answer::Faulty(Fault::UnknownClass), 5, 0);
    check(&Answer::Faulty(Fault::UnknownVersion), 0, 1);
}

#[test]
fn a_query_without_a_question_is_answered_without_one() {
    let Err(Unanswered::With(asked, fault)) = parse(b"\x00\x07\x01\x00\0\0\0\0\0\0\0\0") else {
        panic!("no question");
    };
    let bytes = encode(&asked, &Answer::Faulty(fault), Carrier::Datagram);
    assert_eq!(bytes, b"\x00\x07\x81\x81\0\0\0\0\0\0\0\0");
}

/// What does not fit is left out as a whole, and the client told to come back on a connection.
#[test]
fn too_much_for_a_datagram_is_cut() {
    let many: Vec<IpAddr> = (0..50u128).map(|n| Ipv6Addr::from_bits(n << 8).into()).collect();
    let answer = Answer::Addresses { addresses: many, seconds: 5 };
    let asked = asked("example.com", OPT);
    let cut = encode(&asked, &answer, Carrier::Datagram);
    assert_eq!(cut[2] & 0x02, 0x02);
    assert_eq!(cut[4..12], [0, 1, 0, 0, 0, 0, 0, 1]);
    let whole = encode(&asked, &answer, Carrier::Connection);
    assert_eq!(whole[2] & 0x02, 0);
    assert_eq!(whole[4..12], [0, 1, 0, 50, 0, 0, 0, 1]);
    assert_eq!(whole.len(), 12 + 17 + 50 * 28 + 11);
}
