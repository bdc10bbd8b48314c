//! How fast guests start and work: a program of their own, in this process, in a cage, and beside Node.js. Measures; never
//! decides what is fast enough.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "telling results on standard output is what it is for")]

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engines::World;
use engines::wasm::{CodeDigest, Wasm};
use measures::statistics::Spread;
use vfs::{Caller, FileSystem, Limits, Memory};

mod pool;

use pool::Pool;

/// Who runs a program that stands in a directory.
struct Runner {
    name: &'static str,
    words: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let rounds = words.next().map_or(Ok(20), |word| word.parse());
    let only: Vec<String> = words.collect();
    match rounds.map_err(io::Error::other).and_then(|rounds| measure(rounds, &only)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize, only: &[String]) -> io::Result<()> {
    let place = tempfile::tempdir()?;
    let place = place.path();
    let own = std::env::current_exe()?;
    let beside = |name: &str| own.with_file_name(name);
    let (guest, stockade) = (beside("stockade-guest"), beside("stockade"));
    let runners = |kind| runners(&guest, &stockade, kind);
    let is_asked = |part: &str| only.is_empty() || only.iter().any(|only| only == part);
    write_programs(place)?;
    if is_asked("start") {
        println!("from nothing to the end of hello, microseconds (p50, p99)");
        each("hello.js", &runners("js"), place, rounds)?;
        each("hello.wasm", &runners("wasm"), place, rounds)?;
    }
    if is_asked("engines") {
        engines_alone(rounds)?;
    }
    if is_asked("large") {
        large(&runners("wasm"), place, rounds.min(5))?;
    }
    if is_asked("walk") {
        println!("10,000 files of a tree listed, looked at and read");
        each("walk.js", &runners("js"), place, rounds.min(5))?;
    }
    if is_asked("alive") {
        living(place, &guest, &stockade)?;
    }
    if is_asked("pool") {
        warm(place, &pool::runners(&guest, &stockade), rounds)?;
    }
    if is_asked("files") {
        println!("1,000 files made, written, looked at, listed, read and removed");
        each("files.js", &runners("js"), place, rounds.min(5))?;
        told(
            "in this process, in memory",
            (0..rounds.min(5)).map(|_| javascript(FILES)).collect(),
        )?;
    }
    Ok(())
}

fn write_programs(place: &Path) -> io::Result<()> {
    std::fs::write(place.join("hello.js"), "console.log('hello');")?;
    std::fs::write(place.join("files.js"), FILES)?;
    std::fs::write(place.join("walk.js"), WALK)?;
    std::fs::write(place.join("hello.wasm"), MODULE)?;
    std::fs::write(place.join("large.wasm"), large_module())?;
    tree(&place.join("tree"))
}

fn each(program: &str, runners: &[Runner], place: &Path, rounds: usize) -> io::Result<()> {
    for runner in runners {
        let times = (0..rounds).map(|_| run(place, runner, program));
        told(&format!("{program} by {}", runner.name), times.collect())?;
    }
    Ok(())
}

fn engines_alone(rounds: usize) -> io::Result<()> {
    println!("in this process, with files in memory");
    told("hello.js", (0..rounds).map(|_| javascript("console.log('hello');")).collect())?;
    let wasm = Wasm::new(&engines::GuestLimits::default()).map_err(io::Error::other)?;
    told("compiling hello.wasm", (0..rounds).map(|_| timed(|| wasm.compile(MODULE))).collect())?;
    let module = wasm.compile(MODULE).map_err(io::Error::other)?;
    let times = (0..rounds).map(|_| timed(|| wasm.run(&module, world())));
    told("compiled hello.wasm", times.collect())
}

fn large(runners: &[Runner], place: &Path, rounds: usize) -> io::Result<()> {
    let large = large_module();
    println!("a module of {} KiB", large.len() / 1024);
    let wasm = Wasm::new(&engines::GuestLimits::default()).map_err(io::Error::other)?;
    told("compiling it", (0..rounds).map(|_| timed(|| wasm.compile(&large))).collect())?;
    let code = engines::wasm::precompile(&large).map_err(io::Error::other)?;
    let digest = CodeDigest::of(&code);
    println!("  {} KiB of code", code.len() / 1024);
    let load = || wasm.load(&code, digest, engines::GuestKind::Module);
    told("loading what it was compiled to", (0..rounds).map(|_| timed(load)).collect())?;
    each("large.wasm", runners, place, rounds)
}

/// The same programs where a process waits for each.
fn warm(place: &Path, runners: &[Runner], rounds: usize) -> io::Result<()> {
    std::fs::write(place.join("alive.js"), pool::ALIVE)?;
    for runner in runners {
        println!("from a request to its answer by {}", runner.name);
        let mut pool = Pool::start(runner, place)?;
        for (program, rounds) in [
            ("hello.js", rounds * 10),
            ("hello.wasm", rounds * 10),
            ("large.wasm", rounds.min(5)),
            ("walk.js", rounds.min(5)),
        ] {
            told(program, (0..rounds).map(|_| pool.run(program)).collect())?;
        }
        println!("memory of each that waits in it, KiB");
        for count in [1, 100, 1000] {
            let kib = Pool::start(runner, place)?.memory(count, place)?;
            println!("  {:40} {count:4} at once {kib:8}", runner.name);
        }
    }
    Ok(())
}

/// A hundred directories with a hundred files each.
fn tree(place: &Path) -> io::Result<()> {
    for directory in 0..100 {
        let directory = place.join(directory.to_string());
        std::fs::create_dir_all(&directory)?;
        for file in 0..100 {
            std::fs::write(directory.join(file.to_string()), "text of a file")?;
        }
    }
    Ok(())
}

/// What guests hold that wait: all memory that is theirs alone, and their part of what they share.
fn living(place: &Path, guest: &Path, stockade: &Path) -> io::Result<()> {
    std::fs::write(place.join("wait.js"), "console.log('waits'); setTimeout(() => {}, 60000);")?;
    println!("memory of each that waits, KiB");
    for (runner, counts) in runners(guest, stockade, "js").iter().zip([[1, 100], [1, 20], [1, 20]])
    {
        for count in counts {
            let mut all = Vec::new();
            for _ in 0..count {
                all.push(wait(place, runner)?);
            }
            let kib: u64 = all.iter().map(|child| proportional(child.id())).sum();
            println!("  {:40} {count:4} at once {:8}", runner.name, kib / count);
            for child in &mut all {
                child.kill()?;
                child.wait()?;
            }
        }
    }
    Ok(())
}

/// Starts one, and returns when it has said so.
fn wait(place: &Path, runner: &Runner) -> io::Result<Child> {
    let (first, rest) = runner.words.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(first);
    command.args(rest).arg("wait.js").current_dir(place).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut said = [0; 5];
    let output = child.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    output.read_exact(&mut said)?;
    Ok(child)
}

/// Of a process and those that it has started.
fn proportional(pid: u32) -> u64 {
    let read =
        |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let own = read("smaps_rollup");
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse().ok());
    let children = read(&format!("task/{pid}/children"));
    let below =
        children.split_whitespace().filter_map(|child| child.parse().ok()).map(proportional);
    own.unwrap_or(0) + below.sum::<u64>()
}

