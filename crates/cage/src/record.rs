//! What the record says about a program: events, made of what is known about it. Appends nothing and
//! decides nothing; whoever watches over the program does.

use audit::{Event, Limit, LimitValue, Name, Reason, Text, UncagedReason};
use gate::event::{EventKind, Way};
use jail::End;
use limits::{Degradation, Usage};
use plan::{LimitsPlan, Plan, PlanHash};
use rustix::process::Pid;
use std::time::Duration;

use crate::gatekeeper::NetworkOutcome;
use crate::outcome::{DeniedCall, EndReason};

#[cfg(test)]
mod tests;

/// Whom a program is for, in words of the caller's that the record repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The project.
    pub project_id: String,
    /// The session, if it belongs to one.
    pub session_id: Option<String>,
    /// The agent of the policy file, if one was named.
    pub subagent_name: Option<String>,
}

/// A program that is about to be started, as the record names it.
#[derive(Clone, Debug)]
pub struct Start {
    invocation_id: Name,
    project_id: Text,
    session_id: Option<Name>,
    subagent_name: Option<Name>,
    argv0: Text,
    caged: Option<Caged>,
}

#[derive(Clone, Debug)]
struct Caged {
    cage: Name,
    hash: PlanHash,
    summary: audit::LongText,
}

impl Start {
    /// A program in a cage. Hashes the Plan, once for all events.
    pub fn caged(plan: &Plan, labels: &Labels) -> Self {
        let argv0 = plan.argv.first().map(|word| Text::of(word.as_bytes()));
        let caged = Caged {
            cage: Name::from(&plan.cage),
            hash: plan.hash(),
            summary: (&plan.summary.line).into(),
        };
        let argv0 = argv0.unwrap_or_else(|| Text::of(b""));
        Self { caged: Some(caged), ..Self::uncaged(&plan.invocation, argv0, labels) }
    }

    /// A program without a cage.
    pub fn uncaged(invocation_id: &str, argv0: impl Into<Text>, labels: &Labels) -> Self {
        let Labels { project_id, session_id, subagent_name } = labels;
        Self {
            invocation_id: invocation_id.into(),
            project_id: project_id.into(),
            session_id: session_id.as_ref().map(Name::from),
            subagent_name: subagent_name.as_ref().map(Name::from),
            argv0: argv0.into(),
            caged: None,
        }
    }

    /// It is about to be started. Durable before its first instruction. K170
    pub fn intent(&self) -> Event {
        let caged = self.caged.as_ref();
        Event::SubagentIntent {
            invocation_id: self.invocation_id.clone(),
            project_id: self.project_id.clone(),
            session_id: self.session_id.clone(),
            subagent_name: self.subagent_name.clone(),
            cage: caged.map(|caged| caged.cage.clone()),
            effective_cage_hash: caged.map(|caged| caged.hash.as_str().into()),
            argv0: self.argv0.clone(),
            caged: caged.is_some(),
        }
    }

    /// It runs. `reason` is for a program without a cage. K193, K194
    pub fn spawned(&self, pid: Pid, reason: UncagedReason) -> Event {
        let pid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or_default();
        let invocation_id = self.invocation_id.clone();
        let project_id = self.project_id.clone();
        let (session_id, subagent_name) = (self.session_id.clone(), self.subagent_name.clone());
        match &self.caged {
            Some(Caged { cage, hash, summary }) => Event::SubagentSpawn {
                invocation_id,
                project_id,
                session_id,
                subagent_name,
                cage: cage.clone(),
                cage_summary: summary.clone(),
                effective_cage_hash: hash.as_str().into(),
                pid,
            },
            None => Event::SubagentSpawnUncaged {
                invocation_id,
                project_id,
                session_id,
                subagent_name,
                reason,
                pid,
            },
        }
    }

    /// It was not started after all.
    pub fn failed(&self, error_code: &str, error: &dyn std::error::Error) -> Event {
        Event::SubagentSpawnFailed {
            invocation_id: self.invocation_id.clone(),
            error_code: error_code.into(),
            details: with_causes(error).into(),
        }
    }

    /// It is started without limits that its policy asks for. K205
    pub fn limits_skipped(&self, degradation: &Degradation) -> Event {
        Event::SubagentSpawnLimitsSkipped {
            invocation_id: self.invocation_id.clone(),
            reason: (&degradation.reason).into(),
        }
    }
}

/// What is known about the end of a program.
#[derive(Clone, Copy, Debug)]
pub struct EndFacts<'a> {
    /// The start.
    pub invocation_id: &'a str,
    /// How the program ended.
    pub end: End,
    /// Why.
    pub reason: EndReason,
    /// From its first instruction to its end.
    pub duration: Duration,
    /// What it was held to.
    pub limits: LimitsPlan,
    /// What it has used, if that was counted.
    pub usage: Option<&'a Usage>,
    /// System calls that were refused.
    pub denials: &'a [DeniedCall],
    /// What became of its network, if it had one.
    pub network: Option<&'a NetworkOutcome>,
}

