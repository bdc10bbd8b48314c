//! Several clients at the same time, by one mechanism. All of them begin at once.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::client::{Done, READY, ROLE, Task};

/// What a crowd has done together.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// Starts in a second.
    pub(crate) rate: f64,
    pub(crate) failed: u64,
    pub(crate) failure: Option<String>,
    pub(crate) times: Vec<Duration>,
}

/// Has so many clients carry out the same task.
pub(crate) fn run(clients: usize, task: &Task) -> io::Result<Together> {
    let task = serde_json::to_string(task)?;
    let mut crowd = (0..clients).map(|_| Member::join(&task)).collect::<io::Result<Vec<_>>>()?;
    for member in &mut crowd {
        let line = member.line()?;
        if line != READY {
            return Err(io::Error::other(format!("a client is not ready: `{line}`")));
        }
    }
    std::thread::sleep(REST);
    for member in &mut crowd {
        member.input.write_all(b"go\n")?;
    }
    let mut together = Together::default();
    for mut member in crowd {
        let done: Done = serde_json::from_str(&member.line()?)?;
        member.child.wait()?;
        together.rate += done.starts as f64 / done.seconds;
        together.failed += done.failed;
        together.failure = together.failure.or(done.failure);
        together.times.extend(done.times);
    }
    Ok(together)
}

/// The kernel takes namespaces and mounts apart after their last process has ended. What one mechanism has left
/// must not weigh on the next, which is always the same.
const REST: Duration = Duration::from_millis(500);

struct Member {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Member {
    fn join(task: &str) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(ROLE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let mut input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        writeln!(input, "{task}")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::other("a client has ended too early"));
        }
        Ok(line.trim_end().to_owned())
    }
}
