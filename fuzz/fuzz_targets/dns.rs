//! Any bytes as a query from a cage and as a resolver's reply: reading ends, every answer can be read
//! by another implementation, and no reply gives an address of the wrong family.
#![no_main]

use std::net::IpAddr;

use gate::dns::answer::{Answer, Carrier, encode};
use gate::dns::question::{self, Asked, Fault, Question, Subject, Unanswered, Wanted};
use gate::dns::reply::{Dialect, Query, Reply};
use hickory_proto::op::{Message, MessageType};
use libfuzzer_sys::fuzz_target;
use plan::destination::Name;
use plan::network::Family;

fuzz_target!(|bytes: &[u8]| {
    match question::parse(bytes) {
        Ok(question) => check_question(bytes, &question),
        Err(Unanswered::With(asked, fault)) => {
            check_answer(bytes, &asked, &Answer::Faulty(fault));
        }
        Err(Unanswered::Silently) => {}
    }
    check_reply(bytes);
});

fn check_question(bytes: &[u8], question: &Question) {
    // What options hold is not looked at here, so that the other implementation sees none.
    let (head, extension) = bytes.split_at(question_end(bytes));
    let mut plain = [head, &extension[..extension.len().min(11)]].concat();
    if let [.., high, low] = &mut plain[head.len()..] {
        (*high, *low) = (0, 0);
    }
    let theirs = Message::from_vec(&plain).expect("a question that is accepted is one");
    let [query] = &theirs.queries[..] else { panic!("one question: {theirs}") };
    let mut wanted = vec!["198.18.0.1".parse().expect("an address")];
    if let Wanted::Addresses(Family::V6) = question.wanted {
        wanted = vec!["100::1".parse().expect("an address"); 60];
    }
    if let Subject::Host(name) = &question.subject {
        let spelled = query.name().to_ascii().to_ascii_lowercase();
        assert_eq!(spelled.trim_end_matches('.'), name.as_str());
    }
    let answers = [
        Answer::Addresses { addresses: wanted, seconds: 1000 },
        Answer::NoData,
        Answer::NoSuchName,
        Answer::ServerFailure,
        Answer::Refused,
        Answer::Faulty(Fault::UnknownVersion),
    ];
    for answer in &answers {
        let message = check_answer(bytes, &question.asked, answer);
        let [repeated] = &message.queries[..] else { panic!("one question: {message}") };
        assert!(repeated.name().eq_case(query.name()), "the spelling is kept");
        assert_eq!(repeated.query_type(), query.query_type());
    }
}

/// Where the question of an accepted query ends.
fn question_end(bytes: &[u8]) -> usize {
    let mut at = 12;
    while bytes[at] != 0 {
        at += 1 + usize::from(bytes[at]);
    }
    at + 5
}

/// Reads an answer back, with another implementation.
fn check_answer(bytes: &[u8], asked: &Asked, answer: &Answer) -> Message {
    let on_connection = encode(asked, answer, Carrier::Connection);
    assert_eq!(question::parse(&on_connection), Err(Unanswered::Silently));
    let datagram = encode(asked, answer, Carrier::Datagram);
    assert!(datagram.len() <= asked.datagram_room());
    let message = Message::from_vec(&datagram).expect("an answer");
    assert_eq!(message.metadata.truncation, datagram.len() < on_connection.len());
    let message = Message::from_vec(&on_connection).expect("an answer");
    assert_eq!(message.metadata.message_type, MessageType::Response);
    assert_eq!(message.metadata.id.to_be_bytes()[..], bytes[..2]);
    assert!(message.answers.iter().all(|record| record.ttl <= 60));
    message
}

/// The bytes as they are, and behind a header and question that match.
fn check_reply(bytes: &[u8]) {
    let name = Name::parse("www.example.com").expect("a name");
    for family in [Family::V4, Family::V6] {
        let query = Query::new(0x1234, &name, family, Dialect::Plain).expect("a query");
        let mut framed = query.encode();
        if let Some((head, records)) = bytes.split_first_chunk::<5>() {
            let [flags, code, answers, authorities, additional] = *head;
            framed.splice(2..4, [flags | 0x80, code]);
            framed.splice(6..12, [0, answers, 0, authorities, 0, additional]);
            framed.extend_from_slice(records);
        }
        for reply in [query.read(bytes), query.read(&framed)].into_iter().flatten() {
            if let Reply::Addresses(addresses, _) = reply {
                assert!((1..=64).contains(&addresses.len()));
                let is_v4 = |address: &IpAddr| address.is_ipv4() == (family == Family::V4);
                assert!(addresses.iter().all(is_v4));
            }
        }
    }
}
