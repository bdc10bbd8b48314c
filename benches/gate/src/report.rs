//! What was measured, as tables for a person and as JSON for a program. Computes nothing but ratios.

use std::fmt;

use measures::statistics::Spread;
use serde::Serialize;

use crate::routes::{GATEKEEPER, NAT, RELAY, SOCKS};

/// Everything that one run measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// As whom: `root`, or `user` for anyone else.
    pub(crate) caller: &'static str,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// How often each route had its turn.
    pub(crate) rounds: usize,
    /// Connections by each route.
    pub(crate) paths: Vec<Path>,
    /// Questions about names.
    pub(crate) names: Vec<Names>,
    /// Time from the request to the end of a cage.
    pub(crate) starts: Option<Starts>,
    /// Memory.
    pub(crate) idle: Option<Idle>,
    /// One cage while another floods.
    pub(crate) floods: Vec<Flood>,
}

/// Connections by one route.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Path {
    pub(crate) name: &'static str,
    /// Megabits in a second over one connection.
    pub(crate) one_flow_mbps: f64,
    /// And over a hundred.
    pub(crate) hundred_flows_mbps: f64,
    /// The other way, from the client, over one connection.
    pub(crate) one_flow_up_mbps: f64,
    /// And over a hundred.
    pub(crate) hundred_flows_up_mbps: f64,
    /// Short connections of eight clients.
    pub(crate) connections_per_second: f64,
    /// How many of them failed.
    pub(crate) failed_connections: u64,
    /// One client's short connection, from its beginning to the first byte back.
    pub(crate) connect: Option<Spread>,
    /// One byte there and back on a connection that stands.
    pub(crate) round_trip: Option<Spread>,
}

/// Questions about names by one route.
#[derive(Debug, Serialize)]
pub(crate) struct Names {
    pub(crate) name: &'static str,
    /// Answers in a second, by one or eight clients, whichever were more.
    pub(crate) per_second: f64,
    /// Questions that were not answered with an address.
    pub(crate) refused: u64,
    /// How long one client waits.
    pub(crate) spread: Option<Spread>,
}

/// What network adds to a cage.
#[derive(Debug, Serialize)]
pub(crate) struct Starts {
    /// From its request to its program's first instruction.
    pub(crate) begun: Added,
    /// From its request to the end of everything.
    pub(crate) ended: Added,
}

/// How long something takes without and with network.
#[derive(Debug, Serialize)]
pub(crate) struct Added {
    pub(crate) without_us: f64,
    pub(crate) with_us: f64,
    pub(crate) added_us: f64,
}

/// What an idle cage and its idle connections cost in memory.
#[derive(Debug, Serialize)]
pub(crate) struct Idle {
    pub(crate) without_kib: f64,
    pub(crate) with_kib: f64,
    /// Connections that were held open and answered afterwards.
    pub(crate) held: u64,
    /// Those that were not.
    pub(crate) lost: u64,
    /// Cages that it took: a gatekeeper has no more descriptors than the machine allows.
    pub(crate) cages: usize,
    pub(crate) kib_for_each_connection: f64,
}

/// A quiet cage beside one that floods, or that only uses processors.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Flood {
    /// What the quiet cage does.
    pub(crate) name: &'static str,
    /// What the other one does.
    pub(crate) beside: &'static str,
    /// Whether the other one, with its gatekeeper, was held to one processor.
    pub(crate) on_one_processor: bool,
    /// How fast the flood was.
    pub(crate) per_second: f64,
    /// The quiet cage before.
    pub(crate) quiet: Option<Spread>,
    /// The quiet cage during the flood.
    pub(crate) loud: Option<Spread>,
    /// What failed for the quiet cage.
    pub(crate) failed: u64,
}

