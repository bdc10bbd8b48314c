//! What is on record of every start, and that nothing starts without.

use audit::{Event, Reason};
use cage::runner::{Labels, Request, Uncaged, UncagedProgram, UncagedReason};
use rustix::process::{Resource, Rlimit};

use crate::support::{descendants, eventually, runner, runner_with, shell, small};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_run_is_on_record_from_intent_to_end", a_run_is_on_record_from_intent_to_end),
    ("a_failed_start_is_on_record", a_failed_start_is_on_record),
    ("an_uncaged_run_is_on_record", an_uncaged_run_is_on_record),
    ("nothing_starts_without_a_record", nothing_starts_without_a_record),
];

fn labels() -> Labels {
    Labels {
        project_id: "/srv/app".to_owned(),
        session_id: Some("s1".to_owned()),
        subagent_name: Some("tester".to_owned()),
    }
}

/// K170, K171, K178, K193, K195, K241
fn a_run_is_on_record_from_intent_to_end() {
    let runner = runner();
    let request = Request { labels: labels(), ..shell("exit 3") };
    let handle = runner.spawn(request).unwrap();
    let hash = handle.plan().unwrap().hash();
    handle.wait();
    let id = handle.invocation_id().to_owned();
    let events = runner.close();
    let [
        Event::SubagentIntent { invocation_id, project_id, session_id, caged: true, .. },
        Event::SubagentSpawn { effective_cage_hash, cage_summary, subagent_name, .. },
        Event::SubagentExit { exit_code: 3, signal: None, reason: Reason::Exited, .. },
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!((invocation_id.as_str(), project_id.as_str()), (id.as_str(), "/srv/app"));
    assert_eq!(session_id.as_ref().unwrap().as_str(), "s1");
    assert_eq!(subagent_name.as_ref().unwrap().as_str(), "tester");
    assert_eq!(effective_cage_hash.as_str(), hash.as_str());
    assert!(cage_summary.as_str().starts_with("cage[test@"), "{cage_summary}");
}

/// K183, K185
fn a_failed_start_is_on_record() {
    let runner = runner();
    runner.spawn(small(&["/nowhere/at/all"]).into()).unwrap_err();
    let events = runner.close();
    let [Event::SubagentIntent { .. }, Event::SubagentSpawnFailed { error_code, details, .. }] =
        events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(error_code.as_str(), "program_not_found");
    assert!(details.as_str().contains("/nowhere/at/all"), "{details}");
}

/// K160, K161, K163, K194
fn an_uncaged_run_is_on_record() {
    let runner = runner_with(|options| options.uncaged = Uncaged::Allow);
    let program = UncagedProgram {
        argv: vec!["sleep".into(), "1000".into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        working_directory: "/".into(),
        walltime: None,
        reason: UncagedReason::DaemonNoSandbox,
    };
    let handle = runner.spawn(Request { labels: labels(), ..Request::uncaged(program) }).unwrap();
    runner.drain(cage::EndReason::SessionEnded);
    let pid = handle.pid().as_raw_nonzero().get().unsigned_abs();
    let events = runner.close();
    let [
        Event::SubagentIntent { caged: false, argv0, .. },
        Event::SubagentSpawnUncaged { reason: UncagedReason::DaemonNoSandbox, pid: told, .. },
        Event::SubagentKilled { reason: Reason::SessionEnded, .. },
        Event::SubagentExit { exit_code: 143, .. },
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!((argv0.as_str(), *told), ("sleep", pid));
}

/// K240: the storage takes no more.
fn nothing_starts_without_a_record() {
    let runner = runner();
    assert!(runner.spawn(shell("true")).unwrap().wait().is_success());
    sys::signal::ignore(libc::SIGXFSZ).unwrap();
    let before = rustix::process::getrlimit(Resource::Fsize);
    let none = Rlimit { current: Some(0), maximum: before.maximum };
    rustix::process::setrlimit(Resource::Fsize, none).unwrap();
    let started = descendants();
    let refused = runner.spawn(shell("sleep 1000"));
    rustix::process::setrlimit(Resource::Fsize, before).unwrap();
    let error = refused.unwrap_err();
    assert_eq!(error.code(), "audit_error", "{error}");
    assert_eq!(runner.count(), 0);
    eventually("the cage is gone", || descendants() == started);
}
