//! What a copy-on-write view costs: ordinary work in it, beside the host and fuse-overlayfs, and the diff of many changed
//! files, beside reading them. Measures; never decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod diff;
mod work;

use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: stockade-bench-workspace [--files N] [--tree N] [--rounds N]

  --files N    how many files are changed (10000)
  --tree N     how many files the work is done in (50000)
  --rounds N   how often each way has its turn (5)

STOCKADE_BIN names the binary to measure; without it the one beside this program is taken.";

/// What to measure.
pub(crate) struct Options {
    pub(crate) files: usize,
    pub(crate) tree: usize,
    pub(crate) rounds: usize,
}

fn main() -> ExitCode {
    let mut options = Options { files: 10_000, tree: 50_000, rounds: 5 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        match (word.as_str(), number) {
            ("--files", Some(number)) => options.files = number,
            ("--tree", Some(number)) => options.tree = number,
            ("--rounds", Some(number)) => options.rounds = number,
            _ => {
                println!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match diff::measure(&options).and_then(|()| work::measure(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
