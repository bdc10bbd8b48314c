//! The measurements. Every mechanism gets its turn in every round, each round beginning with another one,
//! so that what else the machine does weighs on all of them alike.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use measures::stamp;
use measures::statistics::{Spread, median};

use crate::client::{Goal, Task};
use crate::crowd::{self, Together};
use crate::daemon::Daemon;
use crate::mechanisms::{Mechanism, Setting, Starter};
use crate::project::Project;
use crate::report::{Crowd, Idle, Latency, LeftOut, Report};
use crate::{Options, bundle, cages, idle, records};

/// Measures everything that was asked for.
pub(crate) fn all(options: &Options) -> io::Result<Report> {
    let project = Project::make()?;
    let daemon = Daemon::start(&options.stockade, &project)?;
    let setting = |argv: &[&str]| setting(&project, &daemon, argv);
    let (mechanisms, left_out) = that_work(&setting(TRUE)?)?;
    let mut report = Report {
        caller: if rustix::process::geteuid().is_root() { "root" } else { "user" },
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        rounds: options.rounds,
        seconds: options.time.as_secs(),
        left_out,
        crowds: Vec::new(),
        latencies: Vec::new(),
        idle: Vec::new(),
        alive: None,
        records: Vec::new(),
    };
    if options.wants("rates") {
        report.crowds = rates(&mechanisms, &setting(TRUE)?, options)?;
    }
    if options.wants("latency") {
        let program = project.program().to_string_lossy().into_owned();
        report.latencies = latencies(&mechanisms, &setting(&[&program, stamp::ROLE])?, options)?;
    }
    if options.wants("idle") {
        report.idle = idle_ones(&mechanisms, &daemon, &setting(idle::SLEEP)?)?;
    }
    if options.wants("alive") {
        let (alive, idle) = idle::through_daemon(&daemon, &setting(idle::SLEEP)?, options.alive)?;
        report.alive = Some(alive);
        report.idle.push(idle);
    }
    if options.wants("records") {
        report.records = records::measure(&project.beside("records"), options.time)?;
    }
    Ok(report)
}

/// The mechanisms that can be had here, and those that are installed and do not work, with the reason.
fn that_work(setting: &Setting) -> io::Result<(Vec<Mechanism>, Vec<LeftOut>)> {
    let (mut mechanisms, mut left_out) = (Vec::new(), Vec::new());
    for way in Mechanism::installed() {
        match Starter::new(way, setting).and_then(|mut starter| starter.run()) {
            Ok(()) => mechanisms.push(way),
            Err(error) if way == Mechanism::Daemon => return Err(error),
            Err(error) => left_out.push(LeftOut { way, reason: error.to_string() }),
        }
    }
    Ok((mechanisms, left_out))
}

/// Everything that starters of this program need.
fn setting(project: &Project, daemon: &Daemon, argv: &[&str]) -> io::Result<Setting> {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let name = argv.first().map(PathBuf::from).unwrap_or_default();
    let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bundle = project.beside(&format!("bundle-{name}"));
    if !bundle.exists() {
        bundle::write(&bundle, &cages::compile(&project.path(), &argv)?)?;
    }
    Ok(Setting {
        socket: daemon.socket().to_owned(),
        project: project.path(),
        argv,
        bundle,
        state: project.beside("runc"),
    })
}

fn rates(mechanisms: &[Mechanism], setting: &Setting, options: &Options) -> io::Result<Vec<Crowd>> {
    let mut crowds = Vec::new();
    for clients in CLIENTS {
        let measured = in_turns(mechanisms, options.rounds, |way| {
            run(*clients, way, setting, options.time, Goal::Ends)
        })?;
        let of_daemon = |daemon: Mechanism| rates_of(&measured, daemon);
        let (plain, limited) =
            (of_daemon(Mechanism::Daemon), of_daemon(Mechanism::DaemonWithLimits));
        crowds.extend(measured.iter().map(|(way, rounds)| {
            let rates = rates_of(&measured, *way);
            Crowd {
                way: *way,
                clients: *clients,
                daemon_times: multiple(&plain, &rates),
                limited_daemon_times: multiple(&limited, &rates),
                per_second: median(rates),
                failed: rounds.iter().map(|round| round.failed).sum(),
                failure: rounds.iter().find_map(|round| round.failure.clone()),
            }
        }));
    }
    Ok(crowds)
}

