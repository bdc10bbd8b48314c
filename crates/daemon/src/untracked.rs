//! Programs without a cage that a dead supervisor started: nothing ends them with it, so the next one
//! finds them in the record and tells of them. It neither kills nor watches them. K156

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use audit::{Filter, Reader, Record, Timestamp};

use crate::daemon::Untracked;

#[cfg(test)]
mod tests;

/// Those whose start is on record and whose end is not, as far as they still run.
pub(crate) fn find(log: &Path) -> Vec<Untracked> {
    let Ok(reader) = Reader::open(log) else { return Vec::new() };
    let since = booted().map(Timestamp::from);
    let filter = Filter { event: Some("subagent".to_owned()), since, ..Filter::default() };
    let records = reader.records(filter).filter_map(Result::ok);
    let runs = without_end(records);
    runs.into_values().filter_map(|record| still_running(&record)).collect()
}

/// Starts without a cage that have no end, by their ids.
fn without_end(records: impl Iterator<Item = Record>) -> BTreeMap<String, Record> {
    let mut runs = BTreeMap::new();
    for record in records {
        let Some(id) = record.text("invocation_id").map(str::to_owned) else { continue };
        match record.name.as_str() {
            "subagent.spawn.uncaged" => {
                runs.insert(id, record);
            }
            "subagent.exit" => {
                runs.remove(&id);
            }
            _ => {}
        }
    }
    runs
}

/// The program of a record, if the process with its number is that program: it must have begun
/// right before the record was written, and not long after, as another with the same number would.
fn still_running(record: &Record) -> Option<Untracked> {
    let pid = u32::try_from(record.fields.get("pid")?.as_u64()?).ok()?;
    let recorded = UNIX_EPOCH + Duration::from_micros(record.time.microseconds());
    let began = began(pid)?;
    let is_it = match recorded.duration_since(began) {
        Ok(before) => before <= MARGIN,
        Err(after) => after.duration() <= TICK,
    };
    is_it.then(|| Untracked {
        id: record.text("invocation_id").unwrap_or_default().to_owned(),
        pid,
        project: record.text("project_id").unwrap_or_default().to_owned(),
        started_at: record.time.to_string(),
    })
}

/// Whether a process exists and is not just a remainder that nobody has collected.
pub(crate) fn is_running(pid: u32) -> bool {
    status_fields(pid).is_some_and(|fields| fields.first().is_some_and(|state| state != "Z"))
}

/// When a process began.
fn began(pid: u32) -> Option<SystemTime> {
    let fields = status_fields(pid)?;
    let ticks: u64 = fields.get(START_TIME)?.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(booted()? + Duration::from_secs_f64(to_f64(ticks) / to_f64(per_second)))
}

/// The fields of `/proc/PID/stat` after the name, which is the only one that can have anything in it.
fn status_fields(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// When this machine began to count.
fn booted() -> Option<SystemTime> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(UNIX_EPOCH + Duration::from_secs(seconds.trim().parse().ok()?))
}

/// Ticks since boot are far below the numbers that a float cannot hold.
fn to_f64(number: u64) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

/// `starttime` is field 22 of proc_pid_stat(5), and the 20th after the name.
const START_TIME: usize = 19;

/// A record is written when the program has begun, within a few seconds on a loaded machine. The
/// time of boot is told in whole seconds.
const MARGIN: Duration = Duration::from_secs(12);
const TICK: Duration = Duration::from_secs(2);
