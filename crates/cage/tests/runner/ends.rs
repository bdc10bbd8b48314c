//! How programs end: by themselves, by their time, by whoever holds them, and with whatever they
//! depend on.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use cage::runner::{Confinement, Handle, Request, RunError};
use cage::session::Sessions;
use jail::End;
use plan::{HostPath, LimitsPlan};
use rustix::process::Pid;
use testing::slowly;

use crate::bounds::{Greeter, limits_can_be_held, networked};
use crate::starts::own_groups;
use crate::support::{
    descendants, eventually, is_alive, runner, shell, small, stdout_of, with_policy,
};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_program_is_asked_to_end_and_then_killed", a_program_is_asked_to_end_and_then_killed),
    ("a_program_has_its_time_and_no_more", a_program_has_its_time_and_no_more),
    ("nothing_is_left_of_an_ended_cage", nothing_is_left_of_an_ended_cage),
    ("what_a_program_left_is_told_and_on_record", what_a_program_left_is_told_and_on_record),
    ("closing_takes_over_from_the_timer", closing_takes_over_from_the_timer),
    ("a_dropped_handle_ends_its_cage", a_dropped_handle_ends_its_cage),
    ("a_dropped_runner_ends_all", a_dropped_runner_ends_all),
    ("draining_lets_programs_finish", draining_lets_programs_finish),
    ("a_start_during_a_drain_is_refused_as_one", a_start_during_a_drain_is_refused_as_one),
    ("signals_that_do_not_exist_are_refused", signals_that_do_not_exist_are_refused),
    ("the_end_wakes_a_task", the_end_wakes_a_task),
    ("killed_from_outside", killed_from_outside),
    ("a_lost_launcher_takes_its_own_cages", a_lost_launcher_takes_its_own_cages),
    ("signals_reach_the_program", signals_reach_the_program),
];

fn wait_until_ready(handle: &Handle) {
    eventually("it is ready", || handle.stdout().unwrap().kept().end >= 6);
}

/// K174
fn a_program_is_asked_to_end_and_then_killed() {
    let runner = runner();
    let polite = "trap 'exit 9' TERM; echo ready; sleep 1000 & wait";
    let polite = runner.spawn(shell(polite)).unwrap();
    let deaf = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
    let deaf = runner.spawn(shell(deaf)).unwrap();
    let stopped = runner.spawn(shell("echo ready; kill -STOP $$")).unwrap();
    [&polite, &deaf, &stopped].into_iter().for_each(wait_until_ready);
    let ended = polite.close();
    assert_eq!((ended.end, ended.reason.word()), (End::Exited(9), "cancelled"));
    let ended = stopped.close();
    assert_eq!(ended.end, End::Signalled(libc::SIGTERM));
    let started = Instant::now();
    let ended = deaf.close();
    assert_eq!((ended.end, ended.reason.word()), (End::Signalled(libc::SIGKILL), "cancelled"));
    assert!(started.elapsed() >= cage::GRACE);
}

/// K151, K155: time is over for the whole tree.
fn a_program_has_its_time_and_no_more() {
    let runner = runner();
    let mut prepared = small(&["sh", "-c", "sleep 1000 & sleep 1000"]);
    Arc::make_mut(&mut prepared.plan).walls.limits =
        LimitsPlan { walltime_sec: Some(1), ..LimitsPlan::default() };
    let started = Instant::now();
    let handle = runner.spawn(prepared.into()).unwrap();
    let ended = handle.wait();
    assert_eq!(ended.reason.word(), "walltime_exceeded");
    let took = started.elapsed();
    let time = Duration::from_secs(1);
    assert!(took >= time && took < time + slowly(cage::GRACE), "{took:?}");
    assert!(!is_alive(handle.pid().as_raw_nonzero().get()));
}

/// K143, K154, K175, K176, K177: whoever ends it, the network, the group and the scratch of a cage go with it.
fn nothing_is_left_of_an_ended_cage() {
    let runner = runner();
    let state = HostPath::new(runner.state.path().canonicalize().unwrap().into_os_string());
    let sessions = Sessions::open(&state.unwrap()).unwrap();
    let greeter = Greeter::start();
    for (walltime_sec, reason) in [(None, "cancelled"), (Some(1), "walltime_exceeded")] {
        let mut request = networked(greeter.port, "sleep 1000");
        request.session = Some(sessions.begin_for_one_run().unwrap());
        let memory_mb = limits_can_be_held().then_some(64);
        if let Confinement::Caged(prepared) = &mut request.confinement {
            let limits = LimitsPlan { memory_mb, walltime_sec, ..LimitsPlan::default() };
            Arc::make_mut(&mut prepared.plan).walls.limits = limits;
        }
        let handle = runner.spawn(request).unwrap();
        assert_eq!(own_groups().is_empty(), memory_mb.is_none());
        assert_eq!(sessions.list().unwrap().len(), 1);
        let ended = if walltime_sec.is_some() { handle.wait() } else { handle.close() };
        assert_eq!(ended.reason.word(), reason);
        assert_eq!(ended.network.as_ref().unwrap().end, cage::NetworkEnd::WithCage);
        assert_eq!(own_groups(), Vec::<std::path::PathBuf>::new());
        assert_eq!(runner.count(), 0);
        eventually("its session is gone", || sessions.list().unwrap().is_empty());
    }
}

