//! Bounds, compared one by one: a lower one is less, none at all is most.

use super::{Refusal, RefusalKind};
use crate::Limits;

/// Every bound that is asked for and higher than the one held.
pub(super) fn refuse_more(held: &Limits, asked: &Limits, refused: &mut Vec<Refusal>) {
    for ((word, held), (_, asked)) in by_word(held).into_iter().zip(by_word(asked)) {
        if let (Some(held), Some(asked)) = (held, asked)
            && asked > held
        {
            refused.push(refusal(word, asked.to_string(), held));
        }
    }
}

/// As [`refuse_more`], and every bound of the parent that the child does not have.
pub(super) fn refuse_beyond(parent: &Limits, child: &Limits, refused: &mut Vec<Refusal>) {
    refuse_more(parent, child, refused);
    for ((word, held), (_, given)) in by_word(parent).into_iter().zip(by_word(child)) {
        if let (Some(held), None) = (held, given) {
            refused.push(refusal(word, "unlimited".to_owned(), held));
        }
    }
}

/// The lower of the two, bound by bound.
pub(super) fn meet(held: &Limits, asked: &Limits) -> Limits {
    Limits {
        memory_mb: lower(held.memory_mb, asked.memory_mb),
        cpu_weight: lower(held.cpu_weight, asked.cpu_weight),
        cpu_millis: lower(held.cpu_millis, asked.cpu_millis),
        pids: lower(held.pids, asked.pids),
        walltime_sec: lower(held.walltime_sec, asked.walltime_sec),
        tmp_mb: lower(held.tmp_mb, asked.tmp_mb),
        home_mb: lower(held.home_mb, asked.home_mb),
        workspace_mb: lower(held.workspace_mb, asked.workspace_mb),
    }
}

fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Every bound under its word; `cpus` in thousandths.
fn by_word(limits: &Limits) -> [(&'static str, Option<u64>); 8] {
    [
        ("memory_mb", limits.memory_mb),
        ("cpu_weight", limits.cpu_weight.map(u64::from)),
        ("cpus (thousandths)", limits.cpu_millis.map(u64::from)),
        ("pids", limits.pids.map(u64::from)),
        ("walltime_sec", limits.walltime_sec),
        ("tmp_mb", limits.tmp_mb),
        ("home_mb", limits.home_mb),
        ("workspace_mb", limits.workspace_mb),
    ]
}

fn refusal(word: &str, asked: String, held: u64) -> Refusal {
    Refusal {
        kind: RefusalKind::Limits,
        subject: word.to_owned(),
        asked,
        held: format!("`{held}`"),
        asked_at: None,
        held_at: None,
    }
}
