//! The measurements. Every route gets its turn in every round, so that what else the machine does
//! weighs on all of them alike; the middle of a route's rounds counts.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Stdio};

use measures::statistics::{Spread, median};

use crate::client::Measured;
use crate::report::{Idle, Names, Path, Report};
use crate::routes::{GATEKEEPER, RESOLVER, ROUTES, Route, finish};
use crate::world::{NAME, World};
use crate::{Options, cages, floods};

/// Measures everything that was asked for.
pub(crate) fn all(world: &World, options: &Options) -> io::Result<Report> {
    let paths = paths(world, options)?;
    let mut report = Report {
        caller: if rustix::process::geteuid().is_root() { "root" } else { "user" },
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        rounds: options.rounds,
        paths,
        names: Vec::new(),
        starts: None,
        idle: None,
        floods: Vec::new(),
    };
    if options.wants("names") {
        report.names = names(world, options)?;
    }
    if options.wants("start") {
        report.starts = Some(cages::starts(world, options.rounds * STARTS)?);
    }
    if options.wants("memory") || options.wants("idle") {
        let without = cages::memory(world, &["--no-net"])?;
        let with = cages::memory(world, &["--net", NAME])?;
        report.idle = Some(idle(world, without, with)?);
    }
    if options.wants("flood") {
        report.floods = floods::measure(world, options)?;
    }
    Ok(report)
}

/// What the rounds of one route have shown.
#[derive(Default)]
struct Turns {
    one: Vec<f64>,
    hundred: Vec<f64>,
    one_up: Vec<f64>,
    hundred_up: Vec<f64>,
    connections: Vec<f64>,
    failed: u64,
    connect: Vec<Spread>,
    round_trip: Vec<Spread>,
}

impl Turns {
    fn take(&mut self, route: &Route, world: &World, options: &Options) -> io::Result<()> {
        let ms = options.time.as_millis().to_string();
        if options.wants("bulk") {
            self.one.push(megabits(&route.run(world, "bulk", &["1", &ms])?));
            self.hundred.push(megabits(&route.run(world, "bulk", &["100", &ms])?));
            self.one_up.push(megabits(&route.run(world, "upload", &["1", &ms])?));
            self.hundred_up.push(megabits(&route.run(world, "upload", &["100", &ms])?));
        }
        if options.wants("short") {
            let short = route.run(world, "short", &["8", &ms])?;
            self.connections.push(short.rate());
            self.failed += short.failed;
        }
        if options.wants("latency") {
            self.connect.extend(route.run(world, "short", &["1", &ms])?.spread);
            self.round_trip.extend(route.run(world, "latency", &[ROUND_TRIPS])?.spread);
        }
        Ok(())
    }

    fn path(self, name: &'static str) -> Path {
        Path {
            name,
            one_flow_mbps: median(self.one),
            hundred_flows_mbps: median(self.hundred),
            one_flow_up_mbps: median(self.one_up),
            hundred_flows_up_mbps: median(self.hundred_up),
            connections_per_second: median(self.connections),
            failed_connections: self.failed,
            connect: Spread::middle(&self.connect),
            round_trip: Spread::middle(&self.round_trip),
        }
    }
}

fn paths(world: &World, options: &Options) -> io::Result<Vec<Path>> {
    let routes = ROUTES.iter().filter(|route| route.is_here());
    let mut turns: Vec<(Route, Turns)> = routes.map(|route| (*route, Turns::default())).collect();
    let count = turns.len();
    for round in 0..options.rounds {
        for turn in 0..count {
            let Some((route, turns)) = turns.get_mut((round + turn) % count) else { continue };
            turns.take(route, world, options)?;
        }
    }
    Ok(turns.into_iter().map(|(route, turns)| turns.path(route.name)).collect())
}

fn megabits(measured: &Measured) -> f64 {
    measured.rate() * 8.0 / 1e6
}

/// Questions and answers with one client, and with several at once.
fn names(world: &World, options: &Options) -> io::Result<Vec<Names>> {
    let ms = options.time.as_millis().to_string();
    let mut rows = Vec::new();
    for route in ROUTES.iter().chain([&RESOLVER]).filter(|route| route.is_here()) {
        let Some(server) = route.name_server() else { continue };
        let run = |clients: &str| {
            finish(route.command(world, &["names", server, clients, &ms]), route.name)
        };
        let (one, eight) = (run("1")?, run("8")?);
        rows.push(Names {
            name: route.name,
            per_second: one.rate().max(eight.rate()),
            refused: one.failed + eight.failed,
            spread: one.spread,
        });
    }
    Ok(rows)
}

/// Connections that are held open, and what that costs. What one gatekeeper has no descriptors for is
/// given to a second cage.
fn idle(world: &World, without: f64, with: f64) -> io::Result<Idle> {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let room =
        most.map_or(IDLE, |most| ((most - most / 8) / 2).saturating_sub(OWN_PLACES)).min(IDLE);
    let mut cages = vec![Holding::begin(world, room)?];
    if room < IDLE {
        cages.push(Holding::begin(world, (IDLE - room).min(room))?);
    }
    let (held, lost) = cages
        .iter()
        .fold((0, 0), |(held, lost), cage| (held + cage.held.count, lost + cage.held.failed));
    let count = cages.len();
    let loaded: f64 =
        cages.iter().map(|cage| cages::memory_of_guards(cage.process.id()) as f64).sum();
    for cage in cages {
        cage.end()?;
    }
    let each = (loaded - with * count as f64) / (held.max(1) as f64);
    Ok(Idle {
        without_kib: without,
        with_kib: with,
        held,
        lost: lost + IDLE.saturating_sub(held + lost),
        cages: count,
        kib_for_each_connection: each,
    })
}

/// A cage with open connections.
struct Holding {
    process: Child,
    held: Measured,
}

impl Holding {
    fn begin(world: &World, count: u64) -> io::Result<Self> {
        let mut command = gatekeeper()?.command(world, &["idle", NAME, &count.to_string()]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self { process, held: serde_json::from_str(&line)? })
    }

    fn end(mut self) -> io::Result<()> {
        drop(self.process.stdin.take());
        self.process.wait().map(drop)
    }
}

/// The route that all this is about.
pub(crate) fn gatekeeper() -> io::Result<Route> {
    let found = ROUTES.iter().find(|route| route.name == GATEKEEPER);
    found.copied().ok_or_else(|| io::Error::other("there is no route through the gatekeeper"))
}

/// Starts of each kind in a round.
const STARTS: usize = 40;
const ROUND_TRIPS: &str = "5000";
const IDLE: u64 = 10_000;
/// What a gatekeeper serves a cage with, in pairs of descriptors as connections are. An eighth of all
/// is for what it does not count.
const OWN_PLACES: u64 = 64;
