//! What a person is told about a program that reached a limit, and what raises it.

use cage::{EndReason, Outcome};
use plan::Plan;

use crate::message::Messages;

#[cfg(test)]
mod tests;

/// Tells which limit ended the program.
pub(crate) fn tell(plan: &Plan, outcome: &Outcome, messages: Messages) {
    if outcome.reason == EndReason::WalltimeExceeded
        && let Some(seconds) = plan.limits.walltime_sec
    {
        messages.error(&time_exceeded(seconds));
    }
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
