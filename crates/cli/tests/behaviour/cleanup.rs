//! What is left when a cage ends, however it ends: nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::support::{Ended, Place, slowly};

/// K185, T28, T54, T62: spawn and kill at random points, by every way that a cage can die.
/// `STOCKADE_CYCLES` sets the number of rounds.
#[test]
fn nothing_is_left_after_kills_at_random_points() {
    let place = Place::new();
    let cycles: u64 = std::env::var("STOCKADE_CYCLES").map_or(100, |text| text.parse().unwrap());
    let before = Surroundings::look(&place);
    let mut random = u64::from(std::process::id()) | 1 << 40;
    for cycle in 0..cycles {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let marker = format!("98765.{}{cycle:06}", std::process::id());
        let child = start(&place, &marker);
        std::thread::sleep(Duration::from_micros(random % 40_000));
        kill(child, random >> 32);
        assert_gone(&marker);
    }
    // What killed runs leave in the list of runs goes with the next one.
    place.shell(&["--quiet"], "true").expect_code(0);
    assert_eq!(Surroundings::look(&place), before);
}

/// K185, T54: who makes the namespaces begins with the supervisor's first instructions, and notices
/// its end however early that is.
#[test]
fn nothing_is_left_of_a_start_that_is_killed_as_it_begins() {
    let place = Place::new();
    let marker = format!("76543.{}", std::process::id());
    for turn in 0..600_u64 {
        let mut child = start(&place, &marker);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(turn % 300) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_gone(&marker);
}

/// T28, T62: what the program leaves running ends with it.
#[test]
fn daemons_end_with_the_program() {
    let place = Place::new();
    let marker = format!("87654.{}", std::process::id());
    let line =
        format!("sleep {marker} & setsid -f sleep {marker}; (setsid sleep {marker} &); exit 0");
    place.shell(&["--quiet"], &line).expect_code(0);
    assert_gone(&marker);
}

/// K185: a start that fails leaves nothing either.
#[test]
fn nothing_is_left_after_starts_that_fail() {
    let place = Place::new();
    let before = Surroundings::look(&place);
    for _ in 0..20 {
        place.ask(["run", "--rw", ".", "--", "no-such-program"]).expect_code(127);
        place.ask(["run", "--memory", "16M", "--pids", "1", "--", "sh", "-c", ":&"]);
        place.ask(["run", "--publish", "1", "--", "/etc/passwd"]);
        place.ask(["run", "--ro", "missing", "--", "true"]).expect_code(123);
    }
    assert_eq!(Surroundings::look(&place), before);
}

fn start(place: &Place, marker: &str) -> Child {
    let line = "sleep $0 & setsid -f sleep $0; sleep $0";
    let mut command = place.stockade();
    command.args(["run", "--quiet", "--rw", ".", "--", "sh", "-c", line, marker]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the supervisor, asks it to end, or kills pid 1 of the cage if there is one yet.
fn kill(mut child: Child, choice: u64) {
    use rustix::process::{Pid, Signal, kill_process};
    let supervisor = Pid::from_child(&child);
    match (choice % 3, pid_one(child.id())) {
        (0, Some(pid_one)) => {
            let _gone = kill_process(pid_one, Signal::KILL);
        }
        (1, _) => kill_process(supervisor, Signal::TERM).unwrap(),
        _ => kill_process(supervisor, Signal::KILL).unwrap(),
    }
    let deadline = Instant::now() + slowly(Duration::from_secs(10));
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the supervisor did not end, choice {choice}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The child of the supervisor that has a process namespace of its own.
fn pid_one(supervisor: u32) -> Option<rustix::process::Pid> {
    let children = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"));
    let children = children.unwrap_or_default();
    let is_pid_one = |pid: &&str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("NSpid:") && line.ends_with("\t1"))
    };
    let pid = children.split_whitespace().find(is_pid_one)?;
    rustix::process::Pid::from_raw(pid.parse().ok()?)
}

#[track_caller]
fn assert_gone(marker: &str) {
    let deadline = Instant::now() + slowly(Duration::from_secs(10));
    loop {
        let left = processes_with(marker);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still running: {left:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn processes_with(marker: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let command_line = |path: &Path| {
        let bytes = fs::read(path.join("cmdline")).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
        text.contains(marker).then_some(text)
    };
    entries.filter_map(|entry| command_line(&entry.path())).collect()
}

/// What a cage could leave behind on the host.
#[derive(Debug, PartialEq, Eq)]
struct Surroundings {
    mounts: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl Surroundings {
    fn look(place: &Place) -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mut files = BTreeSet::new();
        let mut waiting = vec![place.home.parent().unwrap().to_owned()];
        let record = place.state().join("stockade/audit");
        let above_record: Vec<&Path> = record.ancestors().collect();
        while let Some(next) = waiting.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                // The record is meant to stay.
                if path.starts_with(&record) {
                    continue;
                }
                if above_record.contains(&path.as_path()) && !place.home.starts_with(&path) {
                    waiting.push(path);
                    continue;
                }
                files.insert(path.display().to_string());
                if path.is_dir() {
                    waiting.push(path);
                }
            }
        }
        Self { mounts: mounts.lines().map(str::to_owned).collect(), files }
    }
}

/// Bait is taken in when the attacks are broken off.
#[test]
fn an_interrupted_proof_leaves_nothing() {
    let place = Place::new();
    let arenas = place.outside();
    let mut command = place.stockade();
    command.arg("prove").env("TMPDIR", &arenas);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let patience = Instant::now() + slowly(Duration::from_secs(30));
    while fs::read_dir(&arenas).unwrap().count() < 3 {
        assert!(Instant::now() < patience, "no arena was set up");
        std::thread::sleep(Duration::from_millis(10));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    ended.expect_code(130);
    let left: Vec<_> = fs::read_dir(&arenas).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
