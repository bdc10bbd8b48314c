//! Events: every one fits into a record, whatever its texts are.

use super::*;
use crate::Timestamp;
use crate::hash::Hash;
use crate::line::{LONGEST_LINE, write};

/// Bytes that take the most room for each character of a text.
fn worst<const LIMIT: usize>() -> crate::Bounded<LIMIT> {
    crate::Bounded::of(&b"\\".repeat(10 * LIMIT))
}

/// T29
#[test]
fn the_longest_events_fit_into_a_record() {
    let events = [
        Event::SubagentSpawn {
            invocation_id: worst(),
            project_id: worst(),
            session_id: Some(worst()),
            subagent_name: Some(worst()),
            cage: worst(),
            cage_summary: worst(),
            effective_cage_hash: worst(),
            pid: u32::MAX,
        },
        Event::GatekeeperTcpDenied {
            invocation_id: worst(),
            target: worst(),
            port: u16::MAX,
            rule: Some(worst()),
            code: worst(),
            reason: worst(),
            way: worst(),
        },
    ];
    for event in events {
        let mut line = Vec::new();
        write(&mut line, u64::MAX, Timestamp::now(), Hash::NONE, &event).unwrap();
        assert!(line.len() <= LONGEST_LINE);
        assert!(line.is_ascii());
    }
}

/// K195, K196
#[test]
fn reasons_have_stable_words() {
    for (reason, word) in [
        (Reason::Exited, "exited"),
        (Reason::Signalled, "signalled"),
        (Reason::WalltimeExceeded, "walltime_exceeded"),
        (Reason::Oom, "oom"),
        (Reason::Seccomp, "seccomp"),
        (Reason::SessionEnded, "session_ended"),
        (Reason::Cancelled, "cancelled"),
        (Reason::SupervisorLost, "supervisor_lost"),
    ] {
        assert_eq!(serde_json::to_value(reason).unwrap(), word);
    }
}
