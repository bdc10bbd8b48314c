//! How many records in a second the log takes: written, and durable by several writers that share
//! what it costs.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use audit::{Event, Log};

use crate::report::Records;

/// Measures in a new directory.
pub(crate) fn measure(directory: &Path, time: Duration) -> io::Result<Vec<Records>> {
    let log = Log::open(directory).map_err(io::Error::other)?;
    let mut all = vec![Records {
        writers: 1,
        durable: false,
        per_second: rate(1, time, || log.append(&event()).map(|_| ()).map_err(io::Error::other))?,
    }];
    for writers in WRITERS {
        let record = || log.record(&event()).map(|_| ()).map_err(io::Error::other);
        let per_second = rate(*writers, time, record)?;
        all.push(Records { writers: *writers, durable: true, per_second });
    }
    Ok(all)
}

fn rate(
    writers: usize,
    time: Duration,
    write: impl Fn() -> io::Result<()> + Sync,
) -> io::Result<f64> {
    let begun = Instant::now();
    let work = || {
        let mut count = 0_u64;
        while begun.elapsed() < time {
            write()?;
            count += 1;
        }
        Ok(count)
    };
    let counts: io::Result<Vec<u64>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..writers).map(|_| scope.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| io::Error::other("a writer panicked"))?);
        joined.collect()
    });
    Ok(counts?.iter().sum::<u64>() as f64 / begun.elapsed().as_secs_f64())
}

/// A record of the usual size.
fn event() -> Event {
    Event::SubagentIntent {
        invocation_id: "01JD0000000000000000000000".into(),
        project_id: "/srv/projects/example".into(),
        session_id: None,
        subagent_name: None,
        cage: Some("default".into()),
        effective_cage_hash: Some(
            "sha256:0000000000000000000000000000000000000000000000000000000000000000".into(),
        ),
        argv0: "/usr/bin/true".into(),
        caged: true,
    }
}

/// How many write at the same time.
const WRITERS: &[usize] = &[1, 8, 64];
