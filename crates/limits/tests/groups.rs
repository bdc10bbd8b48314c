//! Groups of real processes: each limit is met, told and cleaned up after, with whatever mechanism
//! this machine and this caller have. Makes its groups below the one in which it runs and removes
//! them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

use std::time::Duration;

use limits::{Degraded, Limit};
use plan::LimitsPlan;
use support::{Held, invocation, limiter, only};

fn prepare(plan: &LimitsPlan) -> Option<limits::Group> {
    let limiter = limiter()?;
    Some(limiter.prepare(plan, &invocation(), Degraded::Refuse).unwrap())
}

/// K53, K144, K145, K147, K188, K215
#[test]
fn too_much_memory_is_the_end() {
    let plan = LimitsPlan { memory_mb: Some(32), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    let mut held = Held::start(&mut group, BOMB);
    held.go();
    assert!(support::readable(group.watch().unwrap(), Duration::from_secs(20)), "not told");
    let usage = group.usage();
    assert!(usage.is_out_of_memory(), "{usage:?}");
    assert_eq!(usage.memory_limit, Some(32 << 20));
    group.kill().unwrap();
    assert!(!held.finish().contains("survived"));
    let usage = group.remove().unwrap();
    assert!(usage.is_out_of_memory(), "{usage:?}");
    let peak = usage.memory_peak.unwrap();
    assert!((16 << 20..=32 << 20).contains(&peak), "{peak}");
}

/// K55, K204
#[test]
fn as_many_processes_as_asked_for_and_no_more() {
    let plan = LimitsPlan { pids: Some(4), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    // The shell stands for our pid 1, and the four are its children.
    let script = "for i in 1 2 3 4; do sleep 5 & echo started; done; sleep 5 & echo one too many";
    let mut held = Held::start(&mut group, script);
    held.go();
    // Version 1 counts these and announces nothing.
    support::until("refused", || group.usage().pids_refused > 0);
    group.kill().unwrap();
    let output = held.finish();
    assert_eq!(output.matches("started").count(), 4, "{output}");
    assert!(!output.contains("one too many"), "{output}");
    group.remove().unwrap();
}

/// K54
#[test]
fn processor_time_is_rationed() {
    let plan = LimitsPlan { cpu_millis: Some(100), cpu_weight: Some(50), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    let mut held = Held::start(&mut group, "while :; do :; done");
    held.go();
    support::until("throttled", || !group.usage().throttled.is_zero());
    group.kill().unwrap();
    held.finish();
    assert!(!group.remove().unwrap().throttled.is_zero());
}

/// K56: a limit on time alone makes no group.
#[test]
fn without_limits_nothing_is_made() {
    let plan = LimitsPlan { walltime_sec: Some(1), ..LimitsPlan::default() };
    let limiter = limits::Limiter::discover();
    let group = limiter.prepare(&plan, &invocation(), Degraded::Refuse).unwrap();
    assert!(group.birthplace().is_none() && group.watch().is_none());
    assert_eq!(group.remove().unwrap(), limits::Usage::default());
}

/// K148, K182
#[test]
fn where_nothing_holds_limits_they_are_refused_or_told() {
    let limiter = limits::Limiter::discover();
    let layer = limiter.layer();
    if layer.missing.is_empty() {
        return only("callers without a control group", "this one has one");
    }
    let plan = LimitsPlan { memory_mb: Some(64), pids: Some(5), ..LimitsPlan::default() };
    let error = limiter.prepare(&plan, &invocation(), Degraded::Refuse).unwrap_err().to_string();
    assert!(error.contains("cannot be limited here") && error.contains("sudo"), "{error}");
    let mut group = limiter.prepare(&plan, &invocation(), Degraded::Allow).unwrap();
    let degradation = group.degradation().unwrap().clone();
    assert!(degradation.limits.contains(&Limit::Memory), "{degradation:?}");
    assert!(!degradation.reason.is_empty() && !degradation.consequences.is_empty());
    let mut held = Held::start(&mut group, "ulimit -d");
    held.go();
    assert_eq!(held.finish().trim(), (64 << 10).to_string());
    group.remove().unwrap();
}

/// A pipeline of which one end has to remember everything that the other end says.
const BOMB: &str = "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c; echo survived";
