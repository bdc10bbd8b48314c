//! What attacks ask and the far resolver answers fits together.

use super::*;

fn ask(resolver: &Resolver, question: Question<'_>) -> Vec<IpAddr> {
    let resolved = resolver.answer(&Question::message(&[question], b"")).expect("an answer");
    assert_eq!(resolved.asked, [question.name]);
    read_addresses(&resolved.answer).expect("addresses")
}

#[test]
fn answers_are_those_of_the_zone() {
    let resolver = Resolver::default();
    let denied = IpAddr::V4(super::super::DENIED);
    assert_eq!(ask(&resolver, Question::v4("anything.example")), [denied]);
    assert_eq!(ask(&resolver, Question::v4("alias.inward.example")).len(), 1);
    assert!(ask(&resolver, Question::v6("private.inward.example")).is_empty());
    assert!(ask(&resolver, Question::text("web.example")).is_empty());
}

#[test]
fn rebinding_gives_every_address_its_turn() {
    let resolver = Resolver::default();
    let next = || ask(&resolver, Question::v4("rebind.inward.example"));
    let round = [next(), next(), next(), next()];
    assert_eq!(next(), round[0]);
    let different: std::collections::BTreeSet<_> = round.iter().flatten().collect();
    assert_eq!(different.len(), 4);
}

/// What is cut off anywhere is no message, and never a panic.
#[test]
fn a_piece_of_a_message_is_none() {
    let resolver = Resolver::default();
    let questions = [Question::v4("web.example"), Question::v4("other.example")];
    let whole = Question::message(&questions, b"more");
    let resolved = resolver.answer(&whole).expect("an answer");
    assert_eq!(resolved.asked, ["web.example", "other.example"]);
    for length in 0..resolved.answer.len() {
        assert_eq!(read_addresses(&resolved.answer[..length]), None);
    }
    let end_of_questions = whole.len() - option_record(b"more").len();
    for length in 0..end_of_questions - 2 {
        assert!(resolver.answer(&whole[..length]).is_none(), "{length} bytes");
    }
}
