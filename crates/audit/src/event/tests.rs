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
            reduced_isolation: Some(worst()),
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

/// Every event comes back from its record.
#[test]
fn events_come_back() {
    for event in samples() {
        let mut line = Vec::new();
        write(&mut line, 5, Timestamp::now(), Hash::NONE, &event).unwrap();
        let record = crate::Record::parse(line.trim_ascii_end()).unwrap();
        assert_eq!(record.event().as_ref(), Some(&event));
        assert_eq!(record.name.starts_with("log."), event.is_of_log());
    }
}

/// One event of each kind.
pub(crate) fn samples() -> Vec<Event> {
    let invocation_id = || Name::from("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    let name = |text: &str| Name::from(text);
    let text = |text: &str| Text::from(text);
    let address = || "192.0.2.1".parse().unwrap();
    vec![
        Event::SubagentIntent {
            invocation_id: invocation_id(),
            project_id: text("/srv/app"),
            session_id: None,
            subagent_name: Some(name("helper")),
            cage: Some(name("default")),
            effective_cage_hash: Some(name("00")),
            argv0: text("sh"),
            caged: true,
        },
        Event::SubagentSpawn {
            invocation_id: invocation_id(),
            project_id: text("/srv/app"),
            session_id: Some(name("s")),
            subagent_name: None,
            cage: name("default"),
            cage_summary: "cage[default@01ARZ3ND] fs=none".into(),
            effective_cage_hash: name("00"),
            pid: 7,
            reduced_isolation: Some(text("the relaxed profile lets a program trace others")),
        },
        Event::SubagentSpawnUncaged {
            invocation_id: invocation_id(),
            project_id: text("/srv/app"),
            session_id: None,
            subagent_name: None,
            reason: UncagedReason::DslDisabled,
            pid: 7,
        },
        Event::SubagentSpawnLimitsSkipped { invocation_id: invocation_id(), reason: text("none") },
        Event::SubagentSpawnFailed {
            invocation_id: invocation_id(),
            error_code: name("not_found"),
            details: text("`nothing` is not in the cage"),
        },
        Event::SubagentExit {
            invocation_id: invocation_id(),
            exit_code: 137,
            signal: Some(9),
            reason: Reason::Oom,
            duration_ms: 12,
            usage: Usage { memory_peak: Some(1), oom_kills: Some(1), ..Usage::default() },
        },
        Event::SubagentKilled { invocation_id: invocation_id(), reason: Reason::Cancelled },
        Event::QuarantineFinding {
            invocation_id: invocation_id(),
            path: text("/project/.envrc"),
            moved_to: Some(text("/project/.envrc.quarantined-01")),
            details: text("`.envrc` appeared during the run"),
        },
        Event::QuarantineDecided {
            invocation_id: invocation_id(),
            path: text("/project/.envrc"),
            moved_to: text("/project/.envrc.quarantined-01"),
            decision: "restored".into(),
        },
        Event::GatekeeperDnsAllowed {
            invocation_id: invocation_id(),
            hostname: text("example.com"),
            resolved_ip: address(),
        },
        Event::GatekeeperDnsDenied {
            invocation_id: invocation_id(),
            hostname: text("example.org"),
            rule: None,
            code: name("not_allowed"),
            reason: text("no entry allows it"),
        },
        Event::GatekeeperTcpAllowed {
            invocation_id: invocation_id(),
            target: text("example.com"),
            port: 443,
            rule: text("example.com:443"),
            way: name("socks"),
        },
        Event::GatekeeperTcpDenied {
            invocation_id: invocation_id(),
            target: text("192.0.2.1"),
            port: 22,
            rule: Some(text("192.0.2.0/24")),
            code: name("denied"),
            reason: text("an entry denies it"),
            way: name("transparent"),
        },
        Event::GatekeeperUdpDenied {
            invocation_id: invocation_id(),
            target: "2001:db8::1".parse().unwrap(),
            port: 9,
        },
        Event::GatekeeperUpstreamUnreachable { invocation_id: invocation_id(), error: text("x") },
        Event::GatekeeperAccount {
            invocation_id: invocation_id(),
            dns_allowed: 1,
            dns_denied: 2,
            tcp_allowed: 3,
            tcp_denied: 4,
            udp_denied: 5,
            bytes_in: 6,
            bytes_out: 7,
            events_lost: 8,
        },
        Event::GatekeeperLost { details: text("killed by signal 9"), cages: 3 },
        Event::SandboxMountLost {
            invocation_id: invocation_id(),
            at: text("/mnt/data"),
            reason: text("the process that served it has ended"),
        },
        Event::SandboxCage {
            effective_cage_hash: name("00"),
            part: 1,
            parts: 1,
            entries: vec![text("read-only /usr"), text("allow example.com:443")],
        },
        Event::SandboxCompileError {
            invocation_id: invocation_id(),
            error_code: name("path_missing"),
            details: text("`/none` does not exist"),
        },
        Event::SandboxLimitsNotEnforced { reason: text("no delegated group") },
        Event::PolicyViolation {
            invocation_id: invocation_id(),
            limit: Limit::Seccomp,
            value: LimitValue::Name(name("ptrace")),
            count: 2,
        },
        Event::PolicyViolation {
            invocation_id: invocation_id(),
            limit: Limit::Memory,
            value: LimitValue::Number(1 << 26),
            count: 1,
        },
        Event::PolicyAllowed { path: text("/srv/app/stockade.toml"), sha256: name("00") },
        Event::PolicyDenied { path: text("/srv/app/stockade.toml") },
        Event::GrantGiven {
            executor: name("post"),
            capability: name("mail:send"),
            target: text(""),
            answer: name("once"),
        },
        Event::GrantRefused {
            executor: name("post"),
            capability: name("mail:send"),
            target: text(""),
        },
        Event::GrantRevoked {
            executor: name("runner"),
            capability: name("code:exec"),
            target: text(""),
        },
        Event::WorkspaceChanged {
            invocation_id: invocation_id(),
            session_id: name("s"),
            path: text("/srv/app"),
            added: 1,
            changed: 2,
            renamed: 0,
            deleted: 3,
            refused: 0,
            problem: None,
        },
        Event::ModelCall {
            invocation_id: invocation_id(),
            call: 1,
            model: text("m"),
            bytes: 7,
            sha256: name("00"),
        },
        Event::ModelAnswer {
            invocation_id: invocation_id(),
            call: 1,
            failure: None,
            bytes: 7,
            sha256: name("00"),
            tokens_in: 5,
            tokens_out: 6,
            cost_micros: 9,
        },
        Event::AgentSpawn {
            invocation_id: invocation_id(),
            parent_id: invocation_id(),
            depth: 1,
            tools: "read,list".into(),
            grants: "rw:/home/me/project".into(),
            sha256: name("00"),
        },
        Event::AgentExit {
            invocation_id: invocation_id(),
            outcome: name("finished"),
            steps: 3,
            tokens_in: 10,
            tokens_out: 20,
        },
        Event::ToolCall {
            invocation_id: invocation_id(),
            call: 1,
            within: 0,
            tool: name("read"),
            bytes: 7,
            sha256: name("00"),
        },
        Event::ToolResult {
            invocation_id: invocation_id(),
            call: 1,
            failed: false,
            bytes: 7,
            sha256: name("00"),
        },
        Event::SessionBegun { session_id: name("s"), project_id: text("/srv/app") },
        Event::SessionEnded { session_id: name("s"), killed: 0 },
        Event::WorkspaceIntent {
            session_id: name("s"),
            path: text("/srv/app"),
            action: name("apply"),
            count: 2,
            paths: LongText::of(b"a\0b\nc\0"),
        },
        Event::WorkspaceOutcome {
            session_id: name("s"),
            path: text("/srv/app"),
            action: name("apply"),
            outcome: name("done"),
            done: 1,
            merged: 1,
            conflicts: 0,
            held: 0,
            details: text(""),
        },
        Event::Sweep { what: name("cgroup"), subject: text("/x"), invocation_id: None },
        Event::DaemonStarted {
            pid: 7,
            version: name("0.1.0"),
            mode: DaemonMode::User,
            sandbox: true,
        },
        Event::DaemonStopped { pid: 7, reason: text("SIGTERM"), killed: 1 },
        Event::LogBegun { public_key: name("00") },
        Event::LogContinued { after: name("000001.jsonl"), public_key: name("00") },
        Event::LogCheckpoint { public_key: name("00"), signature: name("00") },
        Event::LogRotated {
            next: name("000002.jsonl"),
            public_key: name("00"),
            signature: name("00"),
        },
        Event::LogRecovered {
            offset: 1,
            bytes: 2,
            sha256: name("00"),
            public_key: name("00"),
            signature: name("00"),
        },
        Event::LogPruned {
            last_file: name("000002.jsonl"),
            first_seq: 1,
            last_seq: 2,
            last_hash: name("00"),
            first_time: name("2026-01-31T10:20:30.123456Z"),
            last_time: name("2026-01-31T10:20:30.123456Z"),
            bytes: 3,
            rule: name("keep-days 30"),
            public_key: name("00"),
            signature: name("00"),
        },
    ]
}