/// Starts in a second by one mechanism, round by round.
fn rates_of(measured: &[(Mechanism, Vec<Together>)], way: Mechanism) -> Vec<f64> {
    let rounds = measured.iter().filter(|(candidate, _)| *candidate == way);
    rounds.flat_map(|(_, rounds)| rounds.iter().map(|round| round.rate)).collect()
}

/// The daemon's rate as a multiple of another: the middle of what each round says. A machine that is
/// faster in one round than in the next is so for both.
fn multiple(daemon: &[f64], other: &[f64]) -> Option<f64> {
    let each: Vec<f64> = daemon.iter().zip(other).map(|(daemon, other)| daemon / other).collect();
    (!each.is_empty()).then(|| median(each))
}

fn latencies(
    mechanisms: &[Mechanism],
    setting: &Setting,
    options: &Options,
) -> io::Result<Vec<Latency>> {
    let mut latencies = Vec::new();
    for clients in FEW_CLIENTS {
        let measured = in_turns(mechanisms, options.rounds, |way| {
            run(*clients, way, setting, options.time, Goal::Beginnings)
        })?;
        latencies.extend(measured.into_iter().map(|(way, rounds)| {
            let failed = rounds.iter().map(|round| round.failed).sum();
            let times = rounds.into_iter().flat_map(|round| round.times).collect();
            Latency { way, clients: *clients, time: Spread::of(times), failed }
        }));
    }
    Ok(latencies)
}

fn run(
    clients: usize,
    way: Mechanism,
    setting: &Setting,
    time: Duration,
    goal: Goal,
) -> io::Result<Together> {
    let task = Task { way, setting: setting.clone(), time, goal };
    crowd::run(clients, &task).map_err(|error| io::Error::other(format!("{}: {error}", way.name())))
}

/// Gives every mechanism its turn in every round.
fn in_turns(
    mechanisms: &[Mechanism],
    rounds: usize,
    mut measure: impl FnMut(Mechanism) -> io::Result<Together>,
) -> io::Result<Vec<(Mechanism, Vec<Together>)>> {
    let mut measured: Vec<(Mechanism, Vec<Together>)> =
        mechanisms.iter().map(|way| (*way, Vec::with_capacity(rounds))).collect();
    for round in 0..rounds {
        for turn in 0..mechanisms.len() {
            let position = (round + turn) % mechanisms.len();
            if let Some((way, kept)) = measured.get_mut(position) {
                kept.push(measure(*way)?);
            }
        }
    }
    Ok(measured)
}

fn idle_ones(
    mechanisms: &[Mechanism],
    daemon: &Daemon,
    setting: &Setting,
) -> io::Result<Vec<Idle>> {
    let (_, own) = idle::through_daemon(daemon, setting, SOME)?;
    let mut all = vec![own];
    for way in
        mechanisms.iter().filter(|way| matches!(way, Mechanism::Bubblewrap | Mechanism::Runc))
    {
        all.push(idle::by_commands(*way, setting, FEW)?);
    }
    Ok(all)
}

const TRUE: &[&str] = &["/usr/bin/true"];
/// How many clients at the same time.
const CLIENTS: &[usize] = &[1, 8, 64];
/// The same where only the time to the first instruction counts.
const FEW_CLIENTS: &[usize] = &[1, 8];
/// How many idle cages through the daemon.
const SOME: usize = 100;
/// How many idle programs by a command for each.
const FEW: usize = 20;
