//! Whole cages with and without network: how long they take to start, and how much memory guards
//! them while they idle.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use measures::stamp;
use measures::statistics::median;

use crate::report::{Added, Starts};
use crate::world::{NAME, World};

/// How long cages take, without and with network in turns.
pub(crate) fn starts(world: &World, rounds: usize) -> io::Result<Starts> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(time(world, &["--no-net"])?);
        with.push(time(world, &["--net", NAME])?);
    }
    let middle =
        |times: &[Times], which: fn(&Times) -> f64| median(times.iter().map(which).collect());
    let added = |which: fn(&Times) -> f64| {
        let (without_us, with_us) = (middle(&without, which), middle(&with, which));
        Added { without_us, with_us, added_us: with_us - without_us }
    };
    Ok(Starts { begun: added(|times| times.begun_us), ended: added(|times| times.ended_us) })
}

/// Microseconds from the request of a cage.
struct Times {
    /// To its program's first instruction.
    begun_us: f64,
    /// To the end of the command.
    ended_us: f64,
}

fn time(world: &World, network: &[&str]) -> io::Result<Times> {
    let mut command = world.caged(network);
    command.arg(world.program()).arg(stamp::ROLE).stdin(Stdio::null()).stderr(Stdio::inherit());
    let asked = stamp::now();
    let done = command.output()?;
    let ended = stamp::now();
    if !done.status.success() {
        return Err(io::Error::other(format!("a cage ended with {}", done.status)));
    }
    let since = |moment: u64| moment.saturating_sub(asked) as f64 / 1e3;
    Ok(Times { begun_us: since(stamp::read(&done.stdout)?), ended_us: since(ended) })
}

/// KiB that guard an idle cage: its supervisor, its pid 1 and, with network, its gatekeeper. Shared
/// pages count in proportion.
pub(crate) fn memory(world: &World, network: &[&str]) -> io::Result<f64> {
    let mut cages = Vec::new();
    for _ in 0..MANY {
        let mut command = world.caged(network);
        cages.push(command.args(["/usr/bin/sleep", "1000"]).stdout(Stdio::null()).spawn()?);
    }
    std::thread::sleep(Duration::from_secs(1));
    let total: u64 = cages.iter().map(|cage| memory_of_guards(cage.id())).sum();
    for cage in &mut cages {
        cage.kill()?;
        cage.wait()?;
    }
    Ok(total as f64 / MANY as f64)
}

/// KiB of a process and its descendants but for `sleep`.
pub(crate) fn memory_of_guards(process: u32) -> u64 {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    if name.trim() == "sleep" || name.trim() == "bench" {
        return 0;
    }
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"));
    let rollup = rollup.unwrap_or_default();
    let own = rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next());
    let own: u64 = own.and_then(|word| word.parse().ok()).unwrap_or_default();
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    let below = children.split_whitespace().filter_map(|word| word.parse().ok());
    own + below.map(memory_of_guards).sum::<u64>()
}

const MANY: usize = 20;
