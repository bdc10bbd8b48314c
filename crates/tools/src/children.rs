//! Workers that a worker starts: each is a child process with an empty environment, which narrows itself before it does
//! anything, and ends when its input does, with all that it has started. Lines are passed on unread; nothing here decides what a child may do.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::protocol::{FromWorker, MOST_LINE, send};

/// The children of a worker. Dropping them ends all.
pub(crate) struct Children {
    words: Vec<OsString>,
    running: HashMap<u64, Running>,
}

struct Running {
    process: Child,
    /// Its end is that of the child, and of everything that it has started.
    input: Option<ChildStdin>,
}

impl Children {
    pub(crate) fn new(words: Vec<OsString>) -> Self {
        Self { words, running: HashMap::new() }
    }

    /// Starts one. Where that fails its end is told, as for one that ended.
    pub(crate) fn open(
        &mut self,
        child: u64,
        narrowing: &Value,
        directory: &Path,
        output: &Arc<Mutex<impl Write + Send + 'static>>,
    ) -> io::Result<()> {
        self.running.retain(|_, running| matches!(running.process.try_wait(), Ok(None)));
        let begun = match self.running.len() < MOST_CHILDREN && !self.running.contains_key(&child) {
            true => self.begin(narrowing, directory),
            false => Err(io::ErrorKind::WouldBlock.into()),
        };
        let Ok((running, lines)) = begun else { return tell(output, child) };
        self.running.insert(child, running);
        let of_thread = Arc::clone(output);
        let builder = std::thread::Builder::new().name(format!("child {child}"));
        builder.spawn(move || {
            listen(lines, child, &of_thread);
            // Whoever does not listen any more ends us by closing our input.
            let _gone = tell(&of_thread, child);
        })?;
        Ok(())
    }

    fn begin(
        &self,
        narrowing: &Value,
        directory: &Path,
    ) -> io::Result<(Running, impl Read + Send + 'static)> {
        let (program, words) = self.words.split_first().ok_or(io::ErrorKind::NotFound)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut command = Command::new(program);
        command.args(words).env_clear().env("TMPDIR", directory).env("HOME", directory);
        for name in PASSED {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.process_group(0).spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (mut input, lines) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{narrowing}")?;
        Ok((Running { process, input: Some(input) }, lines))
    }

    /// Passes a line on. A child that is gone has been told of.
    pub(crate) fn pass(&mut self, child: u64, line: &str) {
        let running = self.running.get_mut(&child);
        if let Some(input) = running.and_then(|running| running.input.as_mut()) {
            let _gone = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// Ends one.
    pub(crate) fn close(&mut self, child: u64) {
        drop(self.running.remove(&child));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.input.take());
        let until = Instant::now() + LONGEST_END;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                let _gone = self.process.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Passes on what a child says, until it says nothing more or too much.
fn listen(lines: impl Read, child: u64, output: &Mutex<impl Write>) {
    let mut lines = BufReader::new(lines);
    loop {
        let mut line = Vec::new();
        let most = MOST_LINE as u64;
        match Read::take(&mut lines, most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some(line) = line.strip_suffix(b"\n") else { return };
        let Ok(line) = String::from_utf8(line.to_vec()) else { return };
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        if send(&mut *output, &FromWorker::FromChild { child, line }).is_err() {
            return;
        }
    }
}

fn tell(output: &Mutex<impl Write>, child: u64) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    send(&mut *output, &FromWorker::ChildGone { child })
}

const MOST_CHILDREN: usize = 16;
/// Longer than [`reaper`](crate::reaper) needs to end everything.
const LONGEST_END: Duration = Duration::from_secs(5);
/// All that a child's environment has of its parent's. V12
const PASSED: [&str; 4] = ["PATH", "USER", "LANG", "TERM"];
