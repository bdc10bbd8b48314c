//! What is on record of every start, and that nothing starts without.

use std::sync::Arc;

use audit::{Event, Reason};
use cage::runner::{Confinement, Labels, Request, Uncaged, UncagedProgram, UncagedReason};
use rustix::process::{Resource, Rlimit, WaitOptions};
use sys::clone::{Forked, Namespaces, fork_into};
use sys::seccomp::Instruction;

use crate::support::{descendants, eventually, runner, runner_with, shell, small};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_run_is_on_record_from_intent_to_end", a_run_is_on_record_from_intent_to_end),
    (
        "a_cage_is_described_once_and_a_relaxed_one_stands_out",
        a_cage_is_described_once_and_a_relaxed_one_stands_out,
    ),
    ("a_failed_start_is_on_record", a_failed_start_is_on_record),
    ("an_uncaged_run_is_on_record", an_uncaged_run_is_on_record),
    ("nothing_starts_without_a_record", nothing_starts_without_a_record),
    ("nothing_starts_before_its_record_is_durable", nothing_starts_before_its_record_is_durable),
];

fn labels() -> Labels {
    Labels {
        project_id: "/srv/app".to_owned(),
        session_id: Some("s1".to_owned()),
        subagent_name: Some("tester".to_owned()),
    }
}

/// K29, K170, K171, K178, K193, K195, K241, V18
fn a_run_is_on_record_from_intent_to_end() {
    let runner = runner();
    let request = Request { labels: labels(), ..shell("exit 3") };
    let handle = runner.spawn(request).unwrap();
    let hash = handle.plan().unwrap().hash();
    handle.wait();
    let id = handle.invocation_id().to_owned();
    let events = runner.close();
    let [
        Event::SandboxCage { effective_cage_hash: described, part: 1, parts: 1, entries },
        Event::SubagentIntent { invocation_id, project_id, session_id, caged: true, .. },
        Event::SubagentSpawn {
            effective_cage_hash,
            cage_summary,
            subagent_name,
            reduced_isolation: None,
            ..
        },
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
    assert_eq!(described, effective_cage_hash);
    let entries: Vec<&str> = entries.iter().map(|entry| entry.as_str()).collect();
    assert!(entries.contains(&"base ro /usr"), "{entries:#?}");
    assert_eq!(entries.last(), Some(&"network: loopback"));
}

/// K29, K139, K241, V18: the second start of a cage says nothing new about it, whatever its program; another
/// cage does.
fn a_cage_is_described_once_and_a_relaxed_one_stands_out() {
    let runner = runner();
    for line in ["true", "exit 0"] {
        assert!(runner.spawn(shell(line)).unwrap().wait().is_success());
    }
    let mut relaxed = shell("true");
    let Confinement::Caged(prepared) = &mut relaxed.confinement else { panic!("caged") };
    let plan = Arc::make_mut(&mut prepared.plan);
    plan.walls.seccomp = plan::SeccompPlan::native(plan::seccomp::Profile::Relaxed);
    plan.walls.reduced_isolation = vec!["the filter is relaxed".to_owned()];
    assert!(runner.spawn(relaxed).unwrap().wait().is_success());
    let events = runner.close();
    let described = events.iter().filter(|event| matches!(event, Event::SandboxCage { .. }));
    assert_eq!(described.count(), 2, "{events:#?}");
    let reduced: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::SubagentSpawn { reduced_isolation, .. } => Some(reduced_isolation.as_ref()),
            _ => None,
        })
        .map(|reduced| reduced.map(|text| text.as_str()))
        .collect();
    assert_eq!(reduced, [None, None, Some("the filter is relaxed")]);
}

/// K183, K185
fn a_failed_start_is_on_record() {
    let runner = runner();
    runner.spawn(small(&["/nowhere/at/all"]).into()).unwrap_err();
    let events = runner.close();
    let [
        Event::SandboxCage { .. },
        Event::SubagentIntent { .. },
        Event::SubagentSpawnFailed { error_code, details, .. },
    ] = events.as_slice()
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
        invocation: cage::prepare::Name::new().unwrap().text,
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
    assert_eq!(error.kind().word(), "record_unavailable", "{error}");
    assert_eq!(runner.count(), 0);
    eventually("the cage is gone", || descendants() == started);
}

/// K171, K240: what was written and may be lost is no record. In a process of its own, because a
/// system call filter stays.
fn nothing_starts_before_its_record_is_durable() {
    eventually("this is the only thread", || sys::clone::thread_count() == Ok(1));
    let (child, handle) = match fork_into(Namespaces::NONE, None).unwrap() {
        Forked::Parent { pid, pidfd } => (pid, pidfd),
        Forked::Child => {
            let runner = runner();
            assert!(runner.spawn(shell("true")).unwrap().wait().is_success());
            fail_to_store();
            let refused = runner.spawn(shell("sleep 1000")).map(|_| ()).unwrap_err();
            assert_eq!(refused.kind(), cage::Kind::RecordUnavailable, "{refused}");
            assert_eq!(runner.count(), 0);
            sys::exec::exit_now(0);
        }
    };
    let status = rustix::process::waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap().1;
    drop(handle);
    assert_eq!(status.exit_status(), Some(0), "{status:?}");
}

/// From here on the storage tells this thread that it has kept nothing.
fn fail_to_store() {
    let instruction = |code, jf, k| Instruction { code, jt: 0, jf, k };
    let number = u32::try_from(libc::SYS_fdatasync).unwrap();
    let failure = u32::try_from(libc::EIO).unwrap();
    rustix::thread::set_no_new_privs(true).unwrap();
    sys::seccomp::install(&[
        instruction(LOAD, 0, 0),
        instruction(JUMP_IF_EQUAL, 1, number),
        instruction(RETURN, 0, libc::SECCOMP_RET_ERRNO | failure),
        instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ])
    .unwrap();
}

/// Of the call's number, which comes first in what a filter sees; see seccomp(2).
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
