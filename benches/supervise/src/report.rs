//! What was measured, as tables for a person and as JSON for a program. Computes nothing but ratios.

use std::fmt;

use measures::memory::Memory;
use measures::statistics::Spread;
use serde::Serialize;

use crate::mechanisms::Mechanism;

/// Everything that one run measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// As whom: `root`, or `user` for anyone else.
    pub(crate) caller: &'static str,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// How often each mechanism had its turn.
    pub(crate) rounds: usize,
    /// How long each turn was.
    pub(crate) seconds: u64,
    /// Ways that do not work here.
    pub(crate) left_out: Vec<LeftOut>,
    /// Programs that ran to their end.
    pub(crate) crowds: Vec<Crowd>,
    /// From asking to the program's first instruction.
    pub(crate) latencies: Vec<Latency>,
    /// Memory of what guards idle programs.
    pub(crate) idle: Vec<Idle>,
    /// Many cages at once.
    pub(crate) alive: Option<Alive>,
    /// Records of the log.
    pub(crate) records: Vec<Records>,
}

/// A mechanism that does not work here.
#[derive(Debug, Serialize)]
pub(crate) struct LeftOut {
    pub(crate) way: Mechanism,
    pub(crate) reason: String,
}

/// How fast clients start programs by one mechanism.
#[derive(Debug, Serialize)]
pub(crate) struct Crowd {
    pub(crate) way: Mechanism,
    pub(crate) clients: usize,
    /// The middle of all rounds.
    pub(crate) per_second: f64,
    /// The daemon's rate as a multiple of this one, in the middle of all rounds.
    pub(crate) daemon_times: Option<f64>,
    /// The same with limits for each cage.
    pub(crate) limited_daemon_times: Option<f64>,
    pub(crate) failed: u64,
    /// Why the first failed.
    pub(crate) failure: Option<String>,
}

/// How long a program waits for its first instruction.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) way: Mechanism,
    pub(crate) clients: usize,
    pub(crate) time: Option<Spread>,
    pub(crate) failed: u64,
}

/// Memory of what guards idle programs.
#[derive(Debug, Serialize)]
pub(crate) struct Idle {
    pub(crate) name: &'static str,
    pub(crate) cages: usize,
    /// Of what is there without any.
    pub(crate) before: Memory,
    /// Of everything that guards them.
    pub(crate) after: Memory,
    /// For each of them, with its share of what is always there.
    pub(crate) kib_each: f64,
    /// For each further one.
    pub(crate) kib_more_each: f64,
}

impl Idle {
    /// Divides.
    pub(crate) fn new(name: &'static str, cages: usize, before: Memory, after: Memory) -> Self {
        let count = cages as f64;
        let kib_each = after.pss_kib as f64 / count;
        let kib_more_each = after.pss_kib.saturating_sub(before.pss_kib) as f64 / count;
        Self { name, cages, before, after, kib_each, kib_more_each }
    }
}

/// Many cages at once.
#[derive(Debug, Serialize)]
pub(crate) struct Alive {
    pub(crate) cages: usize,
    /// How many of their programs were found running.
    pub(crate) programs: usize,
    pub(crate) start_all_ms: f64,
    pub(crate) end_all_ms: f64,
    /// How many programs were left afterwards.
    pub(crate) left: usize,
    pub(crate) guards: Memory,
}

/// How many records the log takes.
#[derive(Debug, Serialize)]
pub(crate) struct Records {
    pub(crate) writers: usize,
    pub(crate) durable: bool,
    pub(crate) per_second: f64,
}

impl Report {
    fn median(&self, way: Mechanism, clients: usize) -> Option<f64> {
        let same = |latency: &&Latency| latency.way == way && latency.clients == clients;
        Some(self.latencies.iter().find(same)?.time?.p50_us)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caller, kernel, rounds, seconds, .. } = self;
        writeln!(out, "as {caller}, Linux {kernel}, {rounds} rounds of {seconds} s")?;
        for LeftOut { way, reason } in &self.left_out {
            writeln!(out, "without {}: {reason}", way.name())?;
        }
        self.show_rates(out)?;
        self.show_latencies(out)?;
        self.show_idle(out)?;
        self.show_records(out)
    }
}

impl Report {
    fn show_rates(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.crowds.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nruns of /usr/bin/true in a second; the daemon's rate as a multiple")?;
        let heads = ["", "clients", "per second", "failed", "daemon ×", "with limits ×"];
        let [name, clients, rate, failed, daemon, limits] = heads;
        writeln!(out, "{name:<22}{clients:>8}{rate:>12}{failed:>8}{daemon:>10}{limits:>15}")?;
        for crowd in &self.crowds {
            let Crowd { way, clients, per_second, failed, failure, .. } = crowd;
            let plain = ratio(crowd.daemon_times);
            let limited = ratio(crowd.limited_daemon_times);
            write!(out, "{:<22}{clients:>8}{per_second:>12.0}{failed:>8}", way.name())?;
            writeln!(out, "{plain:>10}{limited:>15}")?;
            if let Some(failure) = failure {
                writeln!(out, "    {failure}")?;
            }
        }
        Ok(())
    }

    fn show_latencies(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.latencies.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nfrom asking to the first instruction; as a multiple of the daemon's median"
        )?;
        let [name, clients, p50, p99, times] = ["", "clients", "p50", "p99", "of daemon"];
        writeln!(out, "{name:<22}{clients:>8}{p50:>12}{p99:>12}{times:>11}")?;
        for Latency { way, clients, time, failed } in &self.latencies {
            let Some(Spread { p50_us, p99_us }) = time else {
                writeln!(out, "{:<22}{clients:>8} {failed} failed", way.name())?;
                continue;
            };
            let times = ratio(self.median(Mechanism::Daemon, *clients).map(|own| p50_us / own));
            write!(out, "{:<22}{clients:>8}{p50_us:>9.0} µs{p99_us:>9.0} µs", way.name())?;
            writeln!(out, "{times:>11}")?;
        }
        Ok(())
    }

    fn show_idle(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.idle.is_empty() {
            writeln!(out, "\nmemory of what guards idle programs (PSS)")?;
        }
        for idle in &self.idle {
            let Idle { name, cages, before, after, kib_each, kib_more_each } = idle;
            write!(out, "{name:<22}{cages} idle: {kib_each:.0} KiB each, ")?;
            write!(out, "{kib_more_each:.0} KiB for each more, {} KiB before, ", before.pss_kib)?;
            writeln!(out, "{} processes{}", after.processes, unreadable(after.unreadable))?;
        }
        if let Some(alive) = &self.alive {
            let Alive { cages, programs, start_all_ms, end_all_ms, left, guards } = alive;
            let rate = *cages as f64 / start_all_ms * 1e3;
            writeln!(out, "\n{cages} cages at once through the daemon")?;
            write!(out, "started in {start_all_ms:.0} ms ({rate:.0} in a second), {programs} ")?;
            write!(out, "programs running, guards {} KiB, ", guards.pss_kib)?;
            writeln!(out, "ended in {end_all_ms:.0} ms, {left} left")?;
        }
        Ok(())
    }

    fn show_records(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.records.is_empty() {
            writeln!(out, "\nrecords of the log in a second")?;
        }
        for Records { writers, durable, per_second } in &self.records {
            let how = if *durable { "durable" } else { "written" };
            writeln!(out, "{how:<22}{writers:>3} writers{per_second:>12.0}")?;
        }
        Ok(())
    }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn unreadable(count: u64) -> String {
    match count {
        0 => String::new(),
        some => format!(", and {some} that only root can look into"),
    }
}
