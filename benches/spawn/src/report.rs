//! What was measured, as a table for a person and as JSON for a program. Computes nothing but
//! ratios.

use std::fmt;

use measures::memory::Memory;
use measures::statistics::{self, Summary};
use serde::Serialize;

/// Everything that one run measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// As whom: `root`, or `user` for anyone else.
    pub(crate) caller: &'static str,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// How often each start was measured.
    pub(crate) rounds: usize,
    /// From the request to the end of the program.
    pub(crate) starts: Vec<Start>,
    /// Processes that guard one cage.
    pub(crate) guards: Vec<Guard>,
    /// Many cages at the same time.
    pub(crate) alive: Vec<Alive>,
    /// How the time grows with the number of granted paths.
    pub(crate) growth: Vec<Growth>,
}

/// How long one mechanism of starting takes.
#[derive(Debug, Serialize)]
pub(crate) struct Start {
    /// Which mechanism.
    pub(crate) name: &'static str,
    /// How long.
    #[serde(flatten)]
    pub(crate) time: Summary,
    /// Its median divided by that of the floor.
    pub(crate) times_floor: Option<f64>,
    /// Its median divided by that of bubblewrap.
    pub(crate) times_bwrap: Option<f64>,
}

/// Memory of what guards a running cage.
#[derive(Debug, Serialize)]
pub(crate) struct Guard {
    /// Whose.
    pub(crate) name: &'static str,
    /// How much.
    #[serde(flatten)]
    pub(crate) memory: Memory,
}

/// Many cages at the same time, started through one launcher process.
#[derive(Debug, Serialize)]
pub(crate) struct Alive {
    /// How many.
    pub(crate) cages: usize,
    /// How long it took to start all of them, one after the other.
    pub(crate) start_all_ms: f64,
    /// How long it took to end all of them.
    pub(crate) end_all_ms: f64,
    /// The launcher and every cage's pid 1, together.
    pub(crate) guards: Memory,
}

/// How one mechanism's time grows with the number of granted paths.
#[derive(Debug, Serialize)]
pub(crate) struct Growth {
    /// Which mechanism.
    pub(crate) name: &'static str,
    /// Until the program's first instruction.
    pub(crate) begun: Line,
    /// Until everything has ended.
    pub(crate) ended: Line,
}

/// Times by the number of granted paths.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Line {
    /// Numbers of grants, each with the median in microseconds.
    pub(crate) points: Vec<(usize, f64)>,
    /// Microseconds for each further grant.
    pub(crate) slope_us: Option<f64>,
}

impl Growth {
    /// Begins with one point: how many grants, and how long until the program began and ended.
    pub(crate) fn new(name: &'static str, point: (usize, f64, f64)) -> Self {
        let mut growth = Self { name, begun: Line::default(), ended: Line::default() };
        growth.add(point);
        growth
    }

    /// Takes in another.
    pub(crate) fn add(&mut self, (grants, begun_us, ended_us): (usize, f64, f64)) {
        self.begun.add(grants, begun_us);
        self.ended.add(grants, ended_us);
    }
}

impl Line {
    /// Takes a point in and fits the slope.
    fn add(&mut self, grants: usize, time_us: f64) {
        self.points.push((grants, time_us));
        let places: Vec<(f64, f64)> =
            self.points.iter().map(|(grants, time)| (*grants as f64, *time)).collect();
        self.slope_us = statistics::slope(&places);
    }
}

/// Adds the ratios to measured times.
pub(crate) fn starts(measured: Vec<(&'static str, Summary)>) -> Vec<Start> {
    let median = |name: &str| {
        let found = measured.iter().find(|(known, _)| *known == name);
        found.map(|(_, time)| time.median_us)
    };
    let (floor, bwrap) = (median(FLOOR), median(BUBBLEWRAP));
    let with_ratios = |(name, time): &(&'static str, Summary)| Start {
        name,
        time: *time,
        times_floor: floor.map(|floor| time.median_us / floor),
        times_bwrap: bwrap.map(|bwrap| time.median_us / bwrap),
    };
    measured.iter().map(with_ratios).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "as {}, Linux {}, {} rounds", self.caller, self.kernel, self.rounds)?;
        if !self.starts.is_empty() {
            self.write_starts(out)?;
        }
        if !self.guards.is_empty() {
            self.write_guards(out)?;
        }
        if !self.alive.is_empty() {
            self.write_alive(out)?;
        }
        if !self.growth.is_empty() {
            self.write_growth(out)?;
        }
        Ok(())
    }
}

impl Report {
    fn write_starts(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "\nfrom the request to the end of /usr/bin/true")?;
        let heads = ["", "median", "p90", "least", "of floor", "of bwrap"];
        let [name, median, p90, least, floor, bwrap] = heads;
        writeln!(out, "{name:<22}{median:>10}{p90:>10}{least:>10}{floor:>10}{bwrap:>10}")?;
        for Start { name, time, times_floor, times_bwrap } in &self.starts {
            let Summary { median_us, p90_us, least_us } = time;
            write!(out, "{name:<22}{median_us:>7.0} µs{p90_us:>7.0} µs{least_us:>7.0} µs")?;
            writeln!(out, "{:>10}{:>10}", or_dash(*times_floor), or_dash(*times_bwrap))?;
        }
        Ok(())
    }

    fn write_guards(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "\nmemory of what guards one running cage")?;
        for Guard { name, memory } in &self.guards {
            let Memory { rss_kib, pss_kib, processes, unreadable } = memory;
            write!(out, "{name:<22}{processes} processes, RSS {rss_kib} KiB, PSS {pss_kib} KiB")?;
            writeln!(out, "{}", and_unreadable(*unreadable))?;
        }
        Ok(())
    }

    fn write_alive(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "\ncages alive at once, through one launcher process")?;
        for Alive { cages, start_all_ms, end_all_ms, guards } in &self.alive {
            let each = start_all_ms * 1000.0 / *cages as f64;
            let Memory { pss_kib, processes, unreadable, .. } = guards;
            write!(out, "{cages:<22}started in {start_all_ms:.0} ms ({each:.0} µs each), ")?;
            write!(out, "ended in {end_all_ms:.0} ms, {processes} guards with PSS {pss_kib} KiB")?;
            writeln!(out, "{}", and_unreadable(*unreadable))?;
        }
        Ok(())
    }

    fn write_growth(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "\ngrowth with the number of granted paths, to the program's first instruction"
        )?;
        for Growth { name, begun, .. } in &self.growth {
            writeln!(out, "{name:<22}{begun}")?;
        }
        writeln!(out, "and to the end of everything")?;
        for Growth { name, ended, .. } in &self.growth {
            writeln!(out, "{name:<22}{ended}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (grants, time) in &self.points {
            write!(out, "{grants}: {time:.0} µs  ")?;
        }
        write!(out, "slope {} µs per grant", or_dash(self.slope_us))
    }
}

fn or_dash(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn and_unreadable(count: u64) -> String {
    match count {
        0 => String::new(),
        some => format!(", and {some} that only root can look into"),
    }
}

/// Names by which ratios are found.
pub(crate) const FLOOR: &str = "bare floor";
/// As above.
pub(crate) const BUBBLEWRAP: &str = "bubblewrap";