impl Report {
    /// What one flow and a hundred are of those by another route, from the far side and to it.
    fn shares(&self, name: &str, of: &str) -> Option<[f64; 4]> {
        let path = |name: &str| self.paths.iter().find(|path| path.name == name);
        let (own, other) = (path(name)?, path(of)?);
        Some([
            own.one_flow_mbps / other.one_flow_mbps,
            own.hundred_flows_mbps / other.hundred_flows_mbps,
            own.one_flow_up_mbps / other.one_flow_up_mbps,
            own.hundred_flows_up_mbps / other.hundred_flows_up_mbps,
        ])
    }
}

impl fmt::Display for Added {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { without_us, with_us, added_us } = self;
        write!(
            formatter,
            "{without_us:.0} µs without, {with_us:.0} with network, {added_us:.0} more"
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caller, kernel, rounds, .. } = self;
        writeln!(formatter, "as {caller}, Linux {kernel}, middle of {rounds} rounds\n")?;
        writeln!(
            formatter,
            "{:<20}{:>12}{:>12}{:>12}{:>12}{:>10}{:>8}{:>18}{:>18}",
            "way",
            "1 flow Mb/s",
            "100 flows",
            "1 flow up",
            "100 up",
            "conn/s",
            "failed",
            "connect p50/p99",
            "byte p50/p99"
        )?;
        for path in &self.paths {
            writeln!(
                formatter,
                "{:<20}{:>12.0}{:>12.0}{:>12.0}{:>12.0}{:>10.0}{:>8}{:>18}{:>18}",
                path.name,
                path.one_flow_mbps,
                path.hundred_flows_mbps,
                path.one_flow_up_mbps,
                path.hundred_flows_up_mbps,
                path.connections_per_second,
                path.failed_connections,
                shown(path.connect),
                shown(path.round_trip),
            )?;
        }
        for (name, other) in
            [(GATEKEEPER, NAT), (RELAY, NAT), (GATEKEEPER, RELAY), (GATEKEEPER, SOCKS)]
        {
            let shares = self.shares(name, other).filter(|[one, ..]| one.is_finite());
            if let Some([one, many, one_up, many_up]) = shares {
                writeln!(
                    formatter,
                    "{name} / {other}: {one:.2} one flow, {many:.2} hundred; \
                     up {one_up:.2} and {many_up:.2}"
                )?;
            }
        }
        self.show_rest(formatter)
    }
}

impl Report {
    fn show_rest(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for names in &self.names {
            let Names { name, per_second, refused, spread } = names;
            let spread = shown(*spread);
            writeln!(
                formatter,
                "names, {name}: {per_second:.0}/s, {spread} µs, {refused} refused"
            )?;
        }
        if let Some(Starts { begun, ended }) = &self.starts {
            writeln!(formatter, "start, to the program's first instruction: {begun}")?;
            writeln!(formatter, "and to the end of a program that does nothing: {ended}")?;
        }
        if let Some(idle) = &self.idle {
            writeln!(
                formatter,
                "idle cage: {:.0} KiB without, {:.0} KiB with network; {} connections held by {}, \
                 {} lost, {:.2} KiB each",
                idle.without_kib,
                idle.with_kib,
                idle.held,
                if idle.cages == 1 { "one cage" } else { "two cages" },
                idle.lost,
                idle.kib_for_each_connection
            )?;
        }
        for flood in &self.floods {
            let ratio = match (flood.quiet, flood.loud) {
                (Some(quiet), Some(loud)) => loud.p99_us / quiet.p99_us,
                _ => f64::NAN,
            };
            let held = if flood.on_one_processor { " on one processor" } else { "" };
            writeln!(
                formatter,
                "{} beside {}{held} at {:.0}/s: {} µs, quiet {} µs, p99 × {ratio:.2}, {} failed",
                flood.name,
                flood.beside,
                flood.per_second,
                shown(flood.loud),
                shown(flood.quiet),
                flood.failed
            )?;
        }
        Ok(())
    }
}

fn shown(spread: Option<Spread>) -> String {
    match spread {
        Some(Spread { p50_us, p99_us }) => format!("{p50_us:.0}/{p99_us:.0}"),
        None => "-".to_owned(),
    }
}