impl EndFacts<'_> {
    /// Everything that is recorded about the end, in order; the end itself comes last. K178, K195,
    /// K196, K204
    pub fn events(&self) -> Vec<Event> {
        let mut events = self.violations();
        let reason = reason(self.reason);
        if !matches!(reason, Reason::Exited | Reason::Signalled) {
            events.push(Event::SubagentKilled { invocation_id: self.invocation_id.into(), reason });
        }
        events.extend(self.network.map(|network| self.account(network)));
        let (exit_code, signal) = match self.end {
            End::Exited(status) => (status, None),
            End::Signalled(signal) => (signal.saturating_add(SIGNAL_BASE), Some(signal)),
        };
        events.push(Event::SubagentExit {
            invocation_id: self.invocation_id.into(),
            exit_code,
            signal,
            reason,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            usage: self.usage.map(recorded_usage).unwrap_or_default(),
        });
        events
    }

    fn violations(&self) -> Vec<Event> {
        let violation = |limit, value, count| Event::PolicyViolation {
            invocation_id: self.invocation_id.into(),
            limit,
            value,
            count,
        };
        let number = LimitValue::Number;
        let mut events = Vec::new();
        if let (Some(usage), Some(limit)) = (self.usage, self.limits.memory_mb)
            && usage.is_out_of_memory()
        {
            let bytes = limit.saturating_mul(MEBIBYTE);
            events.push(violation(Limit::Memory, number(bytes), usage.oom_kills));
        }
        if let (Some(usage), Some(limit)) = (self.usage, self.limits.pids)
            && usage.pids_refused > 0
        {
            events.push(violation(Limit::Pids, number(limit.into()), usage.pids_refused));
        }
        if let (EndReason::WalltimeExceeded, Some(limit)) = (self.reason, self.limits.walltime_sec)
        {
            events.push(violation(Limit::Walltime, number(limit), 1));
        }
        for denied in self.denials.iter().take(MOST_CALLS) {
            let name = LimitValue::Name((&denied.name).into());
            events.push(violation(Limit::Seccomp, name, denied.count));
        }
        events
    }

    fn account(&self, network: &NetworkOutcome) -> Event {
        let account = &network.account;
        Event::GatekeeperAccount {
            invocation_id: self.invocation_id.into(),
            dns_allowed: account.counters.dns_allowed,
            dns_denied: account.counters.dns_denied,
            tcp_allowed: account.counters.tcp_allowed,
            tcp_denied: account.counters.tcp_denied,
            udp_denied: account.counters.udp_denied,
            bytes_in: account.counters.bytes_in,
            bytes_out: account.counters.bytes_out,
            events_lost: account.events_lost,
        }
    }
}

/// What a gatekeeper has told about the cage of a start. The start is the supervisor's word, not the
/// gatekeeper's. K197 to K201
pub fn network(invocation_id: &str, told: &EventKind) -> Event {
    let invocation_id = Name::from(invocation_id);
    match told.clone() {
        EventKind::DnsAllowed { hostname, resolved_ip } => {
            Event::GatekeeperDnsAllowed { invocation_id, hostname: hostname.into(), resolved_ip }
        }
        EventKind::DnsDenied { hostname, rule, code, reason } => Event::GatekeeperDnsDenied {
            invocation_id,
            hostname: hostname.into(),
            rule: rule.map(Text::from),
            code: code.into(),
            reason: reason.into(),
        },
        EventKind::TcpAllowed { target, port, rule, way } => Event::GatekeeperTcpAllowed {
            invocation_id,
            target: target.into(),
            port,
            rule: rule.into(),
            way: word(way).into(),
        },
        EventKind::TcpDenied { target, port, rule, code, reason, way } => {
            Event::GatekeeperTcpDenied {
                invocation_id,
                target: target.into(),
                port,
                rule: rule.map(Text::from),
                code: code.into(),
                reason: reason.into(),
                way: word(way).into(),
            }
        }
        EventKind::UdpDenied { target, port } => {
            Event::GatekeeperUdpDenied { invocation_id, target, port }
        }
        EventKind::UpstreamUnreachable { error } => {
            Event::GatekeeperUpstreamUnreachable { invocation_id, error: error.into() }
        }
    }
}

/// The record's word for why a program ended.
pub fn reason(reason: EndReason) -> Reason {
    match reason {
        EndReason::Exited => Reason::Exited,
        EndReason::Signalled => Reason::Signalled,
        EndReason::Seccomp => Reason::Seccomp,
        EndReason::WalltimeExceeded => Reason::WalltimeExceeded,
        EndReason::Oom => Reason::Oom,
        EndReason::SessionEnded => Reason::SessionEnded,
        EndReason::Cancelled => Reason::Cancelled,
        EndReason::SupervisorLost => Reason::SupervisorLost,
    }
}

fn recorded_usage(usage: &Usage) -> audit::Usage {
    let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    audit::Usage {
        memory_peak: usage.memory_peak,
        memory_limit: usage.memory_limit,
        oom_kills: Some(usage.oom_kills),
        pids_refused: Some(usage.pids_refused),
        cpu_us: usage.cpu.map(microseconds),
        throttled_us: Some(microseconds(usage.throttled)),
    }
}

fn word(way: Way) -> &'static str {
    match way {
        Way::Transparent => "transparent",
        Way::Socks => "socks",
        Way::HttpConnect => "http_connect",
        Way::HttpProxy => "http_proxy",
        Way::HostPort => "host_port",
    }
}

/// An error and its causes in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut text = error.to_string();
    for cause in causes {
        text.push_str(": ");
        text.push_str(&cause.to_string());
    }
    text
}

const SIGNAL_BASE: i32 = 128;
const MEBIBYTE: u64 = 1 << 20;

/// Most refused calls that have a record of their own.
const MOST_CALLS: usize = 32;
