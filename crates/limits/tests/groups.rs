//! Groups of real processes: each limit is met, told and cleaned up after, with whatever mechanism
//! this machine and this caller have. Makes its groups below the one in which it runs and removes
//! them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

use limits::{Degraded, Limit, Mechanism};
use plan::LimitsPlan;
use support::delegated::User;
use support::{Held, invocation, limiter, only};

fn prepare(plan: &LimitsPlan) -> Option<limits::Group> {
    let limiter = limiter()?;
    Some(limiter.prepare(plan, &invocation(), Degraded::Refuse).unwrap())
}

/// K53, K141, K144, K145, K147, K188, K215
#[test]
fn too_much_memory_is_the_end() {
    let plan = LimitsPlan { memory_mb: Some(32), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    let mut held = Held::start(&mut group, BOMB);
    held.go();
    // Version 2 also has news when the limit is met and something could be given back.
    let usage = loop {
        assert!(support::readable(group.watch().unwrap(), support::patience()), "not told");
        let usage = group.usage();
        if usage.is_out_of_memory() {
            break usage;
        }
    };
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

/// K53: files in a memory file system are memory, whoever has mounted it.
#[test]
fn files_in_memory_count() {
    let plan = LimitsPlan { memory_mb: Some(32), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    let file = format!("/dev/shm/stockade-{}", invocation());
    let script = format!("head -c 100000000 /dev/zero > {file}; echo survived");
    let mut held = Held::start(&mut group, &script);
    held.go();
    support::until("out of memory", || group.usage().is_out_of_memory());
    group.kill().unwrap();
    held.finish();
    let written = std::fs::metadata(&file).unwrap().len();
    std::fs::remove_file(&file).unwrap();
    assert!(written <= 32 << 20, "{written}");
    assert!(group.remove().unwrap().is_out_of_memory());
}

/// T28: what left its session and its parent is still in the group, and dies with it.
#[test]
fn no_process_gets_away() {
    let plan = LimitsPlan { pids: Some(100), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    let script =
        "for i in 1 2 3; do (setsid sh -c 'echo $$; exec sleep 600 >/dev/null' &); done; wait";
    let mut held = Held::start(&mut group, script);
    held.go();
    let away: Vec<i32> = held.finish().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(away.len(), 3);
    let lives = |pid: &i32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(away.iter().all(lives), "{away:?}");
    group.kill().unwrap();
    group.remove().unwrap();
    support::until("gone", || !away.iter().any(lives));
}

/// T30: who says that another should be killed first is in the group all the same.
#[test]
fn a_score_does_not_help() {
    let plan = LimitsPlan { memory_mb: Some(32), ..LimitsPlan::default() };
    let Some(mut group) = prepare(&plan) else { return };
    let script = format!("echo -1000 > /proc/self/oom_score_adj; {BOMB}");
    let mut held = Held::start(&mut group, &script);
    held.go();
    support::until("out of memory", || group.usage().is_out_of_memory());
    group.kill().unwrap();
    assert!(!held.finish().contains("survived"));
    group.remove().unwrap();
}

/// K56: a limit on time alone makes no group.
#[test]
fn without_limits_nothing_is_made() {
    let plan = LimitsPlan { walltime_sec: Some(1), ..LimitsPlan::default() };
    let limiter = limits::Limiter::discover();
    let group = limiter.prepare(&plan, &invocation(), Degraded::Refuse).unwrap();
    assert!(group.cgroup().is_none() && group.watch().is_none());
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

/// K144, K148: an ordinary user to whom groups of version 1 were handed over, by the command that they
/// are told to run. Every test of this file runs there once more.
#[test]
fn a_user_with_delegated_groups() {
    let Some(limiter) = limiter() else { return };
    let layer = limiter.layer();
    if !testing::is_root() || layer.mechanism != Some(Mechanism::CgroupV1) {
        return only("root with control groups of version 1", &layer.why);
    }
    let user = User::nobody_else();
    let told = String::from_utf8(user.run("print_the_fix").stdout).unwrap();
    let fix = told.lines().find_map(|line| line.strip_prefix("fix: ")).expect(&told);
    let output = user.run_all_after(fix, "a_user_with_delegated_groups");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{fix}\n{text}{error}");
    assert!(!error.contains("only for callers with a"), "{error}");
    assert!(text.contains("too_much_memory_is_the_end ... ok"), "{text}");
}

/// Not a test: what somebody without control groups is told to do.
#[test]
#[ignore = "another test starts it"]
fn print_the_fix() {
    println!("fix: {}", limits::Limiter::discover().layer().fix.unwrap());
}

/// A pipeline of which one end has to remember everything that the other end says.
/// The shell itself may live until it is killed with the rest.
const BOMB: &str =
    "head -c 80000000 /dev/zero | tail -c 80000000 | wc -c | grep -q 80000000 && echo survived";
