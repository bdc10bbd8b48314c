//! The time that a program may take, and what becomes of one that takes longer.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::support::{Ended, Place, slowly};

fn start(place: &Place, flags: &[&str], line: &str) -> Child {
    let mut command = place.stockade();
    command.arg("run").args(flags).args(["--rw", "w", "--", "sh", "-c", line]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn place() -> Place {
    let place = Place::new();
    place.write("w/keep", "");
    place
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn wait_for(path: &Path) {
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether something in a cage goes on writing to a file.
fn is_written_to(path: &Path) -> bool {
    let before = std::fs::metadata(path).unwrap().len();
    std::thread::sleep(slowly(Duration::from_millis(700)));
    std::fs::metadata(path).unwrap().len() != before
}

/// As long as a program needs to make itself ready, and the flag for it.
fn short() -> (Duration, String) {
    let time = slowly(Duration::from_secs(1));
    (time, format!("{}s", time.as_secs()))
}

/// Writes to a file several times in a second, for good, out of every session and group.
const HEARTBEAT: &str = "setsid sh -c 'trap \"\" TERM; while :; do echo x >> w/beat; sleep 0.1; done' \
                         > /dev/null 2>&1 &";

/// K155: whoever is stopped learns of the time and of the end at once, and the end came first.
#[test]
fn a_program_that_ends_in_time_has_kept_it_whoever_looks_later() {
    let place = place();
    let time = slowly(Duration::from_secs(2));
    let flag = format!("{}s", time.as_secs());
    let line = "touch w/ready; sleep 0.5; exit 4";
    let run = start(&place, &["--json", "--time", &flag], line);
    wait_for(&place.project.join("w/ready"));
    signal(&run, Signal::STOP);
    std::thread::sleep(time + slowly(Duration::from_secs(1)));
    signal(&run, Signal::CONT);
    let ended = Ended::of(run.wait_with_output().unwrap());
    ended.expect_code(4).says("\"reason\":\"exited\"");
    let events: Vec<String> =
        place.records().iter().map(|record| record["event"].as_str().unwrap().to_owned()).collect();
    assert!(!events.iter().any(|event| event == "subagent.killed"), "{events:?}");
}

/// K56, K64, K151, K155, K214, T66
#[test]
fn a_program_that_takes_too_long_is_ended() {
    let place = place();
    place.default_cage("fs = [{ ro = \".\" }]\nlimits = { walltime_sec = 5 }");
    let began = Instant::now();
    let ended = place.ask(["run", "--json", "--", "sleep", "60"]);
    let took = began.elapsed();
    ended.expect_code(124).says("time limit 5 s exceeded; raise it with --time 10s");
    assert!(took >= GRACE && took < GRACE + slowly(Duration::from_secs(5)), "{took:?}");
    let result: serde_json::Value =
        serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(result["reason"], "walltime_exceeded");
    assert_eq!((&result["exit_code"], &result["signal"]), (&124.into(), &15.into()));
}

/// K56: a program that is fast enough ends as without a limit.
#[test]
fn a_program_that_is_in_time_is_left_alone() {
    let ended = place().shell(&["--time", "1h"], "exit 7");
    ended.expect_code(7);
    assert!(!ended.stderr.contains("time limit"), "{}", ended.stderr);
}

/// K152: the program itself hears of it, and how it then ends changes nothing.
#[test]
fn a_program_can_end_by_itself_when_its_time_is_over() {
    let place = place();
    let line = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done";
    place.shell(&["--time", &short().1], line).expect_code(124).prints("bye");
}

/// K153, T28, T62: one that does not is ended with everything that it started.
#[test]
fn nothing_outlives_the_grace() {
    let place = place();
    let line = format!("{HEARTBEAT} trap '' TERM INT HUP; while :; do sleep 0.05; done");
    let began = Instant::now();
    let (time, flag) = short();
    let child = start(&place, &["--time", &flag], &line);
    Ended::of(child.wait_with_output().unwrap()).expect_code(124);
    let took = began.elapsed();
    let least = time + GRACE;
    assert!(took >= least && took < least + slowly(Duration::from_secs(4)), "{took:?}");
    assert!(!is_written_to(&place.project.join("w/beat")));
}

/// K152, T66: whoever has stopped is not out of reach.
#[test]
fn a_stopped_program_is_ended_too() {
    let place = place();
    let began = Instant::now();
    let (time, flag) = short();
    let line = "trap 'echo bye; exit 0' TERM; kill -STOP $$; while :; do sleep 0.05; done";
    place.shell(&["--time", &flag], line).expect_code(124).prints("bye");
    assert!(began.elapsed() < time + slowly(Duration::from_secs(3)), "{:?}", began.elapsed());
}

/// K152: signals go on being forwarded in the grace.
#[test]
fn the_grace_can_be_cut_short() {
    let place = place();
    let line = "trap 'touch w/asked' TERM; trap 'echo cut; exit 3' INT; \
                while :; do sleep 0.05; done";
    let (time, flag) = short();
    let began = Instant::now();
    let child = start(&place, &["--time", &flag], line);
    wait_for(&place.project.join("w/asked"));
    signal(&child, Signal::INT);
    Ended::of(child.wait_with_output().unwrap()).expect_code(124).prints("cut");
    assert!(began.elapsed() < time + slowly(Duration::from_secs(3)), "{:?}", began.elapsed());
}

/// T54, T66: a supervisor that is stopped, as a program can bring about on a terminal, is no way to
/// more time.
#[test]
fn a_stopped_supervisor_does_not_stop_the_clock() {
    let place = place();
    let line = format!("{HEARTBEAT} trap '' TERM; while :; do sleep 0.05; done");
    let (time, flag) = short();
    let child = start(&place, &["--time", &flag], &line);
    let beat = place.project.join("w/beat");
    wait_for(&beat);
    signal(&child, Signal::STOP);
    assert!(is_written_to(&beat));
    // Eight seconds after the program's time is over, the cage ends by itself.
    std::thread::sleep(time + Duration::from_secs(8) + slowly(Duration::from_secs(1)));
    assert!(!is_written_to(&beat));
    signal(&child, Signal::CONT);
    Ended::of(child.wait_with_output().unwrap()).expect_code(124);
}

/// What a program that was asked to end has for it.
const GRACE: Duration = Duration::from_secs(5);
