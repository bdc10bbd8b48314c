//! What a supervisor that was killed leaves behind is found by whoever comes next, and nothing else.
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

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use limits::{Degraded, Limiter, Mechanism};
use plan::LimitsPlan;
use support::{invocation, limiter};

const PLAN: LimitsPlan = LimitsPlan {
    memory_mb: Some(64),
    cpu_weight: None,
    cpu_millis: None,
    pids: Some(10),
    walltime_sec: None,
    workspace_mb: None,
};

/// A supervisor with a cage, in a process of its own.
struct Supervisor {
    process: Child,
    invocation: String,
    caged: u32,
}

impl Supervisor {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "be_a_supervisor", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.map(Result::unwrap).find_map(|line| {
            let told = line.strip_prefix("supervises ").map(str::to_owned);
            told.and_then(|told| told.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())))
        });
        let (invocation, caged) = line.unwrap();
        Self { process, invocation, caged: caged.parse().unwrap() }
    }

    fn kill(mut self) -> (String, u32) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        (self.invocation, self.caged)
    }
}

/// Not a test: makes a group with a process that outlives this one.
#[test]
#[ignore = "the other tests start it"]
fn be_a_supervisor() {
    let invocation = invocation();
    let mut group = Limiter::discover().prepare(&PLAN, &invocation, Degraded::Refuse).unwrap();
    let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
    group.adopt(support::pid_of(&child)).unwrap();
    println!("supervises {invocation} {}", child.id());
    child.wait().unwrap();
}

fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// K147, K156, T54
#[test]
fn what_a_dead_supervisor_left_is_swept_and_nothing_else() {
    let Some(limiter) = limiter() else { return };
    let (dead, alive) = (Supervisor::start(), Supervisor::start());
    let before = limiter.sweep();
    assert!(!before.iter().any(|swept| swept.invocation == dead.invocation), "{before:?}");
    let (invocation, caged) = dead.kill();
    assert!(lives(caged), "nothing is left to sweep");
    let swept: Vec<_> =
        limiter.sweep().into_iter().filter(|swept| swept.invocation == invocation).collect();
    // Version 1 has a group for each of the two limits; the process is in both, and dies once.
    let expected = if limiter.layer().mechanism == Some(Mechanism::CgroupV1) { 2 } else { 1 };
    assert_eq!(swept.len(), expected, "{swept:?}");
    assert!(swept.iter().all(|swept| swept.left.is_none()), "{swept:?}");
    assert_eq!(swept.iter().map(|swept| swept.killed).sum::<usize>(), 1);
    support::until("gone", || !lives(caged));
    assert!(lives(alive.caged));
    assert!(!limiter.sweep().iter().any(|swept| swept.invocation == invocation));
    let (invocation, _) = alive.kill();
    assert!(limiter.sweep().iter().any(|swept| swept.invocation == invocation));
}
