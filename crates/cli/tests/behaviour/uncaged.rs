//! Programs without a cage: only where the operator said so, loudly, on record, with their time limit.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::support::{Ended, Place, slowly};

const DISABLED: &str = "version = 1\n[defaults]\nlimits = { walltime_sec = 60 }\n\
                        [cage]\ndefault = \"disabled\"\n";

fn result(ended: &Ended) -> Value {
    serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap()
}

/// K4, K157, K159, K160, K161, K194, K217
#[test]
fn a_disabled_cage_is_none_and_is_on_record() {
    let place = Place::new();
    let outside = place.outside().join("file");
    std::fs::write(&outside, "of the host").unwrap();
    place.policy(DISABLED);
    let read = ["run", "--json", "--", "cat", outside.to_str().unwrap()];
    place.ask(read).expect_code(125).says("stockade allow");
    let refused = place.records();
    assert_eq!((refused.len(), &refused[0]["error_code"]), (1, &"not_approved".into()));
    place.ask(["allow", "--yes"]).expect_code(0);
    let ended = place.ask(read);
    ended.expect_code(0).prints("of the host").says("WITHOUT A CAGE");
    ended.says("its cage is disabled (stockade.toml:5)");
    let result = result(&ended);
    assert_eq!((&result["caged"], &result["plan_hash"]), (&false.into(), &Value::Null));
    let records = place.records();
    let events: Vec<&str> = records.iter().map(|one| one["event"].as_str().unwrap()).collect();
    let expected = ["policy.allowed", "subagent.intent", "subagent.spawn.uncaged", "subagent.exit"];
    assert_eq!(events[1..], expected);
    let spawned = &records[3];
    assert_eq!(spawned["reason"], "dsl_disabled");
    assert_eq!(spawned["invocation_id"], result["invocation"]);
    assert_eq!(spawned["project_id"], place.project.to_str().unwrap());
    assert_eq!((&records[2]["caged"], &records[2]["cage"]), (&false.into(), &Value::Null));
}

/// K157, K218: the flag overrides every cage.
#[test]
fn without_a_sandbox() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]\nseccomp = \"default\"\nlimits = { memory_mb = 16 }");
    let outside = place.outside().join("file");
    let line = format!("echo written > {}; exit 7", outside.display());
    let ended = place.shell(&["--no-sandbox", "--quiet"], &line);
    ended.expect_code(7).says("WITHOUT A CAGE").says("`--no-sandbox` was given");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "written\n");
    let spawned = &place.records()[1];
    assert_eq!(spawned["reason"], "daemon_no_sandbox");
    place.ask(["run", "--no-sandbox", "--", "no-such-program"]).expect_code(127);
    place.ask(["run", "--no-sandbox", "--", "/etc/passwd"]).expect_code(126);
    let failed = place.records();
    assert_eq!(failed.last().unwrap()["event"], "subagent.spawn.failed");
}

/// K162: what only a cage can hold is refused where there is none, and nothing has run.
#[test]
fn flags_that_need_a_cage_are_refused_without_one() {
    let place = Place::new();
    place.policy(DISABLED);
    place.ask(["allow", "--yes"]).expect_code(0);
    let before = place.records().len();
    let flags: &[&[&str]] = &[
        &["--memory", "64M"],
        &["--pids", "5"],
        &["--cpus", "1"],
        &["--net", "example.com"],
        &["--no-net"],
        &["--host-port", "5432"],
        &["--publish", "8080"],
        &["--hide", "secrets"],
        &["--ro", "."],
        &["--rw", "."],
        &["--env", "LANG"],
        &["--command", "cat"],
        &["--seccomp", "relaxed"],
        &["--state", "scratch"],
    ];
    for flag in flags {
        for sandbox in [&["--no-sandbox"][..], &[]] {
            let ended = place.shell(&[sandbox, flag].concat(), "touch ran");
            ended.expect_code(2).says(&format!("`{}", flag[0])).says("without a cage");
        }
    }
    for flag in ["--degraded-limits", "--backend=bwrap"] {
        place.shell(&["--no-sandbox", flag], "touch ran").expect_code(2);
    }
    assert!(!place.project.join("ran").exists());
    assert_eq!(place.records().len(), before);
}

