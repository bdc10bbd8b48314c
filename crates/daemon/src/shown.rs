//! Cages and sessions as clients see them. The OpenAPI document describes these very fields.

use std::time::SystemTime;

use advice::result::{
    DeniedCallResult, NetworkResult, PathResult, Quarantined, UsageResult, WorkspaceResult,
};
use audit::Timestamp;
use cage::Note;
use cage::runner::OutputBuffer;
use plan::LimitsPlan;
use serde::Serialize;

use crate::cages::{Cage, End, Stream};

/// A cage.
#[derive(Debug, Serialize)]
pub(crate) struct ShownCage {
    id: String,
    state: &'static str,
    caged: bool,
    cage: String,
    project: String,
    session: Option<String>,
    agent: Option<String>,
    argv: Vec<String>,
    pid: i32,
    started_at: String,
    plan_hash: Option<String>,
    summary: Option<String>,
    reduced_isolation: Vec<String>,
    /// What whoever asked for it should know, such as a rule that does nothing.
    notes: Vec<String>,
    terminal: bool,
    stdout: Option<ShownOutput>,
    stderr: Option<ShownOutput>,
    /// None without a network.
    traffic: Option<Traffic>,
    end: Option<ShownEnd>,
}

/// What went through a cage's network so far, and what did not.
#[derive(Debug, Serialize)]
struct Traffic {
    /// Connections.
    allowed: u64,
    /// Connections, names and datagrams.
    denied: u64,
    bytes_in: u64,
    bytes_out: u64,
}

impl Traffic {
    fn of(cage: &Cage, end: Option<&End>) -> Option<Self> {
        let counters = match end {
            Some(end) => end.ended.network.as_ref()?.account.counters,
            None => cage.handle.network()?,
        };
        Some(Self {
            allowed: counters.tcp_allowed,
            denied: counters.tcp_denied + counters.dns_denied + counters.udp_denied,
            bytes_in: counters.bytes_in,
            bytes_out: counters.bytes_out,
        })
    }
}

/// How much of an output there is.
#[derive(Debug, Serialize)]
struct ShownOutput {
    /// The position of the oldest byte that is kept.
    start: u64,
    /// How many bytes were written in all.
    end: u64,
    /// Whether nothing more will come.
    closed: bool,
}

/// How a cage ended.
#[derive(Debug, Serialize)]
pub(crate) struct ShownEnd {
    ended_at: String,
    exit_code: i32,
    signal: Option<i32>,
    reason: &'static str,
    duration_ms: u64,
    /// What ended a program that did not end by itself, for a person.
    explanation: Option<String>,
    usage: Option<UsageResult>,
    denials: Vec<DeniedCallResult>,
    /// Paths that it did not get, where its calls were noted.
    paths: Vec<PathResult>,
    network: Option<NetworkResult>,
    layers: Option<jail::Layers>,
    quarantined: Vec<Quarantined>,
    workspaces: Vec<WorkspaceResult>,
    warnings: Vec<String>,
}

impl From<&Cage> for ShownCage {
    fn from(cage: &Cage) -> Self {
        let facts = cage.facts.clone();
        let end = cage.end();
        let limits = cage.handle.plan().map(|plan| plan.walls.limits).unwrap_or_default();
        Self {
            id: cage.handle.invocation_id().to_owned(),
            state: if end.is_some() { "ended" } else { "running" },
            caged: cage.handle.caged(),
            cage: facts.cage,
            project: facts.project,
            session: facts.session,
            agent: facts.agent,
            argv: facts.argv,
            pid: facts.pid.as_raw_nonzero().get(),
            started_at: moment(facts.started),
            plan_hash: facts.plan_hash,
            summary: facts.summary,
            reduced_isolation: facts.reduced_isolation,
            notes: facts.notes,
            terminal: facts.terminal,
            stdout: cage.output(Stream::Stdout).map(|output| (&**output).into()),
            stderr: cage.output(Stream::Stderr).map(|output| (&**output).into()),
            traffic: Traffic::of(cage, end.as_deref()),
            end: end.as_deref().map(|end| ShownEnd::of(end, limits)),
        }
    }
}

impl From<&OutputBuffer> for ShownOutput {
    fn from(output: &OutputBuffer) -> Self {
        let kept = output.kept();
        Self { start: kept.start, end: kept.end, closed: output.is_closed() }
    }
}

impl ShownEnd {
    fn of(end: &End, limits: LimitsPlan) -> Self {
        let End { ended, at } = end;
        let unrecorded = ended.unrecorded.iter().map(|why| unrecorded_end(why));
        let warning = |note: &Note| match note {
            Note::Worth(text) | Note::Warning(text) => text.clone(),
        };
        let usage = ended.usage.as_ref();
        let met = advice::limits::met(&limits, usage, ended.duration);
        let notes = ended.findings.notes.iter().map(warning);
        Self {
            ended_at: moment(*at),
            exit_code: ended.exit_code(),
            signal: ended.signal(),
            reason: ended.reason.word(),
            duration_ms: u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            explanation: advice::limits::ended_by(&limits, ended.reason, usage),
            usage: usage.map(UsageResult::from),
            denials: ended.denials.iter().map(DeniedCallResult::from).collect(),
            paths: PathResult::all(&ended.observations),
            network: ended.network.as_ref().map(NetworkResult::from),
            layers: ended.layers,
            quarantined: ended.findings.found.iter().map(Quarantined::from).collect(),
            workspaces: ended.workspaces.iter().map(WorkspaceResult::from).collect(),
            warnings: unrecorded.chain(met).chain(notes).collect(),
        }
    }
}

/// What is said of an end that the record does not have.
pub(crate) fn unrecorded_end(why: &str) -> String {
    format!("the end of the program is not on record: {why}")
}

/// A moment as RFC 3339 has it.
pub(crate) fn moment(at: SystemTime) -> String {
    Timestamp::from(at).to_string()
}
