//! Whole cages with and without network: how long they take to start, and how much memory guards
//! them while they idle.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use measures::statistics::median;

use crate::world::{NAME, World};

/// Microseconds that a cage takes from its request to its end, without and with network.
pub(crate) fn starts(world: &World, rounds: usize) -> io::Result<(f64, f64)> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(time(world.caged(&["--no-net"]))?);
        with.push(time(world.caged(&["--net", NAME]))?);
    }
    Ok((median(without), median(with)))
}

fn time(mut command: Command) -> io::Result<f64> {
    let started = Instant::now();
    let status = command.arg("/usr/bin/true").status()?;
    let took = started.elapsed();
    if !status.success() {
        return Err(io::Error::other(format!("a cage ended with {status}")));
    }
    Ok(took.as_secs_f64() * 1e6)
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
