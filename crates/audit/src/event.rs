//! Everything that is recorded, as one type. Names and fields are the schema of the log: a field is
//! never renamed, removed or given another meaning without another version.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::text::{LongText, Name, Text};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::samples;

/// Something that happened.
///
/// Built from what the supervisor knows; every text that somebody else chose goes through
/// [`Bounded`](crate::Bounded), so that it cannot be anything else in the log than a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", deny_unknown_fields)]
pub enum Event {
    /// A program is about to be started. Durable before it runs its first instruction.
    #[serde(rename = "subagent.intent")]
    SubagentIntent {
        /// The start.
        invocation_id: Name,
        /// The project.
        project_id: Text,
        /// The session, if it belongs to one.
        session_id: Option<Name>,
        /// The agent of the policy file, if one was named.
        subagent_name: Option<Name>,
        /// The cage's name; none outside of one.
        cage: Option<Name>,
        /// The hash of the compiled cage; none outside of one.
        effective_cage_hash: Option<Name>,
        /// The program as it was asked for.
        argv0: Text,
        /// Whether it is in a cage.
        caged: bool,
    },
    /// A program was started in a cage.
    #[serde(rename = "subagent.spawn")]
    SubagentSpawn {
        /// The start.
        invocation_id: Name,
        /// The project.
        project_id: Text,
        /// The session, if it belongs to one.
        session_id: Option<Name>,
        /// The agent of the policy file, if one was named.
        subagent_name: Option<Name>,
        /// The cage's name.
        cage: Name,
        /// What the cage shows, reaches and may use, in one line.
        cage_summary: LongText,
        /// The hash of the compiled cage.
        effective_cage_hash: Name,
        /// Its first process, as the host counts.
        pid: u32,
    },
    /// A program was started without a cage.
    #[serde(rename = "subagent.spawn.uncaged")]
    SubagentSpawnUncaged {
        /// The start.
        invocation_id: Name,
        /// The project.
        project_id: Text,
        /// The session, if it belongs to one.
        session_id: Option<Name>,
        /// The agent of the policy file, if one was named.
        subagent_name: Option<Name>,
        /// Who said so.
        reason: UncagedReason,
        /// Its process.
        pid: u32,
    },
    /// A cage was started without limits that its policy asks for, because that was allowed.
    #[serde(rename = "subagent.spawn.limits_skipped")]
    SubagentSpawnLimitsSkipped {
        /// The start.
        invocation_id: Name,
        /// Why they could not be had.
        reason: Text,
    },
    /// A program was not started after all.
    #[serde(rename = "subagent.spawn.failed")]
    SubagentSpawnFailed {
        /// The start.
        invocation_id: Name,
        /// What kind of failure, in its stable word.
        error_code: Name,
        /// What failed, in a sentence.
        details: Text,
    },
    /// A program has ended, and nothing of its cage is left.
    #[serde(rename = "subagent.exit")]
    SubagentExit {
        /// The start.
        invocation_id: Name,
        /// Its status, as a shell tells it: 128 and the signal for one that a signal ended.
        exit_code: i32,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Why it ended.
        reason: Reason,
        /// From its first instruction to its end.
        duration_ms: u64,
        /// What it used, as far as the kernel counted.
        usage: Usage,
    },
    /// A program was ended by somebody else.
    #[serde(rename = "subagent.killed")]
    SubagentKilled {
        /// The start.
        invocation_id: Name,
        /// Why.
        reason: Reason,
    },
    /// A name was answered.
    #[serde(rename = "gatekeeper.dns_allowed")]
    GatekeeperDnsAllowed {
        /// The start of the cage.
        invocation_id: Name,
        /// The name.
        hostname: Text,
        /// The first address that it stands for outside.
        resolved_ip: IpAddr,
    },
    /// A name was refused, and nobody was asked about it.
    #[serde(rename = "gatekeeper.dns_denied")]
    GatekeeperDnsDenied {
        /// The start of the cage.
        invocation_id: Name,
        /// The name.
        hostname: Text,
        /// The entry that refuses it, if it was one.
        rule: Option<Text>,
        /// What kind of refusal it is, in its stable word.
        code: Name,
        /// Why.
        reason: Text,
    },
    /// A connection was made.
    #[serde(rename = "gatekeeper.tcp_allowed")]
    GatekeeperTcpAllowed {
        /// The start of the cage.
        invocation_id: Name,
        /// The name or address.
        target: Text,
        /// The port.
        port: u16,
        /// The entry that allows it.
        rule: Text,
        /// How it came.
        way: Name,
    },
    /// A connection was refused.
    #[serde(rename = "gatekeeper.tcp_denied")]
    GatekeeperTcpDenied {
        /// The start of the cage.
        invocation_id: Name,
        /// The name or address.
        target: Text,
        /// The port.
        port: u16,
        /// The entry that refuses it, if it was one.
        rule: Option<Text>,
        /// What kind of refusal it is, in its stable word.
        code: Name,
        /// Why.
        reason: Text,
        /// How it came.
        way: Name,
    },
    /// A datagram was refused.
    #[serde(rename = "gatekeeper.udp_denied")]
    GatekeeperUdpDenied {
        /// The start of the cage.
        invocation_id: Name,
        /// The address.
        target: IpAddr,
        /// The port.
        port: u16,
    },
    /// No resolver answered.
    #[serde(rename = "gatekeeper.upstream_unreachable")]
    GatekeeperUpstreamUnreachable {
        /// The start of the cage.
        invocation_id: Name,
        /// What was tried and what came of it.
        error: Text,
    },
    /// The network of a cage was taken down: what went through it, and what did not.
    #[serde(rename = "gatekeeper.account")]
    GatekeeperAccount {
        /// The start of the cage.
        invocation_id: Name,
        /// Names answered.
        dns_allowed: u64,
        /// Names refused.
        dns_denied: u64,
        /// Connections made.
        tcp_allowed: u64,
        /// Connections refused.
        tcp_denied: u64,
        /// Datagrams refused.
        udp_denied: u64,
        /// Bytes that came to the cage.
        bytes_in: u64,
        /// Bytes that left it.
        bytes_out: u64,
        /// Events that have no record of their own, because there were too many.
        events_lost: u64,
    },
    /// The gatekeeper ended by itself: its cages have no network any more.
    #[serde(rename = "gatekeeper.lost")]
    GatekeeperLost {
        /// How it ended.
        details: Text,
        /// How many cages it served.
        cages: u64,
    },
    /// A policy could not be made into a cage.
    #[serde(rename = "sandbox.compile_error")]
    SandboxCompileError {
        /// The start.
        invocation_id: Name,
        /// What kind of error, in its stable word.
        error_code: Name,
        /// What is wrong, in a sentence.
        details: Text,
    },
    /// Limits cannot be enforced here. Told when a supervisor starts.
    #[serde(rename = "sandbox.limits_not_enforced")]
    SandboxLimitsNotEnforced {
        /// Why.
        reason: Text,
    },
    /// A program ran against a limit of its policy.
    #[serde(rename = "policy.violation")]
    PolicyViolation {
        /// The start.
        invocation_id: Name,
        /// Which.
        limit: Limit,
        /// The limit's value, in bytes, processes or seconds; for a system call its name.
        value: LimitValue,
        /// How often, as far as it was counted.
        count: u64,
    },
    /// A session began.
    #[serde(rename = "session.begun")]
    SessionBegun {
        /// The session.
        session_id: Name,
        /// The project.
        project_id: Text,
    },
    /// A session ended, and what it kept is gone.
    #[serde(rename = "session.ended")]
    SessionEnded {
        /// The session.
        session_id: Name,
        /// How many of its programs had to be ended.
        killed: u64,
    },
    /// Something that a dead supervisor left was removed.
    #[serde(rename = "sweep")]
    Sweep {
        /// What kind of thing, in its stable word.
        what: Name,
        /// Which one.
        subject: Text,
        /// The start that it belonged to, if it tells.
        invocation_id: Option<Name>,
    },
    /// A supervisor for many cages started.
    #[serde(rename = "daemon.started")]
    DaemonStarted {
        /// Its process.
        pid: u32,
        /// Its version.
        version: Name,
        /// Whether it serves one user or the system.
        mode: DaemonMode,
        /// Whether it may start programs only in cages.
        sandbox: bool,
    },
    /// It stopped.
    #[serde(rename = "daemon.stopped")]
    DaemonStopped {
        /// Its process.
        pid: u32,
        /// Why.
        reason: Text,
        /// How many programs had to be ended.
        killed: u64,
    },
    /// The log's first record.
    #[serde(rename = "log.begun")]
    LogBegun {
        /// The key that its checkpoints can be checked with.
        public_key: Name,
    },
    /// A file's first record, after the first file.
    #[serde(rename = "log.continued")]
    LogContinued {
        /// The file before it.
        after: Name,
        /// The key that its checkpoints can be checked with.
        public_key: Name,
    },
    /// A signed record: vouches for the one before it, and so for all.
    #[serde(rename = "log.checkpoint")]
    LogCheckpoint {
        /// The key.
        public_key: Name,
        /// Over this record's number and the hash of the one before it.
        signature: Name,
    },
    /// A file's last record: the log goes on in another one. Signed like a checkpoint.
    #[serde(rename = "log.rotated")]
    LogRotated {
        /// The file that follows.
        next: Name,
        /// The key.
        public_key: Name,
        /// Over this record's number and the hash of the one before it.
        signature: Name,
    },
    /// What a writer left that was cut short was found and set apart: the bytes right before this
    /// record. They were never durable. Signed like a checkpoint.
    #[serde(rename = "log.recovered")]
    LogRecovered {
        /// Where they begin in the file.
        offset: u64,
        /// How many they are.
        bytes: u64,
        /// Their SHA-256.
        sha256: Name,
        /// The key.
        public_key: Name,
        /// Over this record's number, the hash of the one before it, and what is set apart.
        signature: Name,
    },
}

