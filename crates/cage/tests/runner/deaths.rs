//! `kill -9` of everything that can be killed, at random moments while cages start and end: no
//! program outlives whoever held it, no durable record is lost, and the next one works.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use audit::Event;
use cage::runner::{Request, Runner};
use plan::LimitsPlan;
use rustix::process::Pid;

use crate::bounds::{Greeter, limits_can_be_held, networked};
use crate::support::{eventually, options, runner, small};

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("deaths_of_helpers_under_load", deaths_of_helpers_under_load),
    ("a_dead_supervisor_leaves_nothing_running", a_dead_supervisor_leaves_nothing_running),
];

/// The word by which this program is asked to be the supervisor that is killed.
pub(crate) const SUPERVISOR: &str = "be-the-supervisor";

/// How often something is killed; more by hand.
fn rounds(few: usize) -> usize {
    let asked = std::env::var("STOCKADE_DEATHS").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(few)
}

/// Numbers that look random and can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// T54, K192: first processes and gatekeepers die; whatever they held ends or loses its network, and
/// all others go on.
fn deaths_of_helpers_under_load() {
    if !testing::has("bash") {
        return;
    }
    let runner = runner();
    let greeter = Greeter::start();
    let living: Mutex<HashSet<Pid>> = Mutex::default();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (runner, living, done, port) = (&runner, &living, &done, greeter.port);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let script = format!("cat < /dev/tcp/127.0.0.1/{port}; sleep 0.01");
                    let request = match number % 2 {
                        0 => networked(port, &script),
                        _ => Request::from(small(&["sh", "-c", "echo hello; sleep 0.01"])),
                    };
                    // The gatekeeper may die between being asked and answering, again and again.
                    let Ok(handle) = runner.spawn(request) else { continue };
                    living.lock().unwrap().insert(handle.pid());
                    handle.wait();
                    living.lock().unwrap().remove(&handle.pid());
                }
            });
        }
        let mut dice = Dice(7);
        for _ in 0..rounds(60) {
            std::thread::sleep(Duration::from_millis(1 + dice.roll(20)));
            if dice.roll(3) == 0 {
                let gatekeeper = runner.gatekeeper_pid();
                gatekeeper.map(|pid| sys::signal::send(pid, libc::SIGKILL));
            } else {
                // Under the lock the process cannot have been let go of, nor its number be another's.
                let living = living.lock().unwrap();
                living.iter().next().map(|pid| sys::signal::send(*pid, libc::SIGKILL));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(runner.count(), 0);
    let handle = runner.spawn(networked(greeter.port, "echo still here")).unwrap();
    assert!(handle.wait().is_success());
    // Every start came to an end that is on record, and to one only.
    let (mut begun, mut ended) = (HashSet::new(), HashSet::new());
    for event in runner.close() {
        match event {
            Event::SubagentIntent { invocation_id, .. } => assert!(begun.insert(invocation_id)),
            Event::SubagentExit { invocation_id, .. }
            | Event::SubagentSpawnFailed { invocation_id, .. } => {
                assert!(ended.insert(invocation_id));
            }
            _ => {}
        }
    }
    assert!(begun.is_subset(&ended), "{:?}", begun.difference(&ended));
}

/// K219, T54, T62
fn a_dead_supervisor_leaves_nothing_running() {
    let state = tempfile::tempdir().unwrap();
    let mut dice = Dice(11);
    let mark = format!("{}", 100_000 + std::process::id());
    let (mut durable, mut dead) = (HashSet::new(), Vec::new());
    for round in 0..rounds(8) {
        let mut supervisor = Command::new(std::env::current_exe().unwrap())
            .args([SUPERVISOR, &state.path().display().to_string(), &mark])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(supervisor.stdout.take().unwrap()).lines();
        durable.insert(told.next().unwrap().unwrap());
        std::thread::sleep(Duration::from_millis(dice.roll(80)));
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        dead.push(format!("stockade-{}-", supervisor.id()));
        durable.extend(told.map_while(Result::ok));
        eventually("no program outlives its supervisor", || running(&mark).is_empty());
        check_log(&state.path().join("audit"), &durable, round);
    }
    limits::Limiter::discover().sweep();
    assert_eq!(groups_of(&dead), Vec::<PathBuf>::new());
    let runner = Runner::start(options(state.path())).unwrap();
    assert!(runner.spawn(small(&["true"]).into()).unwrap().wait().is_success());
}

/// The life of the supervisor that is killed: tells the name of every start that has succeeded.
pub(crate) fn supervise(state: &str, mark: &str) {
    let runner = Runner::start(options(Path::new(state))).unwrap();
    let with_limits = limits_can_be_held();
    let out = Mutex::new(());
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (runner, out) = (&runner, &out);
            scope.spawn(move || {
                loop {
                    let script = format!("setsid sh -c 'sleep {mark}' & sleep 0.0{number}; exit 0");
                    let mut prepared = small(&["sh", "-c", &script]);
                    if with_limits && number == 0 {
                        Arc::make_mut(&mut prepared.plan).walls.limits =
                            LimitsPlan { pids: Some(50), ..LimitsPlan::default() };
                    }
                    let handle = runner.spawn(prepared.into()).unwrap();
                    let _turn = out.lock().unwrap();
                    println!("{}", handle.invocation_id());
                    std::mem::forget(handle);
                }
            });
        }
    });
}

/// Processes that sleep for so many seconds.
fn running(mark: &str) -> Vec<PathBuf> {
    let wanted = format!("sleep\0{mark}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let sleeps = |path: &PathBuf| {
        std::fs::read(path.join("cmdline")).is_ok_and(|line| line == wanted.as_bytes())
    };
    processes.filter(sleeps).collect()
}

/// Every start that was told is on record, and the record is whole.
fn check_log(directory: &Path, durable: &HashSet<String>, round: usize) {
    audit::verify(directory, &audit::Expected::default()).unwrap();
    let reader = audit::Reader::open(directory).unwrap();
    let intents: HashSet<String> = reader
        .records(audit::Filter::default())
        .filter_map(|record| match record.unwrap().event() {
            Some(Event::SubagentIntent { invocation_id, .. }) => Some(invocation_id.to_string()),
            _ => None,
        })
        .collect();
    let lost: Vec<&String> = durable.difference(&intents).collect();
    assert!(lost.is_empty(), "round {round}: {lost:?}");
}

/// Control groups whose names begin with one of these.
fn groups_of(supervisors: &[String]) -> Vec<PathBuf> {
    let is_theirs = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        supervisors.iter().any(|prefix| name.starts_with(prefix))
    };
    crate::support::control_groups().into_iter().filter(is_theirs).collect()
}
