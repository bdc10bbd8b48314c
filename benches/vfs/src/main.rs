//! What the virtual file system costs: looking up and listing in this process, and everyday work through FUSE and where the
//! kernel shows a directory itself, beside the same on a native directory, on tmpfs, through fuse-overlayfs and through
//! bindfs. Measures; never decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod candidates;
mod in_process;
mod work;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use candidates::Candidate;

const USAGE: &str = "\
usage: stockade-bench-vfs [--files N] [--rounds N] [--only WORDS]

  --files N     how many files are made, looked at, listed and removed (50000)
  --rounds N    how often each has its turn (3)
  --only WORDS  only what has one of the words in its name, which commas separate; `process` is what
                happens in this process

Mounting needs root; fuse-overlayfs and bindfs are left out where they are not installed, and cages where no `stockade`
lies beside this program.";

/// What to measure.
pub(crate) struct Options {
    pub(crate) files: usize,
    pub(crate) rounds: usize,
    pub(crate) only: Option<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, source, directory, settings] = words.as_slice()
        && role == candidates::ROLE
    {
        return told(candidates::serve(source, directory, settings));
    }
    if let [role, place, files, archive] = words.as_slice()
        && role == work::ROLE
    {
        return told(work::perform_and_tell(place, files, archive));
    }
    let mut options = Options { files: 50_000, rounds: 3, only: None };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let value = words.next();
        let number = value.as_deref().and_then(|value| value.parse().ok());
        match (word.as_str(), number, value) {
            ("--files", Some(number), _) => options.files = number,
            ("--rounds", Some(number), _) => options.rounds = number,
            ("--only", _, Some(value)) => options.only = Some(value),
            _ => {
                println!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    told(measure(&options))
}

fn told(done: io::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> io::Result<()> {
    let wants = |name: &str| {
        options.only.as_deref().is_none_or(|only| only.split(',').any(|word| name.contains(word)))
    };
    if wants("process") {
        in_process::measure()?;
    }
    let candidates: Vec<Candidate> =
        candidates::all().into_iter().filter(|one| wants(one.name)).collect();
    let mut times = vec![vec![Vec::new(); work::ALL.len()]; candidates.len()];
    let packed = work::Packed::new()?;
    for _ in 0..options.rounds {
        for (candidate, times) in candidates.iter().zip(&mut times) {
            let mounted = candidate.mount()?;
            let took = candidate.perform(&mounted, options, &packed)?;
            for (times, took) in times.iter_mut().zip(took) {
                times.push(took);
            }
        }
    }
    tell(&candidates, &times);
    Ok(())
}

fn tell(candidates: &[Candidate], times: &[Vec<Vec<Duration>>]) {
    let names: Vec<&str> = candidates.iter().map(|one| one.name).collect();
    println!("| ms | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    let middle = |times: &Vec<Duration>| {
        measures::statistics::median(times.iter().map(Duration::as_secs_f64).collect())
    };
    for (number, what) in work::ALL.iter().enumerate() {
        let row: Vec<f64> = times.iter().map(|of| of.get(number).map_or(0.0, middle)).collect();
        let cells: Vec<String> = row.iter().map(|time| format!("{:.0}", time * 1e3)).collect();
        println!("| {what} | {} |", cells.join(" | "));
    }
    for peer in ["fuse-overlayfs", "bindfs", "native"] {
        let Some(at) = names.iter().position(|name| *name == peer) else { continue };
        println!("\n| {peer} takes so many times as long as | {} |", names.join(" | "));
        println!("|---|{}", "---|".repeat(names.len()));
        for (number, what) in work::ALL.iter().enumerate() {
            let time = |of: &Vec<Vec<Duration>>| of.get(number).map_or(0.0, middle);
            let of_peer = times.get(at).map_or(0.0, time);
            let cells: Vec<String> =
                times.iter().map(|of| format!("{:.2}", of_peer / time(of))).collect();
            println!("| {what} | {} |", cells.join(" | "));
        }
    }
}
