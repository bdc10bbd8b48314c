//! The bounds of one cage, with a clock that stands still and nobody to ask.

use std::sync::Arc;
use std::time::Duration;

use plan::GatekeeperPlan;
use plan::destination::Name;

use super::super::answer::Carrier;
use super::super::cache::Resolver;
use super::super::scripted::wire;
use super::{CageNames, Outside, Responder, Step};
use crate::decision::{Verdict, decide_question};
use crate::event::EventKind;
use crate::limits;
use crate::rules::Rules;
use crate::synthetic::{MapFull, SyntheticMap, SyntheticPair};

struct Cage(Rules);

impl CageNames for Cage {
    fn decide(&self, name: &Name) -> Verdict {
        decide_question(&self.0, name)
    }

    fn assign(&self, name: &Name) -> Result<SyntheticPair, MapFull> {
        SyntheticMap::new(1).assign(name)
    }

    fn outside(&self) -> Outside {
        Outside::Resolvers
    }

    fn had_no_descriptor(&self) {}

    fn tell(&self, _: EventKind) {}
}

fn responder() -> Responder<Cage> {
    let allow = vec!["**.example.com".parse().unwrap()];
    let rules = Rules::new(&GatekeeperPlan { allow, ..Default::default() });
    Responder::new(Arc::new(Cage(rules)), Arc::new(Resolver::new(Vec::new(), 10_000)))
}

fn begin(responder: &Responder<Cage>, name: &str) -> Step {
    let mut query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
    query.extend(wire(name));
    query.extend([0, 1, 0, 1]);
    responder.begin(&query, Carrier::Datagram)
}

fn code(step: &Step) -> Option<u8> {
    match step {
        Step::Done(Some(answer)) => Some(answer[3] & 0x0f),
        Step::Done(None) => panic!("no answer"),
        Step::Ask(_) => None,
    }
}

/// Beyond its share of waiting questions a cage is refused, until one of them is answered.
#[tokio::test(start_paused = true)]
async fn waiting_questions_are_bounded() {
    let responder = responder();
    let mut waiting: Vec<Step> = Vec::new();
    for index in 0..limits::QUERIES_IN_FLIGHT {
        let step = begin(&responder, &format!("n{index}.example.com"));
        assert_eq!(code(&step), None, "{index}");
        waiting.push(step);
    }
    assert_eq!(code(&begin(&responder, "more.example.com")), Some(5));
    // What nobody has to be asked about is answered as ever.
    assert_eq!(code(&begin(&responder, "denied.example.org")), Some(3));
    assert_eq!(code(&begin(&responder, "localhost")), Some(0));
    waiting.pop();
    assert_eq!(code(&begin(&responder, "more.example.com")), None);
}

/// Beyond its share of a second a cage's questions are not passed on; the next second they are. What
/// nobody has to be asked about is answered as ever.
#[tokio::test(start_paused = true)]
async fn questions_in_a_second_are_bounded() {
    let responder = responder();
    for index in 0..limits::ASKED_PER_SECOND {
        assert_eq!(code(&begin(&responder, &format!("n{index}.example.com"))), None, "{index}");
    }
    for (name, expected) in [("a.example.com", 5), ("denied.example.org", 3), ("localhost", 0)] {
        assert_eq!(code(&begin(&responder, name)), Some(expected), "{name}");
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(code(&begin(&responder, "a.example.com")), None);
}

/// Whoever asks faster than that waits, and no longer than needed.
#[tokio::test(start_paused = true)]
async fn too_many_questions_are_read_later() {
    let responder = responder();
    let begun = tokio::time::Instant::now();
    let seconds = 3;
    for _ in 0..seconds * limits::QUERIES_PER_SECOND / limits::QUERIES_PER_TURN {
        responder.rest_after(limits::QUERIES_PER_TURN).await;
    }
    let took = begun.elapsed().as_secs_f64();
    assert!((2.5..3.5).contains(&took), "{took}");
}
