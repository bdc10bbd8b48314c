//! What the route through the gatekeeper costs, beside direct loopback, a veth pair with and without
//! NAT, a bare relay, a plain SOCKS server and a caching resolver, in one run and for the same work. Everything
//! happens in network namespaces of its own. Measures; never decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod cages;
mod client;
mod floods;
mod measure;
mod relay;
mod report;
mod routes;
mod server;
mod world;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use measures::stamp;

const USAGE: &str = "\
usage: stockade-bench-gate [--seconds N] [--rounds N] [--flood N] [--only WORD] [--json]

  --seconds N   how long each transfer is measured (1)
  --rounds N    how often each route has its turn (5)
  --flood N     connections and questions of a flood (100000)
  --only WORD   one of: bulk, short, latency, names, start, memory, idle, flood
  --json        the report as JSON

STOCKADE_BIN names the binary to measure; without it the one beside this program is taken.
Needs root, or a user who may make namespaces; `ip`, `nft`, `microsocks` and `dnsmasq` where they are
installed.";

/// What to measure, and for how long.
pub(crate) struct Options {
    pub(crate) stockade: PathBuf,
    pub(crate) time: Duration,
    pub(crate) rounds: usize,
    pub(crate) flood: usize,
    pub(crate) only: Option<String>,
    json: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<&str>>().as_slice() {
        [server::ROLE] => server::serve(),
        [relay::ROLE] => relay::relay(),
        [stamp::ROLE] => stamp::print(),
        [client::ROLE, rest @ ..] => client::run(rest).map(|line| {
            // Who held idle connections has said it before, and is not listened to any more.
            let _unheard = writeln!(io::stdout(), "{line}");
        }),
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
            eprintln!("stockade-bench-gate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    let world = world::World::raise(&options.stockade)?;
    let report = measure::all(&world, options)?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}

impl Options {
    fn read(words: &[String]) -> io::Result<Self> {
        let beside = std::env::current_exe()?.with_file_name("stockade");
        let stockade = std::env::var_os("STOCKADE_BIN").map_or(beside, PathBuf::from);
        if !stockade.exists() {
            return Err(io::Error::other(format!("there is no `{}`", stockade.display())));
        }
        let mut options = Self {
            stockade,
            time: Duration::from_secs(1),
            rounds: 5,
            flood: 100_000,
            only: None,
            json: false,
        };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let mut number = || {
                let text = rest.next().map(String::as_str).unwrap_or_default();
                text.parse::<usize>()
                    .map_err(|_| io::Error::other(format!("{word} takes a number")))
            };
            match word.as_str() {
                "--seconds" => options.time = Duration::from_secs(number()? as u64),
                "--rounds" => options.rounds = number()?.max(1),
                "--flood" => options.flood = number()?,
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
