//! What many cages cost through the daemon: starts in a second, time to the first instruction, memory
//! of idle ones, a thousand at once, records in a second; beside bubblewrap and `runc` started by
//! the same clients, and `systemd-run --scope` where systemd runs. Measures; never decides what is
//! fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod bubblewrap;
mod bundle;
mod cages;
mod client;
mod crowd;
mod daemon;
mod http;
mod idle;
mod measure;
mod mechanisms;
mod project;
mod records;
mod report;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use measures::stamp;
use rustix::process::{Resource, Rlimit};

const USAGE: &str = "\
usage: stockade-bench-supervise [--seconds N] [--rounds N] [--alive N] [--only WORD] [--json]

  --seconds N   how long each crowd of clients starts programs (1)
  --rounds N    how often each mechanism has its turn (7)
  --alive N     how many cages are held at once (1000)
  --only WORD   one of: rates, latency, idle, alive, records
  --json        the report as JSON

STOCKADE_BIN names the binary to measure; without it the one beside this program is taken. `bwrap`,
`runc` and `systemd-run` take part where they are installed and work.";

/// What to measure, and for how long.
pub(crate) struct Options {
    pub(crate) stockade: PathBuf,
    pub(crate) time: Duration,
    pub(crate) rounds: usize,
    pub(crate) alive: usize,
    only: Option<String>,
    json: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<&str>>().as_slice() {
        [stamp::ROLE] => stamp::print(),
        [client::ROLE] => client::run(),
        _ => match Options::read(&words) {
            Ok(options) => run(&options),
            Err(error) => {
                eprintln!("{error}\n{USAGE}");
                return ExitCode::from(2);
            }
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stockade-bench-supervise: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    allow_many_descriptors()?;
    let report = measure::all(options)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}

/// Each cage takes several descriptors of the daemon, which inherits our limit.
fn allow_many_descriptors() -> io::Result<()> {
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(())
}

impl Options {
    fn read(words: &[String]) -> io::Result<Self> {
        let beside = std::env::current_exe()?.with_file_name("stockade");
        let stockade = std::env::var_os("STOCKADE_BIN").map_or(beside, PathBuf::from);
        if !stockade.exists() {
            return Err(io::Error::other(format!("there is no `{}`", stockade.display())));
        }
        let time = Duration::from_secs(1);
        let mut options = Self { stockade, time, rounds: 7, alive: 1000, only: None, json: false };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let mut number = || {
                let text = rest.next().map(String::as_str).unwrap_or_default();
                let number = text.parse::<usize>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| io::Error::other(format!("{word} takes a number")))
            };
            match word.as_str() {
                "--seconds" => options.time = Duration::from_secs(number()? as u64),
                "--rounds" => options.rounds = number()?,
                "--alive" => options.alive = number()?,
                "--only" => options.only = rest.next().cloned(),
                "--json" => options.json = true,
                _ => return Err(io::Error::other(format!("unknown word `{word}`"))),
            }
        }
        Ok(options)
    }

    /// Whether a part was asked for.
    pub(crate) fn wants(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }
}
