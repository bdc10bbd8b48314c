//! How fast guests start and work: a program of their own, in this process, in a cage, and beside Node.js. Measures; never
//! decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guest::World;
use guest::wasm::Wasm;
use measures::statistics::Spread;
use vfs::{Caller, FileSystem, Limits, Memory};

/// Who runs a program that stands in a directory.
struct Runner {
    name: &'static str,
    words: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).map_or(Ok(20), |word| word.parse());
    match rounds.map_err(io::Error::other).and_then(measure) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize) -> io::Result<()> {
    let place = tempfile::tempdir()?;
    std::fs::write(place.path().join("hello.js"), "console.log('hello');")?;
    std::fs::write(place.path().join("files.js"), FILES)?;
    std::fs::write(place.path().join("hello.wasm"), MODULE)?;
    let own = std::env::current_exe()?;
    let beside = |name: &str| own.with_file_name(name);
    let (guest, stockade) = (beside("stockade-guest"), beside("stockade"));
    println!("from nothing to the end of hello, microseconds (p50, p99)");
    for (program, runners) in [
        ("hello.js", runners(&guest, &stockade, "js")),
        ("hello.wasm", runners(&guest, &stockade, "wasm")),
    ] {
        for runner in runners {
            let times = (0..rounds).map(|_| run(place.path(), &runner, program));
            told(&format!("{program} by {}", runner.name), times.collect())?;
        }
    }
    println!("in this process, with files in memory");
    told("hello.js", (0..rounds).map(|_| javascript("console.log('hello');")).collect())?;
    let wasm = Wasm::new(&guest::GuestLimits::default()).map_err(io::Error::other)?;
    told("compiling hello.wasm", (0..rounds).map(|_| timed(|| wasm.compile(MODULE))).collect())?;
    let module = wasm.compile(MODULE).map_err(io::Error::other)?;
    told(
        "compiled hello.wasm",
        (0..rounds).map(|_| timed(|| wasm.run(&module, world()))).collect(),
    )?;
    println!("1,000 files made, written, looked at, listed, read and removed");
    for runner in runners(&guest, &stockade, "js") {
        let times = (0..rounds.min(5)).map(|_| run(place.path(), &runner, "files.js"));
        told(runner.name, times.collect())?;
    }
    told("in this process, in memory", (0..rounds.min(5)).map(|_| javascript(FILES)).collect())
}

/// Those that are there.
fn runners(guest: &Path, stockade: &Path, kind: &str) -> Vec<Runner> {
    let mut all = Vec::new();
    if guest.is_file() {
        all.push(Runner { name: "stockade-guest", words: vec![guest.into(), kind.into()] });
    }
    if stockade.is_file() {
        let words = [kind, "-q", "--rw", "."].map(PathBuf::from);
        let words = std::iter::once(stockade.to_owned()).chain(words).collect();
        all.push(Runner { name: "stockade, in a cage", words });
    }
    if kind == "js" {
        all.push(Runner { name: "node", words: vec!["node".into()] });
    }
    all
}

fn run(place: &Path, runner: &Runner, program: &str) -> io::Result<Duration> {
    let (first, rest) = runner.words.split_first().ok_or(io::ErrorKind::NotFound)?;
    let begun = Instant::now();
    let mut command = Command::new(first);
    command.args(rest).arg(program).current_dir(place).stdout(Stdio::null());
    let status = command
        .status()
        .map_err(|error| io::Error::other(format!("{}: {error}", first.display())))?;
    if !status.success() {
        return Err(io::Error::other(format!("{program} by {}: {status}", runner.name)));
    }
    Ok(begun.elapsed())
}

/// Files in memory, and nothing else.
fn world() -> World {
    let limits = Limits::default();
    let engine = Memory::new(&Caller::root(), 0o755, limits);
    World::new(FileSystem::new(Arc::new(engine), &limits), Caller::root(), b"main.js")
}

fn javascript(source: &str) -> io::Result<Duration> {
    let world = world();
    let written = world.files.write_file(&world.caller, b"/main.js", source.as_bytes());
    written.map_err(io::Error::other)?;
    timed(|| guest::javascript::run(b"/main.js", world))
}

fn timed<T, E: std::error::Error + Send + Sync + 'static>(
    act: impl FnOnce() -> Result<T, E>,
) -> io::Result<Duration> {
    let begun = Instant::now();
    act().map_err(io::Error::other)?;
    Ok(begun.elapsed())
}

fn told(what: &str, times: io::Result<Vec<Duration>>) -> io::Result<()> {
    if let Some(Spread { p50_us, p99_us }) = Spread::of(times?) {
        println!("  {what:40} {p50_us:10.0} {p99_us:10.0}");
    }
    Ok(())
}

const USAGE: &str = "\
usage: stockade-bench-guest [ROUNDS]

`stockade` and `stockade-guest` are taken from beside it, built as it is; `node` from the path.";

/// What an everyday script does.
const FILES: &str = "
const fs = require('fs');
fs.mkdirSync('many');
for (let at = 0; at < 1000; at++) fs.writeFileSync(`many/${at}`, 'text of a file');
let size = 0;
for (const name of fs.readdirSync('many')) { size += fs.statSync(`many/${name}`).size; size += fs.readFileSync(`many/${name}`, 'utf8').length; }
for (let at = 0; at < 1000; at++) fs.unlinkSync(`many/${at}`);
fs.rmdirSync('many');
if (size !== 28000) throw new Error(String(size));
";

/// Writes `hello from wasm` and ends.
const MODULE: &[u8] = b"\0asm\x01\0\0\0\x01\x0c\x02\x60\x04\x7f\x7f\x7f\x7f\x01\x7f\x60\0\0\x02\x23\x01\
\x16wasi_snapshot_preview1\x08fd_write\0\0\x03\x02\x01\x01\x05\x03\x01\0\x01\x07\x13\x02\x06memory\x02\0\
\x06_start\0\x01\x0a\x0f\x01\x0d\0\x41\x01\x41\0\x41\x01\x41\x08\x10\0\x1a\x0b\x0b\x26\x01\0\x41\0\x0b\x20\
\x10\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0hello from wasm\x0a";
