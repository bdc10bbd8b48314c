//! How long a cage takes to start, beside what else could start one: plain `fork` and `exec`, a bare
//! floor, `stockade run`, the launcher process, bubblewrap and `unshare`, in one run and for the
//! same work. Measures; never decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod bubblewrap;
mod cages;
mod floor;
mod measure;
mod mechanisms;
mod program;
mod project;
mod report;
mod stamps;

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jail::launcher::Launcher;
use rustix::process::{Resource, Rlimit};

const USAGE: &str = "\
usage: stockade-bench-spawn [--rounds N] [--only WORD] [--json]

  --rounds N   how often each start is measured (200)
  --only WORD  one of: starts, memory, alive, growth
  --json       the report as JSON

STOCKADE_BIN names the binary to measure; without it the one beside this program is taken.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = Options::read(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("stockade-bench-spawn: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<String> {
    let installed = tempfile::tempdir()?;
    let stockade = install(&stockade_binary()?, installed.path())?;
    allow_many_descriptors()?;
    let (quiet, restore) = Quiet::begin()?;
    let launcher = Launcher::start(None).map_err(io::Error::other)?;
    let programs = measure::Programs {
        stockade,
        bubblewrap: measure::installed("/usr/bin/bwrap"),
        unshare: measure::installed("/usr/bin/unshare"),
    };
    let measured = measure::all(&programs, &launcher, options.rounds, |part| options.wants(part));
    let said = quiet.end(restore)?;
    let report = measured.map_err(|error| io::Error::other(format!("{error}\n{said}")))?;
    if options.json { Ok(serde_json::to_string_pretty(&report)?) } else { Ok(report.to_string()) }
}

/// The binary to measure.
fn stockade_binary() -> io::Result<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("stockade"));
    let path = std::env::var_os("STOCKADE_BIN").map(PathBuf::from).or_else(beside);
    path.filter(|path| path.exists()).ok_or_else(|| {
        io::Error::other(
            "there is no `stockade` beside this program: `cargo build --release` first",
        )
    })
}

/// Copies the binary, as an installation does. A file that a linker has just written lies in the
/// kernel's cache in small pieces, and starts slower than it ever will for a user.
fn install(binary: &Path, directory: &Path) -> io::Result<PathBuf> {
    let installed = directory.join("stockade");
    std::fs::copy(binary, &installed)?;
    Ok(installed)
}

/// Two descriptors for each of many cages are more than the usual limit.
fn allow_many_descriptors() -> io::Result<()> {
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(())
}

/// Standard input from nowhere and standard output and error to a file while measuring: with a
/// terminal there, a cage would get one as well, and not every mechanism would do the same work.
struct Quiet {
    said: File,
}

impl Quiet {
    fn begin() -> io::Result<(Self, [OwnedFd; 3])> {
        io::stdout().flush()?;
        let said = tempfile::tempfile()?;
        let restore = [
            rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?,
            rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?,
            rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?,
        ];
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(&said)?;
        rustix::stdio::dup2_stderr(&said)?;
        Ok((Self { said }, restore))
    }

    /// Restores the streams and returns what was said meanwhile.
    fn end(mut self, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<String> {
        rustix::stdio::dup2_stdin(stdin)?;
        rustix::stdio::dup2_stdout(stdout)?;
        rustix::stdio::dup2_stderr(stderr)?;
        let mut bytes = Vec::new();
        self.said.rewind()?;
        self.said.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The command line.
struct Options {
    rounds: usize,
    only: Option<String>,
    json: bool,
}

impl Options {
    fn read(arguments: &[String]) -> Option<Self> {
        let mut options = Self { rounds: 200, only: None, json: false };
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--rounds" => {
                    options.rounds = rest.next()?.parse().ok().filter(|rounds| *rounds > 0)?;
                }
                "--only" => {
                    let part = rest.next()?;
                    PARTS.contains(&part.as_str()).then_some(())?;
                    options.only = Some(part.clone());
                }
                "--json" => options.json = true,
                _ => return None,
            }
        }
        Some(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }
}

/// What can be measured alone.
const PARTS: [&str; 4] = ["starts", "memory", "alive", "growth"];
