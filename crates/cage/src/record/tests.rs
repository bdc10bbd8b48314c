//! What the record says about ends.

use std::time::Duration;

use audit::{Event, Limit, Reason};
use jail::End;
use limits::Usage;
use plan::LimitsPlan;

use super::{EndFacts, network};
use crate::outcome::{DeniedCall, EndReason};

fn facts(reason: EndReason) -> EndFacts<'static> {
    EndFacts {
        invocation_id: "01TEST",
        end: End::Signalled(libc::SIGKILL),
        reason,
        duration: Duration::from_millis(1500),
        limits: LimitsPlan { walltime_sec: Some(1), ..LimitsPlan::default() },
        usage: None,
        denials: &[],
        network: None,
    }
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
        let events = facts(why).events();
        let Some(Event::SubagentExit { exit_code, signal, reason, duration_ms, .. }) =
            events.last()
        else {
            panic!("{events:?}");
        };
        assert_eq!((*exit_code, *signal, *duration_ms), (137, Some(9), 1500));
        assert_eq!(*reason, recorded);
        let has_killed = matches!(events.as_slice(), [Event::SubagentKilled { .. }, _]);
        assert_eq!(has_killed, killed, "{events:?}");
    }
}

/// K204
#[test]
fn each_limit_that_was_met_is_recorded() {
    let usage = Usage { memory_limit_met: true, oom_kills: 2, pids_refused: 7, ..Usage::default() };
    let denials = [DeniedCall { name: "ptrace".to_owned(), count: 3, killed: false }];
    let limits = LimitsPlan {
        memory_mb: Some(64),
        pids: Some(9),
        walltime_sec: Some(1),
        ..LimitsPlan::default()
    };
    let facts = EndFacts {
        usage: Some(&usage),
        denials: &denials,
        limits,
        ..facts(EndReason::WalltimeExceeded)
    };
    let violated: Vec<(Limit, u64)> = facts
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::PolicyViolation { limit, count, .. } => Some((*limit, *count)),
            _ => None,
        })
        .collect();
    let expected =
        [(Limit::Memory, 2), (Limit::Pids, 7), (Limit::Walltime, 1), (Limit::Seccomp, 3)];
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
    let Event::GatekeeperDnsDenied { invocation_id, hostname, .. } = network("01TEST", &told)
    else {
        panic!("another event");
    };
    assert_eq!((invocation_id.as_str(), hostname.as_str()), ("01TEST", "evil\\x0a\\u{202e}"));
}
