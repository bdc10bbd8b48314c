//! Small cages for tests, and what a process has open and running.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cage::prepare::{Caller, Prepared, Selection, prepare};
use cage::runner::{Handle, OutputBuffer, Request, Runner, RunnerOptions};
use plan::HostPath;
use policy::{NetworkSettings, Place, Policy};

/// A runner with a state directory of its own.
pub(crate) struct TestRunner {
    runner: Runner,
    pub(crate) state: tempfile::TempDir,
}

impl std::ops::Deref for TestRunner {
    type Target = Runner;

    fn deref(&self) -> &Runner {
        &self.runner
    }
}

impl TestRunner {
    /// Ends the runner and reads its record.
    pub(crate) fn close(self) -> Vec<audit::Event> {
        drop(self.runner);
        let directory = self.state.path().join("audit");
        audit::verify(&directory, &audit::Expected::default()).unwrap();
        let reader = audit::Reader::open(&directory).unwrap();
        let events = reader
            .records(audit::Filter::default())
            .map(|record| record.unwrap().event().unwrap())
            .filter(|event| !format!("{event:?}").starts_with("Log"))
            // Depends on the machine.
            .filter(|event| !matches!(event, audit::Event::SandboxLimitsNotEnforced { .. }));
        events.collect()
    }
}

pub(crate) fn runner() -> TestRunner {
    runner_with(|_| {})
}

pub(crate) fn runner_with(change: impl FnOnce(&mut RunnerOptions)) -> TestRunner {
    // Threads of the test before, which were joined, may still be on their way out.
    eventually("this is the only thread", || sys::clone::thread_count() == Ok(1));
    let state = tempfile::tempdir().unwrap();
    let mut options = options(state.path());
    change(&mut options);
    TestRunner { runner: Runner::start(options).unwrap(), state }
}

pub(crate) fn options(state: &Path) -> RunnerOptions {
    let state = state.canonicalize().unwrap();
    RunnerOptions::new(HostPath::new(state.into_os_string()).unwrap())
}

/// A cage that sees nothing of the host but the base layer.
pub(crate) fn small(argv: &[&str]) -> Prepared {
    with_policy(Policy::closed("test"), argv)
}

pub(crate) fn with_policy(policy: Policy, argv: &[&str]) -> Prepared {
    prepared(policy, argv, |_| {})
}

pub(crate) fn prepared(
    policy: Policy,
    argv: &[&str],
    change: impl FnOnce(&mut cage::resolve::Surroundings),
) -> Prepared {
    let project = HostPath::new("/usr").unwrap();
    let mut surroundings = Caller::of_this_process().unwrap().surroundings(project.clone());
    change(&mut surroundings);
    let selection = Selection {
        policy,
        agent_command: Vec::new(),
        agent: None,
        place: Place { project, home: None, own_state: Vec::new() },
        surroundings,
        ceiling: None,
        confined: Vec::new(),
        network: NetworkSettings::default(),
    };
    let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
    prepare(&selection, &argv).unwrap()
}

pub(crate) fn shell(script: &str) -> Request {
    Request::from(small(&["sh", "-c", script]))
}

pub(crate) fn text_of(output: Option<&Arc<OutputBuffer>>) -> String {
    let mut text = String::new();
    output.unwrap().reader().read_to_string(&mut text).unwrap();
    text
}

pub(crate) fn stdout_of(handle: &Handle) -> String {
    text_of(handle.stdout())
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + testing::slowly(Duration::from_secs(10));
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What this process has open, by what it leads to; but for the record's head, which the record's own
/// thread opens for a moment after each start and each end.
pub(crate) fn open_descriptors() -> Vec<String> {
    let mut open: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .map(|target| target.display().to_string())
        .filter(|target| !target.starts_with("/proc/") && !target.contains("/audit/head"))
        .collect();
    open.sort();
    open
}

/// Every process below this one.
pub(crate) fn descendants() -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = vec![i32::try_from(std::process::id()).unwrap()];
    while let Some(parent) = parents.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            for child in children.unwrap_or_default().split_whitespace() {
                let child: i32 = child.parse().unwrap();
                found.push(child);
                parents.push(child);
            }
        }
    }
    found.sort_unstable();
    found
}

pub(crate) fn is_alive(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    Path::new(&format!("/proc/{pid}")).exists() && state != Some('Z')
}

/// Every control group of this machine.
pub(crate) fn control_groups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push(entry.path());
                directories.push(entry.path());
            }
        }
    }
    found
}
