//! `exec`: one command line for the shell of the cage. A process of its own stands between ([`reaper`](crate::reaper)),
//! so that everything a command has started can be ended, whatever it did to get away.

use std::ffi::OsString;
use std::io::{PipeReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, ToolError};
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};

/// What commands are run with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    /// The program and words that start the reaper, which is followed by the program that it runs. Without one,
    /// nothing is run.
    pub reaper: Vec<OsString>,
    /// The shell.
    pub shell: PathBuf,
    /// Where commands start.
    pub working_directory: PathBuf,
}

pub(crate) struct Exec;

impl Tool for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn doc(&self) -> &'static str {
        "Runs a command line in the shell of the cage, from the working directory, and shows what it prints and its \
         exit status. There is no terminal and no input. After `timeout` seconds (120 unless given) it is killed with \
         everything that it started; what it leaves running in the background otherwise goes on."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required(
                    "command",
                    Kind::Text(128 << 10),
                    "The command line; pipes and the like work.",
                ),
                optional("timeout", Kind::Number(1, 3600), "Seconds until it is killed."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Run
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let command = given.text("command");
        if command.contains('\0') {
            return Err(ToolError::new(ErrorKind::Arguments, "a command has no zero byte"));
        }
        run_line(command, given.number("timeout").unwrap_or(SECONDS), call)
    }
}

/// Runs a line of the shell for at most so many seconds.
pub(crate) fn run_line(command: &str, seconds: u64, call: &Call<'_>) -> Result<String, ToolError> {
    let timeout = Duration::from_secs(seconds);
    let until = call.until.min(Instant::now() + timeout);
    let began = Instant::now();
    let mut running = Running::start(&call.world.shell, command).map_err(|error| {
        ToolError::new(ErrorKind::Failed, format!("the command cannot be started: {error}"))
    })?;
    let mut shown = 0;
    loop {
        let failed = |error: std::io::Error| {
            ToolError::new(ErrorKind::Failed, format!("the command is lost: {error}"))
        };
        if let Some(status) = running.child.try_wait().map_err(failed)? {
            let output = running.output(true);
            return Ok(format!("{output}{}", ended(status)));
        }
        let is_cancelled = (call.is_cancelled)();
        if is_cancelled || Instant::now() >= until {
            running.end();
            let output = running.output(false);
            let seconds = began.elapsed().as_secs();
            let (kind, why) = match is_cancelled {
                true => (ErrorKind::Cancelled, "was cancelled".to_owned()),
                false => (
                    ErrorKind::TimedOut,
                    format!("took longer than {seconds} seconds (`timeout` gives it more)"),
                ),
            };
            let text = format!(
                "the command {why} and was killed with everything it started; it had printed:\n{output}"
            );
            return Err(ToolError::new(kind, text));
        }
        running.show(&mut shown, call.progress);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that runs.
struct Running {
    child: Child,
    output: Arc<Mutex<Output>>,
}

/// What it printed: the first part of it, and how much there was.
#[derive(Debug, Default)]
struct Output {
    kept: Vec<u8>,
    bytes: u64,
    is_over: bool,
}

impl Running {
    fn start(shell: &Shell, command: &str) -> std::io::Result<Self> {
        let Some((reaper, words)) = shell.reaper.split_first() else {
            return Err(std::io::Error::other("there is nothing to run commands with"));
        };
        let (reader, writer) = std::io::pipe()?;
        let mut started = Command::new(reaper);
        started.args(words).arg(&shell.shell).arg("-c").arg(command);
        started.current_dir(&shell.working_directory);
        started.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        for (name, value) in PLAIN {
            started.env(name, value);
        }
        let child = started.spawn()?;
        // Its own ends of the pipe, or the end of the output would never come.
        drop(started);
        let output: Arc<Mutex<Output>> = Arc::default();
        let of_thread = Arc::clone(&output);
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || collect(reader, &of_thread))?;
        Ok(Self { child, output })
    }

    /// Ends it with all that it started.
    fn end(&mut self) {
        drop(self.child.stdin.take());
        let until = Instant::now() + REAP_TIME;
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _already_ended = self.child.kill();
        let _reaped = self.child.wait();
    }

    /// What it printed. What something in the background still has the output for is not waited for.
    fn output(&self, waits: bool) -> String {
        let until = Instant::now() + if waits { LAST_OUTPUT } else { Duration::ZERO };
        while !self.lock().is_over && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = self.lock();
        let mut text = String::from_utf8_lossy(&output.kept).into_owned();
        let lost = output.bytes - output.kept.len() as u64;
        if lost > 0 {
            text.push_str(&format!("\n[… {lost} more bytes were not kept …]"));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    fn show(&self, shown: &mut usize, progress: &dyn Fn(&str)) {
        let output = self.lock();
        let new = output.kept.get(*shown..).unwrap_or_default();
        // Whole lines, so that no letter is cut.
        if let Some(end) = new.iter().rposition(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(new.get(..=end).unwrap_or_default()).into_owned();
            *shown += end + 1;
            drop(output);
            progress(&text);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
    }
}

/// Reads to the end, so that nothing waits to print what is not kept.
fn collect(mut reader: PipeReader, output: &Mutex<Output>) {
    let mut buffer = [0; 16 << 10];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        if count == 0 {
            output.is_over = true;
            return;
        }
        output.bytes += count as u64;
        let room = MOST_OUTPUT.saturating_sub(output.kept.len()).min(count);
        output.kept.extend_from_slice(buffer.get(..room).unwrap_or_default());
    }
}

fn ended(status: ExitStatus) -> String {
    match status.code() {
        Some(0) => "[exit status 0]".to_owned(),
        Some(code @ 129..=192) => format!("[exit status {code}: signal {}]", code - 128),
        Some(127) => "[exit status 127: not found in this cage]".to_owned(),
        Some(code) => format!("[exit status {code}]"),
        None => "[ended by a signal]".to_owned(),
    }
}

/// Programs that see these neither draw nor wait for a key.
const PLAIN: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];
const SECONDS: u64 = 120;
const MOST_OUTPUT: usize = 32 << 20;
const LAST_OUTPUT: Duration = Duration::from_millis(300);
const REAP_TIME: Duration = Duration::from_secs(5);
