//! The measurements. Every way gets its turn in every round, so that what else the machine does
//! weighs on all of them alike; the best round of a way counts.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::client::Measured;
use crate::report::{Flood, Idle, Names, Path, Report, Starts};
use crate::ways::{GATEKEEPER, RESOLVER, WAYS, Way, finish};
use crate::world::{NAME, World};
use crate::{Options, cages};

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
        let (without_us, with_us) = cages::starts(world, options.rounds * STARTS)?;
        let added_us = with_us - without_us;
        report.starts = Some(Starts { without_us, with_us, added_us });
    }
    if options.wants("memory") || options.wants("idle") {
        let without = cages::memory(world, &["--no-net"])?;
        let with = cages::memory(world, &["--net", NAME])?;
        report.idle = Some(idle(world, without, with)?);
    }
    if options.wants("flood") {
        report.floods = floods(world, options)?;
    }
    Ok(report)
}

fn paths(world: &World, options: &Options) -> io::Result<Vec<Path>> {
    let ms = options.time.as_millis().to_string();
    let mut paths: Vec<(Way, Path)> = WAYS
        .iter()
        .filter(|way| way.is_here())
        .map(|way| (*way, Path { name: way.name, ..Path::default() }))
        .collect();
    let count = paths.len();
    for round in 0..options.rounds {
        for turn in 0..count {
            let Some((way, path)) = paths.get_mut((round + turn) % count) else { continue };
            if options.wants("bulk") {
                let one = way.run(world, "bulk", &["1", &ms])?;
                let many = way.run(world, "bulk", &["100", &ms])?;
                path.one_flow_mbps = path.one_flow_mbps.max(megabits(&one));
                path.hundred_flows_mbps = path.hundred_flows_mbps.max(megabits(&many));
                let one = way.run(world, "upload", &["1", &ms])?;
                let many = way.run(world, "upload", &["100", &ms])?;
                path.one_flow_up_mbps = path.one_flow_up_mbps.max(megabits(&one));
                path.hundred_flows_up_mbps = path.hundred_flows_up_mbps.max(megabits(&many));
            }
            if options.wants("short") {
                let short = way.run(world, "short", &["8", &ms])?;
                path.connections_per_second = path.connections_per_second.max(short.rate());
                path.failed_connections += short.failed;
            }
            if options.wants("latency") {
                let alone = way.run(world, "short", &["1", &ms])?;
                path.keep_connect(alone.spread);
                path.keep_round_trip(way.run(world, "latency", &[ROUND_TRIPS])?.spread);
            }
        }
    }
    Ok(paths.into_iter().map(|(_, path)| path).collect())
}

fn megabits(measured: &Measured) -> f64 {
    measured.rate() * 8.0 / 1e6
}

/// Questions and answers with one client, and with several at once.
fn names(world: &World, options: &Options) -> io::Result<Vec<Names>> {
    let ms = options.time.as_millis().to_string();
    let mut rows = Vec::new();
    for way in WAYS.iter().chain([&RESOLVER]).filter(|way| way.is_here()) {
        let Some(server) = way.name_server() else { continue };
        let run =
            |clients: &str| finish(way.command(world, &["names", server, clients, &ms]), way.name);
        let (one, eight) = (run("1")?, run("8")?);
        rows.push(Names {
            name: way.name,
            per_second: one.rate().max(eight.rate()),
            refused: one.failed + eight.failed,
            spread: one.spread,
        });
    }
    Ok(rows)
}

/// Connections that are held open, and what that costs.
fn idle(world: &World, without: f64, with: f64) -> io::Result<Idle> {
    let way = gatekeeper()?;
    let mut command = way.command(world, &["idle", NAME, IDLE]);
    let mut cage = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = cage.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let (mut output, mut line) = (BufReader::new(output), String::new());
    output.read_line(&mut line)?;
    let held: Measured = serde_json::from_str(&line)?;
    let loaded = cages::memory_of_guards(cage.id()) as f64;
    drop(cage.stdin.take());
    cage.wait()?;
    let each = (loaded - with) / (held.count.max(1) as f64);
    Ok(Idle {
        without_kib: without,
        with_kib: with,
        held: held.count,
        lost: held.failed,
        kib_for_each_connection: each,
    })
}

/// One cage's short connections and questions while another floods; and while another does nothing
/// but use processors, which shows what is not the network's doing.
fn floods(world: &World, options: &Options) -> io::Result<Vec<Flood>> {
    let way = gatekeeper()?;
    let server = way.name_server().unwrap_or_default();
    let count = options.flood.to_string();
    let kinds: [(&str, &[&str]); 2] = [
        ("connections", &["flood-connections", NAME, &count]),
        ("questions", &["flood-names", server, &count]),
    ];
    let mut rows = Vec::new();
    for (name, flood) in kinds {
        for (beside, words) in [("a flood of them", flood), ("a busy loop", &["spin", SPINNERS])] {
            for on_one_processor in [false, true] {
                let quiet = probe(world, &way, name, options.time)?;
                let command = if on_one_processor {
                    way.pinned(world, words)
                } else {
                    way.command(world, words)
                };
                let (loud, flooded) =
                    beside_flood(command, || probe(world, &way, name, options.time))?;
                rows.push(Flood {
                    name,
                    beside,
                    on_one_processor,
                    per_second: flooded.rate(),
                    quiet: quiet.spread,
                    loud: loud.spread,
                    failed: loud.failed,
                });
            }
        }
    }
    Ok(rows)
}

/// What is measured while another cage works, and what that one did.
fn beside_flood(
    mut flood: Command,
    probe: impl Fn() -> io::Result<Measured>,
) -> io::Result<(Measured, Measured)> {
    let mut flooding = flood.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    std::thread::sleep(Duration::from_millis(200));
    let loud = probe();
    drop(flooding.stdin.take());
    let output = flooding.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok((loud?, serde_json::from_str(text.lines().last().unwrap_or_default())?))
}

fn probe(world: &World, way: &Way, name: &str, time: Duration) -> io::Result<Measured> {
    let ms = time.as_millis().to_string();
    match name {
        "connections" => way.run(world, "short", &["1", &ms]),
        _ => {
            let server = way.name_server().unwrap_or_default();
            finish(way.command(world, &["names", server, "1", &ms]), way.name)
        }
    }
}

fn gatekeeper() -> io::Result<Way> {
    let found = WAYS.iter().find(|way| way.name == GATEKEEPER);
    found.copied().ok_or_else(|| io::Error::other("there is no way through the gatekeeper"))
}

/// Starts of each kind in a round.
const STARTS: usize = 40;
const ROUND_TRIPS: &str = "5000";
/// As many as keep two processors busy.
const SPINNERS: &str = "2";
const IDLE: &str = "10000";
