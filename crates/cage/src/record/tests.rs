//! What the record says about ends.

use std::time::Duration;

use audit::{Event, Limit, Reason};
use jail::End;
use limits::Usage;
use plan::LimitsPlan;

use std::sync::Arc;

use super::{Labels, Recorder, network};
use crate::outcome::{DeniedCall, EndReason, Ended};

fn recorder() -> (tempfile::TempDir, Recorder) {
    let parent = tempfile::tempdir().unwrap();
    let log = audit::Log::open(&parent.path().join("audit")).unwrap();
    (parent, Recorder::new(Arc::new(log), "01TEST", Labels::default()))
}

fn ended(reason: EndReason) -> Ended {
    Ended {
        end: End::Signalled(libc::SIGKILL),
        reason,
        duration: Duration::from_millis(1500),
        layers: None,
        denials: Vec::new(),
        observations: Default::default(),
        network: None,
        usage: None,
        workspaces: Vec::new(),
        findings: aftermath::Findings::default(),
        unrecorded: None,
    }
}

fn one_second() -> LimitsPlan {
    LimitsPlan { walltime_sec: Some(1), ..LimitsPlan::default() }
}

/// K195, K196: whoever ended by itself was not killed.
#[test]
fn an_end_is_recorded_with_its_reason() {
    for (why, recorded, killed) in [
        (EndReason::Exited, Reason::Exited, false),
        (EndReason::Signalled, Reason::Signalled, false),
        (EndReason::Seccomp, Reason::Seccomp, true),
        (EndReason::Oom, Reason::Oom, true),
        (EndReason::SessionEnded, Reason::SessionEnded, true),
        (EndReason::Cancelled, Reason::Cancelled, true),
        (EndReason::SupervisorLost, Reason::SupervisorLost, true),
    ] {
        let (_log, recorder) = recorder();
        let Event::SubagentExit { exit_code, signal, reason, duration_ms, .. } =
            recorder.exit(&ended(why))
        else {
            panic!("another event");
        };
        assert_eq!((exit_code, signal, duration_ms), (137, Some(9), 1500));
        assert_eq!(reason, recorded);
        let events = recorder.before_end(&ended(why), &one_second());
        let has_killed = matches!(events.as_slice(), [Event::SubagentKilled { .. }]);
        assert_eq!(has_killed, killed, "{events:?}");
    }
}

/// K204
#[test]
fn each_limit_that_was_met_is_recorded() {
    let usage = Usage { memory_limit_met: true, oom_kills: 2, pids_refused: 7, ..Usage::default() };
    let denials = vec![DeniedCall { name: "ptrace".to_owned(), count: 3, killed: false }];
    let limits = LimitsPlan {
        memory_mb: Some(64),
        pids: Some(9),
        walltime_sec: Some(1),
        ..LimitsPlan::default()
    };
    let ended = Ended { usage: Some(usage), denials, ..ended(EndReason::WalltimeExceeded) };
    let (_log, recorder) = recorder();
    let violated: Vec<(Limit, u64)> = recorder
        .before_end(&ended, &limits)
        .iter()
        .filter_map(|event| match event {
            Event::PolicyViolation { limit, count, .. } => Some((*limit, *count)),
            _ => None,
        })
        .collect();
    let expected =
        [(Limit::Walltime, 1), (Limit::Memory, 2), (Limit::Pids, 7), (Limit::Seccomp, 3)];
    assert_eq!(violated, expected);
}

/// A gatekeeper cannot speak for another cage, nor write what is not text.
#[test]
fn what_a_gatekeeper_says_is_of_its_own_cage() {
    let told = gate::event::EventKind::DnsDenied {
        hostname: "evil\n\u{202e}".to_owned(),
        rule: None,
        code: "not_allowed".to_owned(),
        reason: "no rule allows it".to_owned(),
    };
    let Event::GatekeeperDnsDenied { invocation_id, hostname, .. } =
        network::event("01TEST".into(), told)
    else {
        panic!("another event");
    };
    assert_eq!((invocation_id.as_str(), hostname.as_str()), ("01TEST", "evil\\x0a\\u{202e}"));
}

/// T29: however much a program has refused to it, the record stays small.
#[test]
fn a_program_causes_a_bounded_number_of_records() {
    let (log, recorder) = recorder();
    let denied = || gate::event::EventKind::UdpDenied { target: [10, 0, 0, 1].into(), port: 9 };
    for _ in 0..super::MOST_NETWORK_RECORDS + 50 {
        recorder.network(denied()).unwrap();
    }
    let denials: Vec<DeniedCall> = (0..500)
        .map(|number| DeniedCall { name: format!("call {number}"), count: 1, killed: false })
        .collect();
    recorder.ended(&Ended { denials, ..ended(EndReason::Exited) }, &one_second()).unwrap();
    let reader = audit::Reader::open(&log.path().join("audit")).unwrap();
    let names: Vec<String> =
        reader.records(audit::Filter::default()).map(|record| record.unwrap().name).collect();
    let count = |name: &str| names.iter().filter(|event| *event == name).count();
    let most = usize::try_from(super::MOST_NETWORK_RECORDS).unwrap();
    assert_eq!(count("gatekeeper.udp_denied"), most);
    assert_eq!(count("policy.violation"), super::MOST_DENIALS);
}
