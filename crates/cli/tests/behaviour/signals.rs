//! Signals to the command while its program runs, has stopped or has ended, and limits that come from
//! the caller.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::support::{Ended, Place, has, skip, slowly, stockade_binary};

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let _gone = rustix::process::kill_process(pid, signal);
}

fn start(project: &Place, flags: &[&str], line: &str) -> Child {
    let mut command = project.stockade();
    command.arg("run").args(flags).args(["--", "sh", "-c", line]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(path: &std::path::Path) {
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// K227: what would end the command waits until everything that the program planted is set aside.
#[test]
fn a_signal_does_not_cut_the_search_after_a_run_short() {
    let project = Place::new();
    let line = "trap '' TERM HUP INT; i=0; while [ $i -lt 300 ]; do mkdir -p w/d$i; i=$((i+1)); done; \
                for i in 1 7 99 200 299; do echo x > w/d$i/.envrc; done; touch w/ready; exit 3";
    project.write("w/keep", "");
    let mut child = start(&project, &["--rw", "w"], line);
    wait_for(&project.project.join("w/ready"));
    while child.try_wait().unwrap().is_none() {
        for one in [Signal::TERM, Signal::HUP, Signal::INT] {
            signal(&child, one);
        }
    }
    let ended = Ended::of(child.wait_with_output().unwrap());
    ended.expect_code(3);
    for directory in [1, 7, 99, 200, 299] {
        let left = project.project.join(format!("w/d{directory}/.envrc"));
        assert!(!left.exists(), "{} is still there", left.display());
    }
}

/// K152: a program that has stopped itself can still be ended, and be continued.
#[test]
fn a_program_that_stopped_itself_hears_of_its_end() {
    for (sent, code) in [(Signal::TERM, 143), (Signal::CONT, 7)] {
        let project = Place::new();
        project.write("w/keep", "");
        let child = start(&project, &["--rw", "w"], "touch w/ready; kill -STOP $$; exit 7");
        wait_for(&project.project.join("w/ready"));
        std::thread::sleep(slowly(Duration::from_millis(200)));
        signal(&child, sent);
        Ended::of(child.wait_with_output().unwrap()).expect_code(code);
    }
}

/// T18, T30: the first process of the cage keeps its limits and its share of the processor.
#[test]
fn the_first_process_is_not_the_programs_to_steer() {
    if !cfg!(target_arch = "x86_64") {
        return skip("the numbers of the calls are those of x86-64");
    }
    if !has("perl") {
        return;
    }
    let project = Place::new();
    let script = "my ($l, $m) = (pack('QQ', 1, 1), pack('Q', 1)); my @calls = (
        sub { syscall(302, 1, 0, $l, 0) }, sub { syscall(203, 1, 8, $m) },
        sub { syscall(141, 0, 1, 19) }, sub { syscall(251, 1, 1, 0) },
        sub { syscall(141, 0, 0, 5) });
        print join(',', map { $_->() == -1 ? 0 + $! : 'done' } @calls);";
    let ended = project.ask(["run", "--", "perl", "-e", script]);
    ended.expect_code(0).prints("1,1,1,1,done");
}

/// A caller without the right to raise its limit of core dumps has a cage as well.
#[test]
fn a_hard_limit_of_no_core_dumps_is_no_obstacle() {
    let project = Place::new();
    let line = "ulimit -c 0; exec \"$0\" run -- true";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).arg(stockade_binary()).current_dir(&project.project);
    shell.env("HOME", &project.home).env("XDG_STATE_HOME", project.state());
    Ended::of(shell.output().unwrap()).expect_code(0);
}

/// K227, T28: who asks twice gets an end, whatever the program thinks of it, and what it left is set aside.
#[test]
fn a_program_that_ignores_everything_is_ended_by_a_second_request() {
    let project = Place::new();
    project.write("w/keep", "");
    let line = "trap '' TERM HUP INT QUIT; echo x > w/.envrc; touch w/ready; \
                while :; do sleep 0.1; done";
    let child = start(&project, &["--rw", "w"], line);
    wait_for(&project.project.join("w/ready"));
    // Once is the program's own business.
    for one in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        signal(&child, one);
    }
    std::thread::sleep(slowly(Duration::from_millis(500)));
    let asked = Instant::now();
    signal(&child, Signal::TERM);
    let ended = Ended::of(child.wait_with_output().unwrap());
    ended.expect_code(137).says(".envrc` appeared during the run");
    assert!(asked.elapsed() >= cage::GRACE, "{:?}", asked.elapsed());
    assert!(!project.project.join("w/.envrc").exists());
    let records = project.records();
    assert!(records.iter().any(|record| record["reason"] == "cancelled"), "{records:#?}");
}
