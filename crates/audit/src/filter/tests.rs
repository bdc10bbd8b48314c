//! Filters, and what belongs to a cage that does not name it.

use super::*;
use crate::{Event, Log, Reader};

fn names(filter: Filter) -> Vec<String> {
    let parent = tempfile::tempdir().unwrap();
    let log = Log::open(parent.path()).unwrap();
    for (id, cage, session) in [("01AA", "build", "one"), ("01AB", "test", "two")] {
        log.append(&Event::SubagentIntent {
            invocation_id: id.into(),
            project_id: "/srv".into(),
            session_id: Some(session.into()),
            subagent_name: None,
            cage: Some(cage.into()),
            effective_cage_hash: None,
            argv0: "sh".into(),
            caged: true,
        })
        .unwrap();
    }
    for id in ["01AB", "01AA"] {
        let (target, port) = ("192.0.2.1".parse().unwrap(), 9);
        log.append(&Event::GatekeeperUdpDenied { invocation_id: id.into(), target, port }).unwrap();
        log.append(&Event::SubagentKilled { invocation_id: id.into(), reason: crate::Reason::Oom })
            .unwrap();
    }
    log.append(&Event::SessionEnded { session_id: "one".into(), killed: 0 }).unwrap();
    let reader = Reader::open(parent.path()).unwrap();
    reader
        .records(filter)
        .map(|record| record.unwrap())
        .map(|record| format!("{} {}", record.text("invocation_id").unwrap_or("-"), record.name))
        .collect()
}

/// What a program has left is recorded after its end.
#[test]
fn what_follows_an_end_belongs_to_the_cage() {
    let parent = tempfile::tempdir().unwrap();
    let log = Log::open(parent.path()).unwrap();
    let of_start = |event: &Event| {
        let value = serde_json::to_value(event).unwrap();
        value["invocation_id"].is_string()
    };
    let mut expected = 0;
    for event in crate::event::samples().into_iter().filter(of_start) {
        if matches!(event, Event::SubagentIntent { .. }) || expected > 0 {
            log.append(&event).unwrap();
            expected += 1;
        }
    }
    let filter = Filter { cage: Some("default".to_owned()), ..Filter::default() };
    let reader = Reader::open(parent.path()).unwrap();
    let names: Vec<String> = reader.records(filter).map(|record| record.unwrap().name).collect();
    assert!(names.contains(&"quarantine.finding".to_owned()), "{names:?}");
    assert_eq!(names.len(), expected);
}

#[test]
fn each_filter_holds() {
    let asked = |text: &str| Some(text.to_owned());
    let of = |cage: Option<&str>,
              invocation: Option<&str>,
              session: Option<&str>,
              event: Option<&str>| {
        let text = |value: Option<&str>| value.map(str::to_owned);
        names(Filter {
            cage: text(cage),
            invocation: text(invocation),
            session: text(session),
            event: text(event),
            ..Filter::default()
        })
    };
    assert_eq!(names(Filter::default()).len(), 8);
    let first = ["01AA subagent.intent", "01AA gatekeeper.udp_denied", "01AA subagent.killed"];
    assert_eq!(of(Some("build"), None, None, None), first);
    assert_eq!(of(None, Some("01aa"), None, None), first);
    assert_eq!(of(None, Some("01a"), None, None).len(), 6);
    assert_eq!(of(None, None, Some("one"), None), [&first[..], &["- session.ended"]].concat());
    assert_eq!(of(None, None, None, Some("gatekeeper")).len(), 2);
    assert_eq!(of(None, None, None, Some("gatekeeper.udp_denied")).len(), 2);
    assert_eq!(of(None, None, None, Some("gate")).len(), 0);
    assert_eq!(of(Some("test"), None, None, Some("subagent")).len(), 2);
    assert_eq!(of(Some("other"), None, None, None).len(), 0);
    let future = Timestamp::parse("2999-01-01");
    assert_eq!(names(Filter { since: future, ..Filter::default() }).len(), 0);
    assert_eq!(names(Filter { until: future, ..Filter::default() }).len(), 8);
    assert_eq!(names(Filter { event: asked("log"), ..Filter::default() }), ["- log.begun"]);
}
