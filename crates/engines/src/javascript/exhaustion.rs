//! Whether a program failed as there was no memory left, where the engine cannot say so: without room for an error it throws
//! `null`. What this process held at most tells that from a program's own `null`. Reads nothing else of this process.

use rquickjs::Value;

/// Whether this is what the engine throws when there is no room for an error, with these bytes to be had.
pub(super) fn is_of_exhaustion(thrown: &Value<'_>, max_memory: u64) -> bool {
    thrown.is_null() && held_at_most().is_some_and(|held| held >= max_memory / 4 * 3)
}

/// Bytes (proc_pid_status(5)). None where this process has no `/proc`.
fn held_at_most() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let held = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = held.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}