/// K157: an agent can have no cage as well.
#[test]
fn an_agent_without_a_cage() {
    let place = Place::new();
    let agent = "version = 1\n[agent.free]\ncage = \"disabled\"\ncommand = [\"echo\", \"free\"]\n";
    place.policy(agent);
    place.ask(["run", "--agent", "free"]).expect_code(125);
    place.ask(["allow", "--yes"]).expect_code(0);
    place.ask(["run", "--agent", "free"]).expect_code(0).prints("free").says("WITHOUT A CAGE");
    let intent = place.records().into_iter().find(|one| one["event"] == "subagent.intent");
    assert_eq!(intent.unwrap()["subagent_name"], "free");
    place.ask(["check", "--agent", "free"]).expect_code(122).says("there is none to look at");
}

/// K151, K153, K162: time holds without a cage too, for the program and what it started.
#[test]
fn time_holds_without_a_cage() {
    let place = Place::new();
    let began = Instant::now();
    let line = "sh -c 'trap \"\" TERM; while :; do echo x >> beat; sleep 0.1; done' & \
                trap '' TERM; while :; do sleep 0.05; done";
    let ended = place.shell(&["--no-sandbox", "--time", "1s", "--json"], line);
    ended.expect_code(124).says("time limit 1 s exceeded");
    assert_eq!(result(&ended)["reason"], "walltime_exceeded");
    let took = began.elapsed();
    assert!(took >= cage::GRACE && took < cage::GRACE + slowly(Duration::from_secs(5)), "{took:?}");
    let beat = place.project.join("beat");
    let before = std::fs::metadata(&beat).unwrap().len();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(std::fs::metadata(&beat).unwrap().len(), before);
    let events: Vec<Value> =
        place.records().into_iter().map(|record| record["event"].clone()).collect();
    assert_eq!(events[2..], ["policy.violation", "subagent.killed", "subagent.exit"]);
}

/// K159, K186: streams, variables, status and signals are those of a program that was started
/// directly.
#[test]
fn an_uncaged_program_is_like_one_started_directly() {
    let place = Place::new();
    let mut command = place.stockade();
    let line = "cat; echo \"$GREETING\"; kill -USR1 $$";
    command.args(["run", "--no-sandbox", "--", "sh", "-c", line]).env("GREETING", "hello");
    command.stdin(std::fs::File::open("/proc/self/comm").unwrap());
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(138).prints("hello");
    let mut command = place.stockade();
    command.args([
        "run",
        "--no-sandbox",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' TERM; echo; sleep 30 & wait",
    ]);
    let mut child = command.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut line = String::new();
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    rustix::process::kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// K163
#[test]
fn an_uncaged_program_ends_with_its_session() {
    let place = Place::new();
    let mut command = place.stockade();
    let line = "touch ready; exec sleep 60";
    command.args(["run", "--json", "--no-sandbox", "--session", "s", "--", "sh", "-c", line]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.project.join("ready").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    place.ask(["session", "end", "s"]).expect_code(0);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(result(&ended)["reason"], "session_ended");
}

/// K158: namespaces, control groups and filter are those of whoever started it.
#[test]
fn nothing_is_around_an_uncaged_program() {
    let place = Place::new();
    let line = "for kind in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$kind; done; \
                cat /proc/self/cgroup; grep -E '^(NoNewPrivs|Seccomp|CapBnd):' /proc/self/status";
    let direct = std::process::Command::new("sh").args(["-c", line]).output().unwrap();
    let ended = place.shell(&["--no-sandbox"], line);
    assert_eq!(ended.expect_code(0).stdout, String::from_utf8(direct.stdout).unwrap());
    assert_ne!(place.shell(&[], line).stdout, ended.stdout);
}
