//! Cages that wait: what they cost in memory, and how long a crowd of them takes to start and to end.
//! Memory is that of every process that guards them, never that of the programs themselves.

use std::io;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use measures::memory::{self, Memory};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::http::Connection;
use crate::mechanisms::{Mechanism, Setting, Starter};
use crate::report::{Alive, Idle};

/// Starts so many cages through the daemon, weighs them and ends them.
pub(crate) fn through_daemon(
    daemon: &Daemon,
    setting: &Setting,
    cages: usize,
) -> io::Result<(Alive, Idle)> {
    let pid = daemon.pid()?;
    let before = guards(pid);
    let started = Instant::now();
    let ids = start_all(setting, cages)?;
    let start_all = started.elapsed();
    settle();
    let programs = programs(pid);
    let after = guards(pid);
    let ending = Instant::now();
    end_all(setting, &ids)?;
    let end_all = ending.elapsed();
    let idle = Idle::new(Mechanism::Daemon.name(), cages, before, after);
    let alive = Alive {
        cages,
        programs,
        start_all_ms: start_all.as_secs_f64() * 1e3,
        end_all_ms: end_all.as_secs_f64() * 1e3,
        left: self::programs(pid),
        guards: after,
    };
    Ok((alive, idle))
}

/// Starts so many programs by a mechanism that is a command for each, weighs what guards them and ends
/// them.
pub(crate) fn by_commands(way: Mechanism, setting: &Setting, count: usize) -> io::Result<Idle> {
    let mut starter = Starter::new(way, setting)?;
    let mut guards = Guards(Vec::with_capacity(count));
    for started in 1..=count {
        let mut command = starter.command()?;
        guards.0.push(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?);
        // The next one may need what this one is still reading.
        let deadline = Instant::now() + PATIENCE;
        while guards.programs().count() < started {
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("{} does not start {count}", way.name())));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
    settle();
    let weighed = Memory::of(guards.pids().flat_map(beside));
    Ok(Idle::new(way.name(), count, Memory::default(), weighed))
}

/// Commands that each guard a program; ended with their programs when dropped.
struct Guards(Vec<Child>);

impl Guards {
    fn pids(&self) -> impl Iterator<Item = Pid> {
        self.0.iter().filter_map(|child| Pid::from_raw(child.id().cast_signed()))
    }

    fn programs(&self) -> impl Iterator<Item = Pid> {
        self.pids().flat_map(memory::descendants).filter(is_program)
    }
}

impl Drop for Guards {
    /// Most of these end with their program, and not the other way round.
    fn drop(&mut self) {
        for program in self.programs() {
            let _gone_already = rustix::process::kill_process(program, Signal::KILL);
        }
        let deadline = Instant::now() + PATIENCE;
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() > deadline {
                    let _gone_already = child.kill();
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn start_all(setting: &Setting, cages: usize) -> io::Result<Vec<String>> {
    let request = json!({"project": setting.project, "argv": setting.argv}).to_string();
    let start = |connection: &mut Connection| {
        let started = connection.ask("POST", "/v1/cages", Some(&request))?;
        let id = started.get("id").and_then(Value::as_str);
        Ok(id.ok_or_else(|| io::Error::other("the daemon tells no id"))?.to_owned())
    };
    let shares: Vec<usize> = (0..CLIENTS).map(|n| (cages + n) / CLIENTS).collect();
    let ids: io::Result<Vec<Vec<String>>> = thread::scope(|scope| {
        let clients: Vec<_> = shares
            .iter()
            .map(|share| {
                scope.spawn(move || {
                    let mut connection = Connection::open(&setting.socket)?;
                    (0..*share).map(|_| start(&mut connection)).collect::<io::Result<Vec<_>>>()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().map_err(|_| panicked())?).collect()
    });
    Ok(ids?.concat())
}

fn end_all(setting: &Setting, ids: &[String]) -> io::Result<()> {
    let share = ids.len().div_ceil(CLIENTS).max(1);
    thread::scope(|scope| {
        let clients: Vec<_> = ids
            .chunks(share)
            .map(|part| {
                scope.spawn(move || {
                    let mut connection = Connection::open(&setting.socket)?;
                    part.iter().try_for_each(|id| {
                        connection.bytes("DELETE", &format!("/v1/cages/{id}"), None).map(|_| ())
                    })
                })
            })
            .collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| panicked())?)
    })
}

/// A process and everything below it but the programs.
fn beside(process: Pid) -> Vec<Pid> {
    let below = memory::descendants(process);
    let all = std::iter::once(process).chain(below);
    all.filter(|process| !is_program(process)).collect()
}

fn guards(process: Pid) -> Memory {
    Memory::of(beside(process))
}

/// How many programs run below a process.
fn programs(process: Pid) -> usize {
    memory::descendants(process).iter().filter(|process| is_program(process)).count()
}

fn is_program(process: &Pid) -> bool {
    memory::short_name(*process) == PROGRAM
}

fn panicked() -> io::Error {
    io::Error::other("a client panicked")
}

/// What the start itself needed is given back a moment after the program runs.
fn settle() {
    thread::sleep(Duration::from_millis(500));
}

/// The program that waits.
pub(crate) const SLEEP: &[&str] = &["/usr/bin/sleep", "1000"];
const PROGRAM: &str = "sleep";
const CLIENTS: usize = 8;
/// The longest that programs may take to start, or to end.
const PATIENCE: Duration = Duration::from_secs(20);
