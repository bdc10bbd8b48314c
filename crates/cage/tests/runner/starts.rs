//! Starting programs: many at once, and none of them by halves.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use audit::Event;
use cage::runner::{Confinement, RunError, Runner, StartStep};
use cage::session::Sessions;
use jail::End;
use plan::{HostPath, LimitsPlan};
use rustix::io::Errno;

use crate::bounds::{Greeter, limits_can_be_held, networked};
use crate::support::{
    control_groups, descendants, eventually, open_descriptors, options, runner, runner_with, shell,
    small, stdout_of,
};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_program_runs_and_its_end_is_told", a_program_runs_and_its_end_is_told),
    ("many_starts_at_once_are_kept_apart", many_starts_at_once_are_kept_apart),
    ("the_steps_come_in_their_order", the_steps_come_in_their_order),
    ("a_failed_step_leaves_nothing", a_failed_step_leaves_nothing),
    ("what_cannot_start_is_told_by_kind", what_cannot_start_is_told_by_kind),
    ("a_runner_is_refused_beside_threads", a_runner_is_refused_beside_threads),
];

/// K16, K172, K186
fn a_program_runs_and_its_end_is_told() {
    let runner = runner();
    let handle = runner.spawn(shell("echo out; echo err >&2; exit 7")).unwrap();
    assert!(handle.caged());
    assert_eq!(handle.plan().unwrap().start.invocation, handle.invocation_id());
    let ended = handle.wait();
    assert_eq!((ended.end, ended.exit_code(), ended.is_success()), (End::Exited(7), 7, false));
    assert_eq!(ended.reason.word(), "exited");
    assert_eq!(stdout_of(&handle), "out\n");
    assert_eq!(crate::support::text_of(handle.stderr()), "err\n");
    assert!(handle.try_wait().is_some());
    assert_eq!(handle.signal(libc::SIGTERM), Err(Errno::SRCH));
}

/// K237
fn many_starts_at_once_are_kept_apart() {
    let runner = runner();
    let seen = Mutex::new(HashSet::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let number @ ..200 = next.fetch_add(1, Ordering::Relaxed) {
                    let handle = runner.spawn(shell(&format!("echo {number}"))).unwrap();
                    let id = handle.invocation_id().to_owned();
                    assert_eq!(stdout_of(&handle), format!("{number}\n"));
                    assert!(handle.wait().is_success());
                    assert!(seen.lock().unwrap().insert(id));
                }
            });
        }
    });
    assert_eq!(seen.lock().unwrap().len(), 200);
    assert_eq!(runner.count(), 0);
}

/// K165
fn the_steps_come_in_their_order() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&taken);
    let note = Arc::new(move |step: StartStep| {
        noted.lock().unwrap().push(step);
        Ok(())
    });
    let runner = runner_with(|options| options.before_step = Some(note));
    let greeter = Greeter::start();
    assert!(runner.spawn(networked(greeter.port, "true")).unwrap().wait().is_success());
    assert_eq!(*taken.lock().unwrap(), StartStep::ALL);
}

/// K185: whichever step fails, no process, descriptor, control group or session of the start is
/// left.
fn a_failed_step_leaves_nothing() {
    if !testing::has("bash") {
        return;
    }
    let failing = Arc::new(Mutex::new(None));
    let asked = Arc::clone(&failing);
    let before_step = Arc::new(move |step: StartStep| match *asked.lock().unwrap() {
        Some(failing) if failing == step => Err(Errno::IO),
        _ => Ok(()),
    });
    let runner = runner_with(|options| options.before_step = Some(before_step));
    let greeter = Greeter::start();
    let port = greeter.port;
    let state = HostPath::new(runner.state.path().canonicalize().unwrap().into_os_string());
    let sessions = Sessions::open(&state.unwrap()).unwrap();
    let request = |script: &str| {
        let mut request = networked(port, script);
        if let Confinement::Caged(prepared) = &mut request.confinement
            && limits_can_be_held()
        {
            Arc::make_mut(&mut prepared.plan).walls.limits =
                LimitsPlan { memory_mb: Some(64), ..LimitsPlan::default() };
        }
        request.session = Some(sessions.begin_for_one_run().unwrap());
        request
    };
    // The first one starts the gatekeeper, which stays.
    assert!(runner.spawn(request("true")).unwrap().wait().is_success());
    for step in StartStep::ALL {
        let (processes, descriptors) = (descendants(), open_descriptors());
        *failing.lock().unwrap() = Some(step);
        let error = runner.spawn(request("sleep 1000")).unwrap_err();
        assert!(matches!(error, RunError::Kernel { errno: Errno::IO, .. }), "{step:?}: {error}");
        *failing.lock().unwrap() = None;
        assert_eq!(runner.count(), 0, "{step:?}");
        assert_eq!(sessions.list().unwrap(), [], "{step:?}");
        assert_eq!(own_groups(), Vec::<PathBuf>::new(), "{step:?}");
        eventually(&format!("no process is left after {step:?}"), || descendants() == processes);
        let nothing_is_open = || open_descriptors() == descriptors;
        eventually(&format!("no descriptor is left after {step:?}"), nothing_is_open);
        assert!(runner.spawn(request("true")).unwrap().wait().is_success(), "{step:?}");
    }
    let failures = |event: &&Event| matches!(event, Event::SubagentSpawnFailed { .. });
    assert_eq!(runner.close().iter().filter(failures).count(), StartStep::ALL.len());
}

/// Control groups that this process has made.
pub(crate) fn own_groups() -> Vec<PathBuf> {
    let mine = format!("stockade-{}-", std::process::id());
    let is_mine = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&mine))
    };
    control_groups().into_iter().filter(is_mine).collect()
}

/// K183, K237
fn what_cannot_start_is_told_by_kind() {
    let runner = runner();
    let error = runner.spawn(small(&["/nowhere/at/all"]).into()).unwrap_err();
    assert_eq!(error.kind().word(), "program_not_found", "{error}");
    let error = runner.spawn(small(&["/usr"]).into()).unwrap_err();
    assert_eq!(error.kind().word(), "program_not_executable", "{error}");
    let prepared = small(&["sleep", "1000"]);
    let again = prepared.plan.clone();
    let handle = runner.spawn(prepared.into()).unwrap();
    let mut twin = small(&["true"]);
    Arc::make_mut(&mut twin.plan).start.invocation = again.start.invocation.clone();
    assert_eq!(runner.spawn(twin.into()).unwrap_err().kind().word(), "duplicate");
    assert!(handle.try_wait().is_none());
}

fn a_runner_is_refused_beside_threads() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let error = Runner::start(options(std::path::Path::new("/"))).unwrap_err();
            assert!(error.to_string().contains("before the first thread"), "{error}");
        });
    });
}
