//! Programs that never stop: to fork, to write, to call what they may not. Each ends when its time is
//! over, with that as the reason, and what is kept and told of it stays small.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ended, Place, has, skip, slowly};

/// Time in which a program gets somewhere, as a flag.
fn some_time() -> String {
    format!("{}s", slowly(Duration::from_secs(2)).as_secs())
}

/// The result of a run that must have ended for its time.
fn out_of_time(ended: &Ended) -> Value {
    ended.expect_code(124).says("time limit");
    let result: Value = serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(result.get("reason"), Some(&"walltime_exceeded".into()), "{result}");
    result
}

/// K55, K56, T29: a fork bomb that takes no refusal for an answer.
#[test]
fn forks_without_end() {
    if !has("perl") {
        return;
    }
    let place = Place::new();
    // What the kernel took for a process that it then refused counts until it has freed it, which it does later.
    let limits = ["--pids", "40", "--memory", "2G"];
    let (flags, bomb) = (["run", "--json", "--time", &some_time()], "fork while 1");
    let began = Instant::now();
    let ended = place.ask([&flags[..], &limits, &["--", "perl", "-e", bomb]].concat());
    if ended.code == 122 {
        // A user who was given no control group. Where one must be had is for other tests to say.
        ended.says("cannot be limited here");
        return skip("no limits can be held here");
    }
    let result = out_of_time(&ended);
    assert!(result["usage"]["pids_refused"].as_u64().unwrap() > 0, "{result}");
    assert!(began.elapsed() < slowly(Duration::from_secs(20)), "{:?}", began.elapsed());
}

/// K56, T29: what nobody needs is handed through, not gathered, until the time is over.
#[test]
fn output_without_end() {
    let place = Place::new();
    let mut command = place.stockade();
    command.args(["run", "--json", "--time", &some_time(), "--", "yes"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0_u64);
    loop {
        match stdout.read(&mut buffer).unwrap() {
            0 => break,
            length => bytes += length as u64,
        }
    }
    let ended = Ended::of(child.wait_with_output().unwrap());
    out_of_time(&ended);
    assert!(bytes > 1 << 20, "{bytes}");
}

/// K56, T29: nor does it help to have nobody read it.
#[test]
fn output_that_nobody_reads() {
    let place = Place::new();
    let mut command = place.stockade();
    command.args(["run", "--json", "--time", &some_time(), "--", "yes"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let unread = child.stdout.take().unwrap();
    out_of_time(&Ended::of(child.wait_with_output().unwrap()));
    drop(unread);
}

/// T29: output of many times the memory limit is not the cage's memory.
#[test]
fn output_larger_than_memory() {
    let place = Place::new();
    let ended = place.shell(&["--memory", "32M"], "head -c 100M /dev/zero");
    if ended.code == 122 {
        ended.says("cannot be limited here");
        return skip("no limits can be held here");
    }
    ended.expect_code(0);
    assert_eq!(ended.stdout.len(), 100 << 20);
}

/// K155, K187, T29: a million refusals are a line for a person and a few records.
#[test]
fn refused_calls_without_end() {
    if !cfg!(target_arch = "x86_64") {
        return skip("the number of the call is that of x86-64");
    }
    if !has("perl") {
        return;
    }
    let place = Place::new();
    let flood = "1 while syscall(101, 0, 0, 0, 0)";
    let ended = place.ask(["run", "--json", "--time", &some_time(), "--", "perl", "-e", flood]);
    out_of_time(&ended);
    assert!(ended.stderr.len() < 4096, "{}", ended.stderr);
    let records = place.records();
    assert!(records.len() < 20, "{records:#?}");
    let told = |one: &Value| one["event"] == "policy.violation" && one["value"] == "ptrace";
    assert_eq!(records.iter().filter(|one| told(one)).count(), 1, "{records:#?}");
}
