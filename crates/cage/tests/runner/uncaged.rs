//! Programs without a cage: refused unless allowed, held to their time, ended with what they
//! started.

use std::time::{Duration, Instant};

use cage::runner::{Request, Uncaged, UncagedProgram, UncagedReason};

use crate::support::{TestRunner, eventually, is_alive, runner, runner_with, stdout_of};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("without_a_cage_only_where_it_is_allowed", without_a_cage_only_where_it_is_allowed),
    ("time_holds_without_a_cage", time_holds_without_a_cage),
    ("a_group_ends_with_its_program", a_group_ends_with_its_program),
];

fn program(script: &str) -> UncagedProgram {
    UncagedProgram {
        invocation: cage::prepare::Name::new().unwrap().text,
        argv: ["sh", "-c", script].map(Into::into).to_vec(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("MARK".into(), "own".into())],
        working_directory: "/".into(),
        walltime: None,
        reason: UncagedReason::DslDisabled,
    }
}

fn allowing() -> TestRunner {
    runner_with(|options| options.uncaged = Uncaged::Allow)
}

/// K157, K159, K164
fn without_a_cage_only_where_it_is_allowed() {
    let error = runner().spawn(Request::uncaged(program("true"))).unwrap_err();
    assert_eq!(error.kind(), cage::Kind::UncagedNotAllowed);
    let runner = allowing();
    let handle = runner.spawn(Request::uncaged(program("echo $MARK $PWD; exit 4"))).unwrap();
    assert!(!handle.caged() && handle.plan().is_none());
    assert_eq!(handle.wait().exit_code(), 4);
    assert_eq!(stdout_of(&handle), "own /\n");
    let mut missing = program("");
    missing.argv = vec!["/nowhere/at/all".into()];
    assert_eq!(
        runner.spawn(Request::uncaged(missing)).unwrap_err().kind().word(),
        "program_not_found"
    );
}

/// K162
fn time_holds_without_a_cage() {
    let runner = allowing();
    let mut limited = program("sleep 1000 & sleep 1000");
    limited.walltime = Some(Duration::from_millis(300));
    let started = Instant::now();
    let ended = runner.spawn(Request::uncaged(limited)).unwrap().wait();
    assert_eq!(ended.reason.word(), "walltime_exceeded");
    assert!(started.elapsed() < testing::slowly(Duration::from_secs(3)));
}

/// K163
fn a_group_ends_with_its_program() {
    let runner = allowing();
    let handle = runner.spawn(Request::uncaged(program("sleep 1000 & echo $!; wait"))).unwrap();
    eventually("it has spoken", || handle.stdout().unwrap().kept().end > 0);
    let mut buffer = [0; 32];
    let count = handle.stdout().unwrap().reader().read_now(&mut buffer).unwrap();
    let child: i32 = String::from_utf8_lossy(&buffer[..count]).trim().parse().unwrap();
    assert!(is_alive(child));
    runner.drain(cage::EndReason::SessionEnded);
    assert_eq!(handle.wait().reason.word(), "session_ended");
    eventually("its child is gone", || !is_alive(child));
}
