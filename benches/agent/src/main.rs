//! What agents cost: a call of a tool in this process, over MCP, over 9P and through `/tool` in a cage, a child beside a first-level cage, and
//! many agents at one time. Measures; never decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

mod many;
mod served;

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use measures::statistics::Spread;
use serde_json::{Map, Value};
use tools::{Call, Reader, Root, Shell, Spill, World};

const USAGE: &str = "\
usage: stockade-bench-agent [ROUNDS [AGENTS]]

How often each is done (1000; cages a twentieth of that), and how many agents work at one time (100). `stockade` has to
lie beside this program.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, without: usize| match words.get(at) {
        Some(word) => word.parse().map_err(io::Error::other),
        None => Ok(without),
    };
    let done = match words.first().map(String::as_str) {
        Some(INSIDE) => number(1, 1).and_then(inside),
        _ => number(0, 1000).and_then(|rounds| measure(rounds, number(1, 100)?)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize, agents: usize) -> io::Result<()> {
    let own = std::env::current_exe()?;
    let stockade = own.with_file_name("stockade");
    let place = tempfile::tempdir()?;
    std::fs::write(place.path().join("notes"), "one\ntwo\nthree\n")?;
    println!("a call of `read`, microseconds (p50, p99)");
    told("in this process", in_process(place.path(), rounds)?)?;
    let cage = |words: &[&Path]| {
        let mut command = Command::new(&stockade);
        command.args(["run", "--quiet", "--rw", "."]).current_dir(place.path());
        command.args(words).stdin(Stdio::null());
        command
    };
    let (rounds_inside, tool) = (rounds.to_string(), Path::new("--mount"));
    let from: [&Path; 7] = [
        tool,
        Path::new("/tool=tools:read"),
        Path::new("--ro"),
        &own,
        Path::new("--"),
        &own,
        Path::new(INSIDE),
    ];
    served::measure(&stockade, place.path(), rounds)?;
    ended(cage(&from).arg(&rounds_inside).status()?)?;
    println!("from nothing to the end of `true`, microseconds (p50, p99)");
    let first = (0..rounds.div_ceil(20)).map(|_| {
        let begun = Instant::now();
        ended(cage(&[Path::new("--"), Path::new("true")]).status()?)?;
        Ok(begun.elapsed())
    });
    told("a first-level cage", first.collect::<io::Result<_>>()?)?;
    many::measure(&stockade, agents)
}

/// What is measured in a cage: calls through files, and children.
fn inside(rounds: usize) -> io::Result<()> {
    told("through `/tool`, in a cage", repeat(rounds, || through_files("/tool/read/run"))?)?;
    let child = || {
        let mut command = Command::new("/run/stockade/stockade");
        ended(command.args(["spawn", "--", "true"]).status()?)
    };
    println!("from nothing to the end of `true`, microseconds (p50, p99)");
    told("a child in a cage", repeat(rounds.div_ceil(20), child)?)
}

fn in_process(place: &Path, rounds: usize) -> io::Result<Vec<Duration>> {
    let other = |error: tools::ToolError| io::Error::other(error.to_string());
    let root = Root::open(Path::new("/"), Path::new("/"), place).map_err(other)?;
    let world = World::new(root, Spill::new(None, 30_000), Shell::default());
    let granted = tools::granted(&["read".to_owned()]).map_err(other)?;
    let tool = granted.first().ok_or_else(|| io::Error::other("there is no tool `read`"))?;
    let arguments: Map<String, Value> = serde_json::from_str(QUESTION)?;
    repeat(rounds, || {
        let until = Instant::now() + Duration::from_secs(60);
        let call = Call {
            world: &world,
            reader: Reader::Anybody,
            until,
            is_cancelled: &|| false,
            progress: &|_| {},
        };
        // What was read is remembered, and would not be read again.
        world.forget_reads();
        tool.call(&arguments, &call).map(drop).map_err(other)
    })
}

fn through_files(path: &str) -> io::Result<()> {
    let mut file = std::fs::File::options().read(true).write(true).open(path)?;
    file.write_all(QUESTION.as_bytes())?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    match text.starts_with("error:") {
        true => Err(io::Error::other(text)),
        false => Ok(()),
    }
}

fn repeat(rounds: usize, mut act: impl FnMut() -> io::Result<()>) -> io::Result<Vec<Duration>> {
    (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            act()?;
            Ok(begun.elapsed())
        })
        .collect()
}

fn told(what: &str, times: Vec<Duration>) -> io::Result<()> {
    let spread = Spread::of(times).ok_or_else(|| io::Error::other("nothing was measured"))?;
    println!("  {what:<28} {:>9.0} {:>9.0}", spread.p50_us, spread.p99_us);
    Ok(())
}

fn ended(status: std::process::ExitStatus) -> io::Result<()> {
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("it ended with {status}"))),
    }
}

/// Every process below one, and that one.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let children = |pid: u32| {
        let tasks = std::fs::read_dir(PathBuf::from(format!("/proc/{pid}/task")));
        tasks.into_iter().flatten().flatten().flat_map(|task| {
            let listed = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        })
    };
    let (mut all, mut at) = (vec![pid], 0);
    while let Some(next) = all.get(at).copied() {
        all.extend(children(next));
        at += 1;
    }
    all
}

const INSIDE: &str = "inside";
const QUESTION: &str = "{\"path\": \"notes\"}";
