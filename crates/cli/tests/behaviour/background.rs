//! Programs in the background, and the list of what runs: `run --detach`, `ps`, `logs`, `attach`, `kill`.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::support::{Place, is_root, skip, slowly};

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(place: &Place, words: &[&str]) -> Child {
    let mut command = place.stockade();
    command.arg("run").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The ids of this place's own runs.
fn listed(place: &Place, marker: &str) -> Vec<String> {
    let ended = place.ask(["ps", "--json"]);
    let value: Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    let cages = value["cages"].as_array().unwrap().iter();
    let own = cages.filter(|cage| cage["argv"].to_string().contains(marker));
    own.map(|cage| cage["id"].as_str().unwrap().to_owned()).collect()
}

fn entries(place: &Place) -> usize {
    fs::read_dir(place.state().join("stockade/runs")).map_or(0, Iterator::count)
}

/// Without any daemon: a run is in the list while it lives, can be ended by its id, and is told from one of a daemon.
#[test]
fn runs_are_listed_and_killed() {
    let place = Place::new();
    let mut child = start(&place, &["--session", "s", "--", "sleep", "61.5"]);
    eventually("the run is listed", || listed(&place, "61.5").len() == 1);
    let id = listed(&place, "61.5").remove(0);
    place.ask(["ps"]).expect_code(0).prints("sleep 61.5").prints("running").prints(&id);
    for command in ["logs", "attach"] {
        place.ask([command, &id[..12]]).expect_code(1).says("was started by `stockade run`");
    }
    place.ask(["kill", "--signal", "NONSENSE", &id]).expect_code(2);
    place.ask(["kill", &id]).expect_code(0);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!((listed(&place, "61.5").len(), entries(&place)), (0, 0));
    let mut child =
        start(&place, &["--", "sh", "-c", "trap '' TERM; while :; do sleep 62.5; done"]);
    eventually("the run is listed", || listed(&place, "62.5").len() == 1);
    place.ask(["kill", "--close", &listed(&place, "62.5")[0]]).expect_code(0);
    assert!(!child.wait().unwrap().success());
}

/// What a killed supervisor leaves in the list is recognised by its lock, and removed.
#[test]
fn a_killed_run_is_not_listed() {
    let place = Place::new();
    let mut child = start(&place, &["--", "sleep", "63.5"]);
    eventually("the run is listed", || listed(&place, "63.5").len() == 1);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    // What the supervisor had begun holds the lock until it has ended as well.
    eventually("nothing holds it any more", || {
        listed(&place, "63.5").is_empty() && entries(&place) == 0
    });
    // A process that has its number now is no run.
    place.ask(["ps"]).expect_code(0);
}

/// A program in the background, with the caller's own directory, variables and rules; the daemon is started for it.
#[test]
fn a_detached_run_is_the_daemons() {
    if is_root() {
        return skip("root's daemon is the one of this machine");
    }
    let place = Place::new();
    let daemon = Daemon(&place);
    let line = "echo $MODE; pwd; echo made > made; echo at /scratch > /scratch/file; sleep 64.5";
    let mut command = place.stockade();
    command.env("MODE", "of the caller").args(["run", "--detach", "--env", "MODE", "--rw", "."]);
    command.args(["--session", "work", "--", "sh", "-c", line]);
    let ended = super::support::Ended::of(command.output().unwrap());
    ended.expect_code(0).says("started a daemon").says("stockade logs -f");
    let id = ended.stdout.trim().to_owned();
    assert_eq!(listed(&place, "64.5"), [id.as_str()]);
    let project = place.project.to_str().unwrap().to_owned();
    eventually("its output is kept", || {
        let logs = place.ask(["logs", &id]);
        logs.stdout == format!("of the caller\n{project}\n")
    });
    eventually("it wrote", || place.project.join("made").exists());
    place.ask(["kill", &id]).expect_code(0);
    eventually("it ended", || listed(&place, "64.5").is_empty());
    place.shell(&["--session", "work"], "cat /scratch/file").expect_code(0).prints("at /scratch");
    // The daemon is there already.
    let ended = place.ask(["run", "-d", "--", "sh", "-c", "echo attached; exit 7"]);
    ended.expect_code(0);
    assert!(!ended.stderr.contains("started a daemon"), "{}", ended.stderr);
    let id = ended.stdout.trim();
    place.ask(["attach", "--no-stdin", id]).expect_code(7).prints("attached");
    // A profile, made of what the caller has.
    let line = "echo here > only-in-the-copy; cat only-in-the-copy";
    let ended = place.ask(["run", "-d", "-p", "code", "--session", "copy", "--", "sh", "-c", line]);
    let id = ended.expect_code(0).stdout.trim();
    place.ask(["attach", "--no-stdin", id]).expect_code(0).prints("here");
    assert!(!place.project.join("only-in-the-copy").exists());
    place.ask(["diff", "copy", "--name-only"]).expect_code(0).prints("only-in-the-copy");
    place.ask(["run", "-d", "--", "no-such-program"]).expect_code(127);
    drop(daemon);
    place.ask(["run", "--detach", "--no-sandbox", "--", "true"]).expect_code(2);
}

/// The daemon of a test, which is ended with it.
struct Daemon<'a>(&'a Place);

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let status = self.0.ask(["status", "--json"]);
        let Ok(status) = serde_json::from_str::<Value>(&status.stdout) else { return };
        let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            let _gone = rustix::process::kill_process(pid, Signal::TERM);
            let there = || rustix::process::test_kill_process(pid).is_ok();
            let deadline = Instant::now() + slowly(Duration::from_secs(20));
            while there() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Where the socket is can be asked by anybody, also without a runtime directory.
#[test]
fn the_place_of_the_socket_is_told() {
    let place = Place::new();
    let ended = place.ask(["status", "--print-socket"]);
    ended.expect_code(0).prints("/daemon.sock\n");
    if !is_root() {
        let own = place.state().join("stockade/daemon.sock");
        assert_eq!(ended.stdout.trim(), own.to_str().unwrap());
    }
}
