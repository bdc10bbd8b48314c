//! Counting and telling.

use std::sync::Arc;

use super::Record;
use crate::control::{CageReport, Channel, Waiting};
use crate::event::{EventKind, Route};
use crate::limits;
use crate::watched::Watched;

fn denied(target: &str, port: u16, way: Route) -> EventKind {
    let (target, reason) = (target.to_owned(), "no entry allows it".to_owned());
    EventKind::TcpDenied { target, port, rule: None, code: "not_allowed".to_owned(), reason, way }
}

fn watched(channel: Channel) -> Arc<Watched> {
    Arc::new(Watched::new(channel.into_fd()).unwrap())
}

fn told(channel: &Channel) -> usize {
    let mut count = 0;
    while let Ok(Some((CageReport::Event(_), _))) = channel.receive(Waiting::Refused) {
        count += 1;
    }
    count
}

/// K206: allowed things are told as often as was asked for, and counted always.
#[tokio::test]
async fn allowed_connections_are_sampled() {
    for (share, expected) in [(0.0, 0), (0.25, 5), (0.5, 10), (1.0, 20), (7.0, 20)] {
        let (ours, theirs) = Channel::pair().unwrap();
        let record = Record::new("id".to_owned(), share, watched(theirs));
        for _ in 0..20 {
            let (target, rule) = ("a.example".to_owned(), "a.example".to_owned());
            record.take(EventKind::TcpAllowed { target, port: 443, rule, way: Route::Socks });
        }
        assert_eq!(told(&ours), expected, "share {share}");
        assert_eq!(record.account().counters.tcp_allowed, 20);
    }
}

/// K108, K200, K220: a denial is an event with its target, port and reason, and is counted.
#[tokio::test]
async fn a_denial_is_told_and_counted() {
    let (ours, theirs) = Channel::pair().unwrap();
    let record = Record::new("id".to_owned(), 0.0, watched(theirs));
    record.take(denied("b.example", 25, Route::HttpConnect));
    record.take(denied("b.example", 25, Route::Socks));
    let (hostname, reason) = ("c.example".to_owned(), "no entry allows it".to_owned());
    record.take(EventKind::DnsDenied {
        hostname,
        rule: None,
        code: "not_allowed".to_owned(),
        reason,
    });
    let (report, _) = ours.receive::<CageReport>(Waiting::Refused).unwrap().unwrap();
    let CageReport::Event(event) = report else { panic!("{report:?}") };
    assert_eq!(event.invocation_id, "id");
    assert_eq!(event.kind, denied("b.example", 25, Route::HttpConnect));
    let account = record.account();
    assert_eq!((account.counters.tcp_denied, account.counters.dns_denied), (2, 1));
    let first = account.denials.first().unwrap();
    assert_eq!((first.target.as_str(), first.port, first.count), ("b.example", Some(25), 2));
}

/// Whatever a cage does, its record stays small, and nobody has to read its events.
#[tokio::test]
async fn a_flood_is_counted_and_not_kept() {
    let (ours, theirs) = Channel::pair().unwrap();
    let record = Record::new("id".to_owned(), 0.0, watched(theirs));
    for number in 0..10_000 {
        record.take(denied(&format!("{number}.example"), 443, Route::Socks));
    }
    let account = record.account();
    assert_eq!(account.counters.tcp_denied, 10_000);
    assert_eq!(account.denials.len(), limits::DENIED_TARGETS);
    assert_eq!(account.unlisted_denials, 10_000 - limits::DENIED_TARGETS as u64);
    let told = told(&ours) as u64;
    assert!(told <= 2 * u64::from(limits::EVENTS_PER_SECOND), "{told}");
    assert_eq!(account.events_lost, 10_000 - told);
}

/// K201: told once, however many questions fail.
#[tokio::test]
async fn an_unreachable_upstream_is_told_once() {
    let (ours, theirs) = Channel::pair().unwrap();
    let record = Record::new("id".to_owned(), 0.0, watched(theirs));
    for _ in 0..50 {
        record.take(EventKind::UpstreamUnreachable { error: "timed out".to_owned() });
    }
    assert_eq!(told(&ours), 1);
}
