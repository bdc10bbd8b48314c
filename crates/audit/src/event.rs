//! Everything that is recorded, in one list. Names and fields are the schema of the log: a field is
//! never renamed, removed or given another meaning without another version. The comments are the
//! meanings that the schema and the manual state.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::text::{LongText, Name, Text};

mod agents;
mod values;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::samples;

pub(crate) use values::USAGE;
pub use values::{DaemonMode, Limit, LimitValue, Reason, UncagedReason, Usage};

agents::declare_events_with_agents! {
    /// a program is about to be started; durable before its first instruction
    "subagent.intent" SubagentIntent {
        /// the start
        invocation_id: Name,
        /// the project
        project_id: Text,
        /// the session, if it belongs to one
        session_id: Option<Name>,
        /// the agent of the policy file, if one was named
        subagent_name: Option<Name>,
        /// the cage's name; null outside of one
        cage: Option<Name>,
        /// the hash of the compiled cage; null outside of one
        effective_cage_hash: Option<Name>,
        /// the program as it was asked for
        argv0: Text,
        /// whether it is in a cage
        caged: bool,
    }
    /// a program was started in a cage
    "subagent.spawn" SubagentSpawn {
        /// the start
        invocation_id: Name,
        /// the project
        project_id: Text,
        /// the session, if it belongs to one
        session_id: Option<Name>,
        /// the agent of the policy file, if one was named
        subagent_name: Option<Name>,
        /// the cage's name
        cage: Name,
        /// what the cage shows, reaches and may use, in one line
        cage_summary: LongText,
        /// the hash of the compiled cage
        effective_cage_hash: Name,
        /// its first process, as the host counts
        pid: u32,
        /// what of its isolation is weaker than a cage's usually is; null if nothing
        reduced_isolation: Option<Text>,
    }
    /// a program was started without a cage
    "subagent.spawn.uncaged" SubagentSpawnUncaged {
        /// the start
        invocation_id: Name,
        /// the project
        project_id: Text,
        /// the session, if it belongs to one
        session_id: Option<Name>,
        /// the agent of the policy file, if one was named
        subagent_name: Option<Name>,
        /// who said so: the policy, or the supervisor's `--no-sandbox`
        reason: UncagedReason,
        /// its process
        pid: u32,
    }
    /// a cage was started without limits that its policy asks for, because that was allowed
    "subagent.spawn.limits_skipped" SubagentSpawnLimitsSkipped {
        /// the start
        invocation_id: Name,
        /// why
        reason: Text,
    }
    /// a program was not started after all
    "subagent.spawn.failed" SubagentSpawnFailed {
        /// the start
        invocation_id: Name,
        /// what kind of error, in its stable word
        error_code: Name,
        /// what is wrong, in a sentence
        details: Text,
    }
    /// a program has ended, and nothing of its cage is left
    "subagent.exit" SubagentExit {
        /// the start
        invocation_id: Name,
        /// its status, as a shell tells it
        exit_code: i32,
        /// the signal that ended it, if one did
        signal: Option<i32>,
        /// why it ended
        reason: Reason,
        /// from its first instruction to its end
        duration_ms: u64,
        /// what it used, as far as the kernel counted
        usage: Usage,
    }
    /// a program was ended by somebody else
    "subagent.killed" SubagentKilled {
        /// the start
        invocation_id: Name,
        /// why
        reason: Reason,
    }
    /// a program has left what would run code on the host
    "quarantine.finding" QuarantineFinding {
        /// the start
        invocation_id: Name,
        /// where it is, or was
        path: Text,
        /// where it is now, if it was renamed
        moved_to: Option<Text>,
        /// what it is and what was done, in a sentence
        details: Text,
    }
    /// the user has decided about what was set aside after a run
    "quarantine.decided" QuarantineDecided {
        /// the start that it came from
        invocation_id: Name,
        /// where it was, or is again
        path: Text,
        /// where it was set aside
        moved_to: Text,
        /// `restored` or `dropped`
        decision: Name,
    }
    /// a program has changed files in its view of a directory; the host's are as they were
    "workspace.changed" WorkspaceChanged {
        /// the start
        invocation_id: Name,
        /// the session that keeps the changes
        session_id: Name,
        /// the directory on the host
        path: Text,
        /// files and directories that the host has not
        added: u64,
        /// those that differ
        changed: u64,
        /// those that have another name
        renamed: u64,
        /// those that are gone
        deleted: u64,
        /// what can never be brought to the host
        refused: u64,
        /// why it is not known what was changed, if it is not
        problem: Option<Text>,
    }
    /// a name was answered
    "gatekeeper.dns_allowed" GatekeeperDnsAllowed {
        /// the start
        invocation_id: Name,
        /// the name
        hostname: Text,
        /// the first address that it stands for outside
        resolved_ip: IpAddr,
    }
    /// a name was refused, and nobody was asked about it
    "gatekeeper.dns_denied" GatekeeperDnsDenied {
        /// the start
        invocation_id: Name,
        /// the name
        hostname: Text,
        /// the entry that refuses it, if it was one
        rule: Option<Text>,
        /// what kind of refusal it is, in its stable word
        code: Name,
        /// why
        reason: Text,
    }
    /// a connection was made
    "gatekeeper.tcp_allowed" GatekeeperTcpAllowed {
        /// the start
        invocation_id: Name,
        /// the name or address
        target: Text,
        /// the port
        port: u16,
        /// the entry that allows it
        rule: Text,
        /// how it came
        way: Name,
    }
    /// a connection was refused
    "gatekeeper.tcp_denied" GatekeeperTcpDenied {
        /// the start
        invocation_id: Name,
        /// the name or address
        target: Text,
        /// the port
        port: u16,
        /// the entry that refuses it, if it was one
        rule: Option<Text>,
        /// what kind of refusal it is, in its stable word
        code: Name,
        /// why
        reason: Text,
        /// how it came
        way: Name,
    }
    /// a datagram was refused
    "gatekeeper.udp_denied" GatekeeperUdpDenied {
        /// the start
        invocation_id: Name,
        /// the address
        target: IpAddr,
        /// the port
        port: u16,
    }
    /// no resolver answered
    "gatekeeper.upstream_unreachable" GatekeeperUpstreamUnreachable {
        /// the start
        invocation_id: Name,
        /// what was tried and what came of it
        error: Text,
    }
    /// the network of a cage was taken down: what went through it, and what did not
    "gatekeeper.account" GatekeeperAccount {
        /// the start
        invocation_id: Name,
        /// names answered
        dns_allowed: u64,
        /// names refused
        dns_denied: u64,
        /// connections made
        tcp_allowed: u64,
        /// connections refused
        tcp_denied: u64,
        /// datagrams refused
        udp_denied: u64,
        /// bytes that came to the cage
        bytes_in: u64,
        /// bytes that left it
        bytes_out: u64,
        /// events without a record of their own, because there were too many
        events_lost: u64,
    }
    /// the gatekeeper ended by itself: its cages have no network any more
    "gatekeeper.lost" GatekeeperLost {
        /// how it ended
        details: Text,
        /// how many cages it served
        cages: u64,
    }
    /// a process that served a mount ended by itself: its files cannot be reached any more
    "sandbox.mount_lost" SandboxMountLost {
        /// the start
        invocation_id: Name,
        /// where the mount is in the cage
        at: Text,
        /// why, as far as it could say
        reason: Text,
    }
    /// what a cage shows and reaches; once for each hash in every file of the log
    "sandbox.cage" SandboxCage {
        /// the hash of the compiled cage
        effective_cage_hash: Name,
        /// which part of the list this is, from 1
        part: u64,
        /// how many parts there are
        parts: u64,
        /// its mounts in their order, then the destinations of its network
        entries: Vec<Text>,
    }
    /// a policy could not be made into a cage
    "sandbox.compile_error" SandboxCompileError {
        /// the start
        invocation_id: Name,
        /// what kind of error, in its stable word
        error_code: Name,
        /// what is wrong, in a sentence
        details: Text,
    }
    /// limits cannot be enforced here; recorded when a supervisor starts
    "sandbox.limits_not_enforced" SandboxLimitsNotEnforced {
        /// why
        reason: Text,
    }
    /// a program ran against a limit of its policy
    "policy.violation" PolicyViolation {
        /// the start
        invocation_id: Name,
        /// which
        limit: Limit,
        /// the limit, in bytes, processes or seconds; for a system call its name
        value: LimitValue,
        /// how often, as far as it was counted
        count: u64,
    }
    /// the text of a project's policy was approved
    "policy.allowed" PolicyAllowed {
        /// the file
        path: Text,
        /// the SHA-256 of its text
        sha256: Name,
    }
    /// an approval was taken back
    "policy.denied" PolicyDenied {
        /// the file
        path: Text,
    }
    /// somebody agreed that an executor has a capability, before it was started
    "grant.given" GrantGiven {
        /// the executor
        executor: Name,
        /// the capability
        capability: Name,
        /// what it is limited to; empty if nothing
        target: Text,
        /// `once`, `always` (and stored), or `stored` where an earlier answer holds
        answer: Name,
    }
    /// nobody agreed, and the executor was not started
    "grant.refused" GrantRefused {
        /// the executor
        executor: Name,
        /// the capability
        capability: Name,
        /// what it is limited to; empty if nothing
        target: Text,
    }
    /// an answer that was stored was taken back
    "grant.revoked" GrantRevoked {
        /// the executor
        executor: Name,
        /// the capability
        capability: Name,
        /// what it was limited to; empty if nothing
        target: Text,
    }
    /// a session began
    "session.begun" SessionBegun {
        /// the session
        session_id: Name,
        /// the project
        project_id: Text,
    }
    /// a session ended, and what it kept is gone
    "session.ended" SessionEnded {
        /// the session
        session_id: Name,
        /// how many of its programs had to be ended
        killed: u64,
    }
    /// changes that programs made in their view of a directory are about to be brought to the host, thrown away or
    /// taken back; durable before
    "workspace.intent" WorkspaceIntent {
        /// the session
        session_id: Name,
        /// the directory of the host
        path: Text,
        /// `apply`, `discard` or `undo`
        action: Name,
        /// how many paths are concerned; 0 for all or where it is not known before
        count: u64,
        /// the paths below the directory, each with a NUL after it
        paths: LongText,
    }
    /// what came of it
    "workspace.outcome" WorkspaceOutcome {
        /// the session
        session_id: Name,
        /// the directory of the host
        path: Text,
        /// `apply`, `discard` or `undo`; `recover` where an interrupted one was finished or taken back
        action: Name,
        /// `done` or `failed`
        outcome: Name,
        /// how many paths have what was asked for
        done: u64,
        /// in how many the changes of both sides were merged
        merged: u64,
        /// how many were left because the host was changed there since
        conflicts: u64,
        /// how many were left because their names run code and nobody confirmed them
        held: u64,
        /// why it failed; empty if it did not
        details: Text,
    }
    /// something that a dead supervisor left was removed
    "sweep" Sweep {
        /// what kind of thing, in its stable word
        what: Name,
        /// which one
        subject: Text,
        /// the start that it belonged to, if it tells
        invocation_id: Option<Name>,
    }
    /// a supervisor for many cages started
    "daemon.started" DaemonStarted {
        /// its process
        pid: u32,
        /// its version
        version: Name,
        /// whom it serves
        mode: DaemonMode,
        /// whether it may start programs only in cages
        sandbox: bool,
    }
    /// it stopped
    "daemon.stopped" DaemonStopped {
        /// its process
        pid: u32,
        /// why
        reason: Text,
        /// how many programs had to be ended
        killed: u64,
    }
    /// the log's first record
    "log.begun" LogBegun {
        /// the log's key, in hexadecimal digits
        public_key: Name,
    }
    /// the first record of every later file
    "log.continued" LogContinued {
        /// the file before it
        after: Name,
        /// the log's key, in hexadecimal digits
        public_key: Name,
    }
    /// every 1,024th record: vouches for the one before it, and so for all
    "log.checkpoint" LogCheckpoint {
        /// the log's key, in hexadecimal digits
        public_key: Name,
        /// the key's signature of this record's number and `prev`
        signature: Name,
    }
    /// a file's last record: the log goes on in another one
    "log.rotated" LogRotated {
        /// the file that follows
        next: Name,
        /// the log's key, in hexadecimal digits
        public_key: Name,
        /// the key's signature of this record's number and `prev`
        signature: Name,
    }
    /// the bytes right before this record are what a writer left that was cut short
    "log.recovered" LogRecovered {
        /// where they begin in the file
        offset: u64,
        /// how many they are
        bytes: u64,
        /// their SHA-256
        sha256: Name,
        /// the log's key, in hexadecimal digits
        public_key: Name,
        /// the key's signature of this record's number, `prev`, and these fields
        signature: Name,
    }
    /// the oldest files of the log are about to be removed, because a rule says so
    "log.pruned" LogPruned {
        /// the last of these files
        last_file: Name,
        /// the number of the first record in them
        first_seq: u64,
        /// the number of the last one
        last_seq: u64,
        /// its hash
        last_hash: Name,
        /// when the first was written
        first_time: Name,
        /// when the last was written
        last_time: Name,
        /// how many bytes they have
        bytes: u64,
        /// the rule
        rule: Name,
        /// the log's key, in hexadecimal digits
        public_key: Name,
        /// the key's signature of these fields
        signature: Name,
    }
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
                | Self::LogPruned { .. }
        )
    }
}
