//! Many agents at one time against a scripted model: all of them work on a command that waits, and what their processes hold
//! of memory is added up while they do.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testing::model_server::{ModelServer, Step};

/// Starts so many, waits until all are at work, and says what each takes.
pub(crate) fn measure(stockade: &Path, count: usize) -> io::Result<()> {
    let place = tempfile::tempdir()?;
    let server = ModelServer::start(&[Step::Run("sleep 300".to_owned())], "done");
    let begun = Instant::now();
    let mut agents = Vec::new();
    for number in 0..count {
        let directory = place.path().join(number.to_string());
        std::fs::create_dir(&directory)?;
        let mut command = Command::new(stockade);
        command.args(["agent", "--model", "m", "--protocol", "anthropic", "--url", &server.url()]);
        command.args(["--key", "none", "--rw", ".", "wait"]).current_dir(&directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        agents.push(command.spawn()?);
    }
    let at_work = wait_for(&agents);
    let all: Vec<u64> = agents.iter().map(|agent| memory(agent.id())).collect();
    println!("{count} agents at one time, each in a cage with a command that waits");
    println!("  at work after {:>6.1} s", begun.elapsed().as_secs_f64());
    let (most, sum) = (all.iter().max().copied().unwrap_or_default(), all.iter().sum::<u64>());
    let mean = sum / u64::try_from(count.max(1)).unwrap_or(1);
    println!("  memory of each, KiB (mean, most) {mean:>9} {most:>9}");
    for agent in &mut agents {
        let _gone = agent.kill();
        let _reaped = agent.wait();
    }
    match at_work {
        true => Ok(()),
        false => Err(io::Error::other("not every agent came to its command")),
    }
}

/// Waits until each has its command running.
fn wait_for(agents: &[Child]) -> bool {
    let until = Instant::now() + LONGEST;
    let waits = |agent: &Child| {
        crate::family(agent.id()).into_iter().any(|pid| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.starts_with(b"sleep\0")
        })
    };
    while Instant::now() < until {
        if agents.iter().all(waits) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    false
}

/// What an agent and everything below it hold, with shared pages counted by their share, in KiB.
fn memory(agent: u32) -> u64 {
    let of = |pid: u32| -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
    };
    crate::family(agent).into_iter().map(of).sum()
}

const LONGEST: Duration = Duration::from_secs(180);