/// K227: whoever embeds the library learns what was set aside, as the command's user does.
fn what_a_program_left_is_told_and_on_record() {
    let runner = runner();
    let project = tempfile::tempdir().unwrap();
    // A cage of root acts as a user who owns nothing.
    std::fs::set_permissions(project.path(), Permissions::from_mode(0o777)).unwrap();
    let path = HostPath::new(project.path().canonicalize().unwrap().into_os_string()).unwrap();
    let mut policy = policy::Policy::closed("test");
    policy.fs.push(policy::FsRule {
        path: path.clone(),
        access: policy::FsAccess::ReadWrite,
        reach: policy::Reach::Anywhere,
        origin: policy::RuleOrigin::BuiltIn("the test"),
    });
    let script = format!("echo x > {path}/.envrc");
    let handle = runner.spawn(with_policy(policy, &["sh", "-c", &script]).into()).unwrap();
    let ended = handle.wait();
    assert!(ended.is_success(), "{ended:?}");
    assert_eq!(ended.findings.found.len(), 1, "{ended:?}");
    assert!(!project.path().join(".envrc").exists());
    drop(handle);
    let is_finding =
        |event: &&audit::Event| matches!(event, audit::Event::QuarantineFinding { .. });
    assert_eq!(runner.close().iter().filter(is_finding).count(), 1);
}

/// K173: the time that is over during the grace is not why it ended.
fn closing_takes_over_from_the_timer() {
    let runner = runner();
    let mut deaf = small(&["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"]);
    Arc::make_mut(&mut deaf.plan).walls.limits =
        LimitsPlan { walltime_sec: Some(2), ..LimitsPlan::default() };
    let handle = runner.spawn(deaf.into()).unwrap();
    eventually("it hears no more", || handle.stdout().unwrap().kept().end == 5);
    let ended = handle.close();
    assert_eq!((ended.end, ended.reason.word()), (End::Signalled(libc::SIGKILL), "cancelled"));
    let told = |event: &audit::Event| matches!(event, audit::Event::PolicyViolation { .. });
    let events = runner.close();
    assert!(!events.iter().any(told), "{events:?}");
}

fn a_dropped_handle_ends_its_cage() {
    let runner = runner();
    let handle = runner.spawn(shell("setsid sleep 1000 & sleep 1000")).unwrap();
    let pid = handle.pid().as_raw_nonzero().get();
    drop(handle);
    eventually("the cage is gone", || !is_alive(pid));
    eventually("the runner knows", || runner.count() == 0);
}

/// K190, T62: at once, without being asked first.
fn a_dropped_runner_ends_all() {
    let before = descendants();
    let runner = runner();
    let script = "trap 'echo asked' TERM; setsid sleep 1000 & while :; do sleep 0.1; done";
    let handles: Vec<_> = (0..8).map(|_| runner.spawn(shell(script)).unwrap()).collect();
    drop(runner);
    for handle in handles {
        assert_eq!(handle.wait().end, End::Signalled(libc::SIGKILL));
        assert_eq!(stdout_of(&handle), "");
    }
    eventually("nothing is left", || descendants() == before);
}

/// K190
fn draining_lets_programs_finish() {
    let runner = runner();
    let script = "trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait";
    let handle = runner.spawn(shell(script)).unwrap();
    wait_until_ready(&handle);
    runner.drain(cage::EndReason::SessionEnded);
    let ended = handle.try_wait().unwrap();
    assert_eq!((ended.end, ended.reason.word()), (End::Exited(0), "session_ended"));
    assert_eq!(crate::support::stdout_of(&handle), "ready\nbye\n");
    assert_eq!(runner.spawn(shell("true")).unwrap_err().kind(), cage::Kind::Closing);
}

/// A start that a drain comes upon is told why, not that its cage broke.
fn a_start_during_a_drain_is_refused_as_one() {
    for _ in 0..6 {
        let runner = runner();
        let codes = std::thread::scope(|scope| {
            let starting = scope.spawn(|| {
                let refused = |_| runner.spawn(shell("sleep 1000")).err();
                (0..64).filter_map(refused).map(|error| error.kind().word()).collect::<Vec<_>>()
            });
            std::thread::sleep(Duration::from_millis(40));
            runner.drain(cage::EndReason::SessionEnded);
            starting.join().unwrap()
        });
        assert!(codes.iter().all(|code| *code == "closing"), "{codes:?}");
    }
}

