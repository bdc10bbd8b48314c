//! One client: a process that starts programs one after the other by one mechanism, for some time. It is
//! told what to do on its standard input, and begins when all others are ready as well.

use std::io::{self, BufRead as _, Write as _};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::mechanisms::{Mechanism, Setting, Starter};

/// The word that makes this program a client.
pub(crate) const ROLE: &str = "client";
/// What it says when it could begin.
pub(crate) const READY: &str = "ready";

/// What a client is told.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Task {
    pub(crate) way: Mechanism,
    pub(crate) setting: Setting,
    pub(crate) time: Duration,
    pub(crate) goal: Goal,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Goal {
    /// How many programs run to their end.
    Ends,
    /// How long it is to each program's first instruction.
    Beginnings,
}

/// What a client has done.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Done {
    /// Programs that ran to their end.
    pub(crate) starts: u64,
    /// Those that did not.
    pub(crate) failed: u64,
    /// Why the first of them did not.
    pub(crate) failure: Option<String>,
    /// How long all of it took.
    pub(crate) seconds: f64,
    /// Times to the first instruction.
    pub(crate) times: Vec<Duration>,
}

/// Reads a task, carries it out when the word comes, and prints what was done.
pub(crate) fn run() -> io::Result<()> {
    let mut lines = io::stdin().lock().lines();
    let mut line = || lines.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
    let task: Task = serde_json::from_str(&line()?)?;
    let mut starter = Starter::new(task.way, &task.setting)?;
    // The first start also reads what the others find in memory.
    starter.run()?;
    let mut out = io::stdout();
    writeln!(out, "{READY}")?;
    line()?;
    let done = work(&mut starter, task.time, task.goal);
    writeln!(out, "{}", serde_json::to_string(&done)?)
}

fn work(starter: &mut Starter, time: Duration, goal: Goal) -> Done {
    let begun = Instant::now();
    let mut done = Done::default();
    while begun.elapsed() < time {
        let result = match goal {
            Goal::Ends => starter.run(),
            Goal::Beginnings => starter.reach().map(|time| done.times.push(time)),
        };
        match result {
            Ok(()) => done.starts += 1,
            Err(error) => {
                done.failed += 1;
                done.failure.get_or_insert(error.to_string());
            }
        }
    }
    done.seconds = begun.elapsed().as_secs_f64();
    done
}
