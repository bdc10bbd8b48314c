//! What the review of a copy-on-write view costs: the diff of many changed files, beside reading them. Measures; never
//! decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod diff;

use std::process::ExitCode;

const USAGE: &str = "\
usage: stockade-bench-workspace [--files N] [--rounds N]

  --files N    how many files are changed (10000)
  --rounds N   how often each way has its turn (5)";

/// What to measure.
pub(crate) struct Options {
    pub(crate) files: usize,
    pub(crate) rounds: usize,
}

fn main() -> ExitCode {
    let mut options = Options { files: 10_000, rounds: 5 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok());
        match (word.as_str(), number) {
            ("--files", Some(number)) => options.files = number,
            ("--rounds", Some(number)) => options.rounds = number,
            _ => {
                println!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match diff::measure(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}
