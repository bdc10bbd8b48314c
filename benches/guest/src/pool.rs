//! A pool of guests, from outside and inside of a cage: from a request to its answer, and the memory of many at once.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Runner, proportional};

/// One that runs.
pub(crate) struct Pool {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pool {
    pub(crate) fn start(runner: &Runner, place: &Path) -> io::Result<Self> {
        let (first, rest) = runner.words.split_first().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(first);
        command.args(rest).current_dir(place).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut pool = Self { child, input, output: BufReader::new(output) };
        // Once for what is new in it.
        pool.run("hello.js")?;
        pool.run("hello.wasm")?;
        Ok(pool)
    }

    /// From the request to the answer.
    pub(crate) fn run(&mut self, file: &str) -> io::Result<Duration> {
        let begun = Instant::now();
        self.ask(0, file)?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let took = begun.elapsed();
        if !line.contains("\"status\":0") {
            return Err(io::Error::other(format!("{file} in a pool: {line}")));
        }
        // As somebody asks who has something else to do as well.
        std::thread::sleep(Duration::from_millis(2));
        Ok(took)
    }

    fn ask(&mut self, id: u64, file: &str) -> io::Result<()> {
        writeln!(self.input, r#"{{"id":{id},"file":"{file}"}}"#)
    }

    /// KiB of each of so many that wait, the pool itself included.
    pub(crate) fn memory(mut self, count: u64, place: &Path) -> io::Result<u64> {
        let alive = place.join("alive");
        std::fs::write(&alive, "")?;
        for id in 0..count {
            self.ask(id, "alive.js")?;
        }
        let until = Instant::now() + Duration::from_secs(60);
        while std::fs::metadata(&alive)?.len() < count {
            if Instant::now() > until {
                return Err(io::Error::other(format!("{count} guests were not alive at once")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let kib = proportional(self.child.id());
        self.child.kill()?;
        self.child.wait()?;
        Ok(kib / count)
    }
}

/// What a guest is that says that it is there, and waits.
pub(crate) const ALIVE: &str =
    "require('fs').appendFileSync('alive', 'x'); setTimeout(() => {}, 600000);";

/// A pool by itself and one in a cage, those that are there.
pub(crate) fn runners(guest: &Path, stockade: &Path) -> Vec<Runner> {
    let at_once = ["--at-once", "1000"].map(PathBuf::from);
    let mut all = Vec::new();
    if guest.is_file() {
        let words = [guest.into(), "pool".into()].into_iter().chain(at_once.clone()).collect();
        all.push(Runner { name: "a pool", words });
    }
    if stockade.is_file() {
        let words = ["pool", "-q", "--rw", ".", "--pids", "5000", "--"].map(PathBuf::from);
        let words = std::iter::once(stockade.to_owned()).chain(words).chain(at_once).collect();
        all.push(Runner { name: "a pool in a cage", words });
    }
    all
}