fn signals_that_do_not_exist_are_refused() {
    let runner = runner();
    let handle = runner.spawn(shell("sleep 1000")).unwrap();
    for signal in [-1, 0, 65, 999] {
        assert_eq!(handle.signal(signal), Err(rustix::io::Errno::INVAL), "{signal}");
    }
    handle.signal(15).unwrap();
    assert_eq!(handle.wait().end, End::Signalled(15));
}

/// A future needs nothing but a thread that can be woken.
fn the_end_wakes_a_task() {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    fn block_on<F: Future>(future: F) -> F::Output {
        let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }
    let runner = runner();
    let handle = runner.spawn(shell("echo one; sleep 0.2; echo two; exit 5")).unwrap();
    let (text, ended) = block_on(async {
        let mut reader = handle.stdout().unwrap().reader();
        let (mut text, mut buffer) = (Vec::new(), [0; 64]);
        while let count @ 1.. = reader.read_async(&mut buffer).await {
            text.extend_from_slice(&buffer[..count]);
        }
        (text, handle.ended().await)
    });
    assert_eq!((text.as_slice(), ended.exit_code()), (&b"one\ntwo\n"[..], 5));
}

/// T54, K192: pid 1 of one cage, and the launcher that started them.
fn killed_from_outside() {
    let runner = runner();
    let one = runner.spawn(shell("sleep 1000")).unwrap();
    let other = runner.spawn(shell("sleep 1000")).unwrap();
    sys::signal::send(one.pid(), libc::SIGKILL).unwrap();
    let ended = one.wait();
    assert_eq!((ended.end, ended.reason.word()), (End::Signalled(libc::SIGKILL), "signalled"));
    assert!(other.try_wait().is_none());
    // Who asks when nobody else does is served by the first.
    sys::signal::send(runner.launcher_pids()[0], libc::SIGKILL).unwrap();
    let ended = other.wait();
    assert_eq!(ended.end, End::Signalled(libc::SIGKILL));
    assert_eq!(ended.reason.word(), "supervisor_lost");
    let refused = runner.spawn(shell("true")).unwrap_err();
    assert!(matches!(refused, RunError::LauncherGone), "{refused}");
}

/// T54, K192: where several launchers start cages, the others' stay, and no more are started.
fn a_lost_launcher_takes_its_own_cages() {
    let runner = runner();
    let launchers = runner.launcher_pids();
    let processors = std::thread::available_parallelism().unwrap().get();
    assert_eq!(launchers.len(), processors.min(8));
    let spawn = || runner.spawn(shell("sleep 1000")).unwrap();
    let mut handles = Vec::new();
    // Whoever asks while one is busy is served by another.
    for _ in 0..50 {
        handles.extend(std::thread::scope(|scope| {
            let started: Vec<_> = (0..4).map(|_| scope.spawn(spawn)).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        }));
        if launchers.iter().take(2).all(|one| handles.iter().any(|it| parent_of(it) == *one)) {
            break;
        }
    }
    let [of_first, of_others] = [true, false].map(|first| {
        let is_it = |handle: &&Handle| (parent_of(handle) == launchers[0]) == first;
        handles.iter().filter(is_it).collect::<Vec<_>>()
    });
    assert!(of_others.iter().all(|handle| launchers.contains(&parent_of(handle))));
    assert!(!of_first.is_empty() && (processors == 1 || !of_others.is_empty()));
    sys::signal::send(launchers[0], libc::SIGKILL).unwrap();
    for handle in of_first {
        assert_eq!(handle.wait().reason.word(), "supervisor_lost");
    }
    assert!(of_others.iter().all(|handle| handle.try_wait().is_none()));
    let refused = runner.spawn(shell("true")).unwrap_err();
    assert!(matches!(refused, RunError::LauncherGone), "{refused}");
    let refused = runner.spawn(shell("true")).unwrap_err();
    assert!(matches!(refused, RunError::LauncherGone), "{refused}");
    for handle in of_others {
        handle.kill();
        assert_eq!(handle.wait().reason.word(), "cancelled");
    }
}

/// The process that started a cage.
fn parent_of(handle: &Handle) -> Pid {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", handle.pid())).unwrap();
    let parent = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap();
    Pid::from_raw(parent.parse().unwrap()).unwrap()
}

fn signals_reach_the_program() {
    let runner = runner();
    let script = "trap 'exit 11' USR1; echo ready; while :; do sleep 0.05; done";
    let handle = runner.spawn(Request::from(small(&["sh", "-c", script]))).unwrap();
    eventually("it is ready", || handle.stdout().unwrap().kept().end > 0);
    handle.signal(libc::SIGUSR1).unwrap();
    assert_eq!(handle.wait().exit_code(), 11);
}
