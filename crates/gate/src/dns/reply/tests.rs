//! What resolvers could send, true and false.

use plan::destination::Name;
use plan::network::Family;

use super::super::scripted::wire;
use super::{Dialect, Query, Reply};

const EXAMPLE: &[u8] = b"\x07example\x03com\x00";

fn query(family: Family) -> Query {
    Query::new(0x1234, &Name::parse("example.com").unwrap(), family, Dialect::Extended).unwrap()
}

/// Header, our question, and the given records.
fn message(flags: [u8; 2], counts: [u8; 3], records: &[Vec<u8>]) -> Vec<u8> {
    let [answers, authorities, additional] = counts;
    let mut bytes = vec![0x12, 0x34, flags[0], flags[1], 0, 1];
    bytes.extend([0, answers, 0, authorities, 0, additional]);
    bytes.extend(EXAMPLE);
    bytes.extend([0, 1, 0, 1]);
    bytes.extend(records.concat());
    bytes
}

fn record(owner: &[u8], kind: u16, ttl: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = owner.to_vec();
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes.extend(ttl.to_be_bytes());
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn check(records: &[Vec<u8>], expected: &Reply) {
    let bytes = message([0x81, 0x80], [records.len() as u8, 0, 0], records);
    assert_eq!(query(Family::V4).read(&bytes).as_ref(), Some(expected), "{records:?}");
}

fn found(addresses: &[&str], seconds: u32) -> Reply {
    Reply::Addresses(addresses.iter().map(|text| text.parse().unwrap()).collect(), seconds)
}

#[test]
fn a_question_says_no_more_than_it_must() {
    let name = Name::parse("example.com").unwrap();
    let bytes = |dialect| Query::new(0x1234, &name, Family::V6, dialect).unwrap().encode();
    let header = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00";
    assert_eq!(bytes(Dialect::Plain), [header, EXAMPLE, &[0, 28, 0, 1]].concat());
    let extended = bytes(Dialect::Extended);
    assert_eq!(extended[11], 1);
    assert_eq!(extended[bytes(Dialect::Plain).len()..], *b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
}

/// T42: whatever the addresses are, they are read as they stand; aliases are followed in any order.
#[test]
fn addresses_are_found_along_aliases() {
    let a = |owner: &[u8], ttl, last| record(owner, 1, ttl, &[10, 0, 0, last]);
    let alias = |owner: &str, ttl, target: &str| record(&wire(owner), 5, ttl, &wire(target));
    check(&[a(b"\xc0\x0c", 300, 1)], &found(&["10.0.0.1"], 300));
    check(&[a(EXAMPLE, 300, 1), a(EXAMPLE, 20, 2)], &found(&["10.0.0.1", "10.0.0.2"], 20));
    check(&[a(b"\x07EXAMPLE\x03CoM\x00", 5, 1)], &found(&["10.0.0.1"], 5));
    let chain = [
        a(&wire("c.example"), 70, 9),
        alias("b.example", 7, "c.example"),
        alias("example.com", 90, "b.example"),
    ];
    check(&chain, &found(&["10.0.0.9"], 7));
    // A pointer into the question as an alias's target.
    let to_com = record(b"\xc0\x0c", 5, 60, b"\xc0\x14");
    check(&[to_com, a(&wire("com"), 60, 3)], &found(&["10.0.0.3"], 60));
    // A time to live with its top bit set.
    check(&[a(EXAMPLE, u32::MAX, 1)], &found(&["10.0.0.1"], 0));
}

/// Records about other names are no answer, however many come along.
#[test]
fn what_was_not_asked_for_counts_for_nothing() {
    let a = |owner: &str| record(&wire(owner), 1, 60, &[10, 0, 0, 1]);
    check(&[], &Reply::NoAddress(0));
    check(&[a("other.com"), a("www.example.com"), a("com")], &Reply::NoAddress(0));
    check(&[record(EXAMPLE, 28, 60, &[0; 16])], &Reply::NoAddress(0));
    check(&[record(EXAMPLE, 16, 60, b"\x03abc")], &Reply::NoAddress(0));
    let mut chaos = record(EXAMPLE, 1, 60, &[10, 0, 0, 1]);
    chaos[EXAMPLE.len() + 3] = 3;
    check(&[chaos], &Reply::NoAddress(0));
}

#[test]
fn aliases_in_a_circle_or_without_end_lead_nowhere() {
    let alias = |owner: &str, target: &str| record(&wire(owner), 5, 60, &wire(target));
    check(&[alias("example.com", "example.com")], &Reply::Failed(2));
    check(&[alias("example.com", "a"), alias("a", "example.com")], &Reply::Failed(2));
    let mut chain = vec![alias("example.com", "n0.a")];
    for link in 0..20 {
        chain.push(alias(&format!("n{link}.a"), &format!("n{}.a", link + 1)));
    }
    chain.push(record(&wire("n20.a"), 1, 60, &[10, 0, 0, 1]));
    check(&chain, &Reply::Failed(2));
}

#[test]
fn malformed_records_fail_as_a_whole() {
    let good = record(EXAMPLE, 1, 60, &[10, 0, 0, 1]);
    check(&[good.clone(), record(EXAMPLE, 1, 60, &[10, 0, 0])], &Reply::Failed(2));
    check(&[good.clone(), record(EXAMPLE, 5, 60, b"\x05ab")], &Reply::Failed(2));
    check(&[good.clone(), record(EXAMPLE, 5, 60, b"\xc0\xff")], &Reply::Failed(2));
    let short = message([0x81, 0x80], [2, 0, 0], &[good]);
    assert_eq!(query(Family::V4).read(&short), Some(Reply::Failed(2)));
}

/// K99, K100: no such name, no address and failure are three things.
#[test]
fn outcomes_are_told_apart() {
    let authority = |ttl, minimum: u32| {
        let data = [&b"\x00\x00"[..], &[0; 16], &minimum.to_be_bytes()].concat();
        record(b"\x00", 6, ttl, &data)
    };
    let check = |flags: [u8; 2], counts, records: &[Vec<u8>], expected: Reply| {
        let bytes = message(flags, counts, records);
        assert_eq!(query(Family::V4).read(&bytes), Some(expected), "{bytes:?}");
    };
    check([0x81, 0x83], [0, 0, 0], &[], Reply::NoSuchName(0));
    check([0x81, 0x83], [0, 1, 0], &[authority(300, 20)], Reply::NoSuchName(20));
    check([0x81, 0x80], [0, 1, 0], &[authority(8, 20)], Reply::NoAddress(8));
    for code in [1, 2, 4, 5, 9] {
        check([0x81, 0x80 | code], [0, 0, 0], &[], Reply::Failed(u16::from(code)));
    }
    let bad_version = record(b"\x00", 41, 0x0100_0000, b"");
    check([0x81, 0x80], [0, 0, 1], &[bad_version], Reply::Failed(16));
    check([0x83, 0x80], [5, 0, 0], &[], Reply::Truncated);
}

#[test]
fn only_the_answer_to_this_question_is_one() {
    let good = message([0x81, 0x80], [0, 0, 0], &[]);
    assert!(query(Family::V4).read(&good).is_some());
    assert!(query(Family::V6).read(&good).is_none());
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        query(Family::V4).read(&bytes)
    };
    assert_eq!(changed(0, 0x13), None, "another id");
    assert_eq!(changed(2, 0x01), None, "a question");
    assert_eq!(changed(2, 0xa9), None, "another operation");
    assert_eq!(changed(5, 0), None, "no question");
    assert_eq!(changed(5, 2), None, "two questions");
    assert_eq!(changed(13, b'f'), None, "another name");
    assert_eq!(changed(good.len() - 3, 2), None, "another type");
    assert_eq!(changed(good.len() - 1, 3), None, "another class");
    for length in 0..good.len() {
        assert_eq!(query(Family::V4).read(&good[..length]), None, "{length}");
    }
    // A resolver that could not read the question cannot repeat it.
    let refusal = b"\x12\x34\x81\x81\0\0\0\0\0\0\0\0";
    assert_eq!(query(Family::V4).read(refusal), Some(Reply::Failed(1)));
}
