//! The measurements: starts in interleaved rounds, memory of guards, many cages at once, growth with
//! the number of grants. Every mechanism gets its turn in every round, so that what else the machine does
//! weighs on all of them alike.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jail::ProgramStreams;
use jail::launcher::Launcher;
use measures::memory::{self, Memory};
use measures::statistics::Summary;
use rustix::process::{Pid, Signal};

use crate::bubblewrap::Bubblewrap;
use crate::mechanisms::{self, Mechanism};
use crate::program::{self, Program};
use crate::project::Project;
use crate::report::{self, Alive, BUBBLEWRAP, Growth, Guard, Report, Start};
use crate::stamps::{DATE, Stamps, Times};
use crate::{cages, project};

/// Programs that the benchmark needs; those that are absent are left out.
pub(crate) struct Programs {
    /// The binary under test.
    pub(crate) stockade: PathBuf,
    /// Bubblewrap, if it is installed.
    pub(crate) bubblewrap: Option<&'static str>,
    /// util-linux's `unshare`, if it is installed.
    pub(crate) unshare: Option<&'static str>,
}

/// Measures everything.
pub(crate) fn all(
    programs: &Programs,
    launcher: &Launcher,
    rounds: usize,
    wanted: impl Fn(&str) -> bool,
) -> io::Result<Report> {
    let small = Project::with_grants(1)?;
    let many = if wanted("alive") { MANY } else { &[] };
    Ok(Report {
        caller: if rustix::process::geteuid().is_root() { "root" } else { "user" },
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        rounds,
        starts: match wanted("starts") {
            true => starts(programs, launcher, &small, rounds)?,
            false => Vec::new(),
        },
        guards: if wanted("memory") { guards(programs, &small)? } else { Vec::new() },
        alive: many
            .iter()
            .map(|count| alive(launcher, &small, *count))
            .collect::<Result<_, _>>()?,
        growth: match wanted("growth") {
            true => growth(programs, launcher, (rounds / 4).max(FEWEST_ROUNDS))?,
            false => Vec::new(),
        },
    })
}

fn starts(
    programs: &Programs,
    launcher: &Launcher,
    project: &Project,
    rounds: usize,
) -> io::Result<Vec<Start>> {
    let compiled = cages::compile(project, &[TRUE])?;
    let mut mechanisms = vec![
        Mechanism::Plain(Program::new(TRUE, vec![TRUE.as_bytes().to_vec()])?),
        Mechanism::Floor(&compiled),
        Mechanism::Compile(project, &[TRUE]),
        Mechanism::Launcher(launcher, &compiled),
        Mechanism::Stockade(mechanisms::stockade(&programs.stockade, project.path(), &[TRUE])?),
    ];
    if let Some(bubblewrap) = programs.bubblewrap {
        mechanisms.push(Mechanism::Bubblewrap(Bubblewrap::new(bubblewrap, &compiled.plan)?));
    }
    if let Some(unshare) = programs.unshare {
        mechanisms.push(Mechanism::Unshare(mechanisms::unshare(unshare, TRUE)?));
    }
    let times = in_rounds(&mut mechanisms, rounds, Duration::ZERO, Mechanism::time)?;
    let summed = times.iter().filter_map(|(name, times)| Some((*name, Summary::of(times)?)));
    Ok(report::starts(summed.collect()))
}