/// Functions that compute, five megabytes of them, and a program that calls one.
fn large_module() -> Vec<u8> {
    // (global.set 0 (i32.mul (global.get 0) (i32.const 9))), again and again: nothing is known ahead.
    let turn = [0x23, 0, 0x41, 9, 0x6c, 0x24, 0];
    let mut body = vec![0];
    (0..200).for_each(|_| body.extend(turn));
    body.push(0x0b);
    let functions = 5 * 1024 * 1024 / (body.len() + 2);
    let mut code = leb(functions);
    for _ in 0..functions {
        code.extend(leb(body.len()));
        code.extend(&body);
    }
    let section = |id: u8, content: &[u8]| [&[id], leb(content.len()).as_slice(), content].concat();
    let types = section(1, &[1, 0x60, 0, 0]);
    let of_type = section(3, &[leb(functions), vec![0; functions]].concat());
    let global = section(6, &[1, 0x7f, 1, 0x41, 1, 0x0b]);
    let exports = section(7, b"\x01\x06_start\0\0");
    [&b"\0asm\x01\0\0\0"[..], &types, &of_type, &global, &exports, &section(10, &code)].concat()
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
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
    timed(|| engines::javascript::run(b"/main.js", world))
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
usage: stockade-bench-guest [ROUNDS [PART…]]

Parts: start, engines, large, walk, alive, pool, files; without one, all of them.
`stockade` and `stockade-guest` are taken from beside it, built as it is; `node` from the path.";

/// What a tool that looks for something does.
const WALK: &str = "
const fs = require('fs'), path = require('path');
let size = 0;
function walk(at) {
  for (const entry of fs.readdirSync(at, { withFileTypes: true })) {
    const full = path.join(at, entry.name);
    if (entry.isDirectory()) walk(full);
    else { size += fs.statSync(full).size; size += fs.readFileSync(full, 'utf8').length; }
  }
}
walk('tree');
if (size !== 280000) throw new Error(String(size));
";

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