impl Event {
    /// Whether only the log itself may record it.
    pub(crate) fn is_of_log(&self) -> bool {
        matches!(
            self,
            Self::LogBegun { .. }
                | Self::LogContinued { .. }
                | Self::LogCheckpoint { .. }
                | Self::LogRotated { .. }
                | Self::LogRecovered { .. }
        )
    }
}

/// Why a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// By itself.
    Exited,
    /// By a signal that nobody else here sent.
    Signalled,
    /// Its time was up.
    WalltimeExceeded,
    /// It used more memory than it may.
    Oom,
    /// It made a system call that kills.
    Seccomp,
    /// Its session was ended.
    SessionEnded,
    /// Somebody asked for it.
    Cancelled,
    /// Whoever watched over it died.
    SupervisorLost,
}

/// Who let a program run without a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UncagedReason {
    /// The policy says so.
    DslDisabled,
    /// The supervisor was started with `--no-sandbox`.
    DaemonNoSandbox,
}

/// What a program may run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes of memory.
    Memory,
    /// Processes and threads.
    Pids,
    /// Seconds of life.
    Walltime,
    /// System calls.
    Seccomp,
}

/// The value of a [`Limit`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LimitValue {
    /// A bound.
    Number(u64),
    /// A name.
    Name(Name),
}

/// Whom a supervisor serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DaemonMode {
    /// One user.
    User,
    /// The system.
    System,
}

/// What a program used. A field that nobody counted is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The most memory at once, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_peak: Option<u64>,
    /// How much it might have had, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// Processes that were killed for want of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
    /// Processes and threads that were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids_refused: Option<u64>,
    /// Processor time, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<u64>,
    /// How long it waited for the processor because it had used its share, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
}