/// Times every mechanism once in every round, each round beginning with another one, with a rest before
/// each.
fn in_rounds<'a, T>(
    mechanisms: &mut [Mechanism<'a>],
    rounds: usize,
    rest: Duration,
    mut time: impl FnMut(&mut Mechanism<'a>) -> io::Result<T>,
) -> io::Result<Vec<(&'static str, Vec<T>)>> {
    let mut times: Vec<(&'static str, Vec<T>)> =
        mechanisms.iter().map(|mechanism| (mechanism.name(), Vec::with_capacity(rounds))).collect();
    for round in 0..rounds + WARM_UP {
        for turn in 0..mechanisms.len() {
            let position = (round + turn) % mechanisms.len();
            let (Some(mechanism), Some((name, kept))) =
                (mechanisms.get_mut(position), times.get_mut(position))
            else {
                continue;
            };
            std::thread::sleep(rest);
            let time =
                time(mechanism).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
            if round >= WARM_UP {
                kept.push(time);
            }
        }
    }
    Ok(times)
}

/// What stays in memory beside a program that runs.
fn guards(programs: &Programs, project: &Project) -> io::Result<Vec<Guard>> {
    let mut stockade = mechanisms::stockade(&programs.stockade, project.path(), SLEEP)?;
    let mut guards =
        vec![Guard { name: "stockade run", memory: memory_beside(stockade.start()?)? }];
    if let Some(bubblewrap) = programs.bubblewrap {
        let compiled = cages::compile(project, SLEEP)?;
        let mut bubblewrap = Bubblewrap::new(bubblewrap, &compiled.plan)?;
        guards.push(Guard { name: BUBBLEWRAP, memory: memory_beside(bubblewrap.start()?)? });
    }
    Ok(guards)
}

/// Memory of a process and its descendants without the program itself; ends them.
fn memory_beside(guard: Pid) -> io::Result<Memory> {
    let deadline = Instant::now() + PATIENCE;
    let is_program = |process: &Pid| memory::short_name(*process) == "sleep";
    let mut all = memory::descendants(guard);
    while !all.iter().any(is_program) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
        all = memory::descendants(guard);
    }
    // What the start itself needed is given back a moment after the program runs.
    std::thread::sleep(Duration::from_millis(100));
    let beside = all.into_iter().filter(|process| !is_program(process));
    let memory = Memory::of(std::iter::once(guard).chain(beside));
    rustix::process::kill_process(guard, Signal::KILL)?;
    program::wait(guard)?;
    Ok(memory)
}

/// So many cages at the same time.
fn alive(launcher: &Launcher, project: &Project, count: usize) -> io::Result<Alive> {
    let compiled = cages::compile(project, SLEEP)?;
    let started = Instant::now();
    let mut cages = Vec::with_capacity(count);
    for _ in 0..count {
        cages.push(mechanisms::spawn(launcher, &compiled, ProgramStreams::null())?);
    }
    let start_all = started.elapsed();
    let guards =
        Memory::of(std::iter::once(launcher.pid()).chain(cages.iter().map(|cage| cage.pid())));
    let ending = Instant::now();
    for cage in &cages {
        cage.kill();
    }
    drop(cages);
    let end_all = ending.elapsed();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Alive { cages: count, start_all_ms: ms(start_all), end_all_ms: ms(end_all), guards })
}

/// How the time grows with the number of grants.
fn growth(programs: &Programs, launcher: &Launcher, rounds: usize) -> io::Result<Vec<Growth>> {
    let mut growth: Vec<Growth> = Vec::new();
    for grants in project::GRANTS {
        let project = Project::with_grants(*grants)?;
        let compiled = cages::compile(&project, DATE)?;
        let mut mechanisms = vec![
            Mechanism::Floor(&compiled),
            Mechanism::Launcher(launcher, &compiled),
            Mechanism::Stockade(mechanisms::stockade(&programs.stockade, project.path(), DATE)?),
        ];
        if let Some(bubblewrap) = programs.bubblewrap {
            mechanisms.push(Mechanism::Bubblewrap(Bubblewrap::new(bubblewrap, &compiled.plan)?));
        }
        let mut stamps = Stamps::begin()?;
        for (name, times) in
            in_rounds(&mut mechanisms, rounds, GIVING_BACK, |mechanism| stamps.time(mechanism))?
        {
            let middle = |which: fn(&Times) -> Duration| {
                let times: Vec<Duration> = times.iter().map(which).collect();
                Summary::of(&times).map_or(f64::NAN, |summary| summary.median_us)
            };
            let point = (*grants, middle(|times| times.begun), middle(|times| times.ended));
            match growth.iter_mut().find(|known| known.name == name) {
                Some(known) => known.add(point),
                None => growth.push(Growth::new(name, point)),
            }
        }
    }
    Ok(growth)
}

/// Where a program is, if it is installed.
pub(crate) fn installed(path: &'static str) -> Option<&'static str> {
    Path::new(path).exists().then_some(path)
}

const TRUE: &str = "/usr/bin/true";
const SLEEP: &[&str] = &["/usr/bin/sleep", "1000"];
/// How many cages at once.
const MANY: &[usize] = &[50, 500];
/// Rounds that are not counted.
const WARM_UP: usize = 3;
const FEWEST_ROUNDS: usize = 10;
/// How long the kernel may take to give a thousand mounts back, which it does after it has told that
/// a cage has ended. It would do that of one mechanism while the next is measured.
const GIVING_BACK: Duration = Duration::from_millis(50);
/// How long a guarded program may take to appear.
const PATIENCE: Duration = Duration::from_secs(5);
