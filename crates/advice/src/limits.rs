//! What a person is told about a program that met a limit, and what raises it. Only words.

use std::time::Duration;

use cage::{Degradation, EndReason, Usage};
use plan::LimitsPlan;

#[cfg(test)]
mod tests;

/// Which limits will not hold as they should.
pub fn not_held(degradation: &Degradation) -> String {
    let Degradation { reason, consequences, .. } = degradation;
    let held = match consequences.as_slice() {
        [] => String::new(),
        consequences => format!("; {}", consequences.join("; ")),
    };
    format!("limits are not held in full: {reason}{held}")
}

/// What ended a program that did not end by itself; nothing of one that did.
pub fn ended_by(limits: &LimitsPlan, reason: EndReason, usage: Option<&Usage>) -> Option<String> {
    match reason {
        EndReason::WalltimeExceeded => limits.walltime_sec.map(time_exceeded),
        EndReason::Oom => Some(memory_exceeded(limits, usage)),
        EndReason::WorkspaceFull => limits.workspace_mb.map(workspace_exceeded),
        EndReason::SessionEnded => Some("the program was ended with its session".to_owned()),
        EndReason::Exited
        | EndReason::Signalled
        | EndReason::Seccomp
        | EndReason::Cancelled
        | EndReason::SupervisorLost => None,
    }
}

/// What a program met without being ended for it.
pub fn met(limits: &LimitsPlan, usage: Option<&Usage>, life: Duration) -> Vec<String> {
    usage.map_or_else(Vec::new, |usage| notes(limits, usage, life))
}

fn memory_exceeded(limits: &LimitsPlan, usage: Option<&Usage>) -> String {
    let limit = limits.memory_mb.unwrap_or_default();
    let peak = usage.and_then(|usage| usage.memory_peak);
    let peak = peak.map(|bytes| format!(", peak {} MiB", bytes.div_ceil(MEBIBYTE)));
    format!(
        "memory limit {limit} MiB exceeded{}; raise it with --memory {}M",
        peak.unwrap_or_default(),
        limit.saturating_mul(2)
    )
}

/// What a program met without being ended for it.
fn notes(limits: &LimitsPlan, usage: &Usage, life: Duration) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(limit), 1..) = (limits.pids, usage.pids_refused) {
        let refused = usage.pids_refused;
        let twice = limit.saturating_mul(2);
        notes.push(format!(
            "limit of {limit} processes and threads reached, refused {refused} more; raise it with \
             --pids {twice}"
        ));
    }
    // Everybody who may use less than all of it waits now and then.
    if usage.throttled >= LEAST_TOLD && usage.throttled >= life / 10 {
        let waited = usage.throttled.as_secs_f64();
        let limit = limits.cpu_millis.map(|millis| format!(" {}", f64::from(millis) / 1000.0));
        notes.push(format!(
            "the program waited {waited:.1} s for the processor because of its limit{}; raise it \
             with --cpus",
            limit.unwrap_or_default()
        ));
    }
    notes
}

fn workspace_exceeded(limit: u64) -> String {
    let twice = limit.saturating_mul(2);
    format!(
        "what the program wrote in its views exceeds {limit} MiB (`limits.workspace_mb`) or a million \
         names; raise the size with --workspace {twice}M"
    )
}

fn time_exceeded(seconds: u64) -> String {
    let twice = time_argument(seconds.saturating_mul(2));
    format!("time limit {seconds} s exceeded; raise it with --time {twice}")
}

/// A time as `--time` takes it.
fn time_argument(seconds: u64) -> String {
    let units = [(3600, 'h'), (60, 'm')];
    match units.into_iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit)) {
        Some((unit, letter)) => format!("{}{letter}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

const MEBIBYTE: u64 = 1 << 20;
const LEAST_TOLD: Duration = Duration::from_secs(1);
