//! What a scenario is: an attack that starts a cage in an unusual way, or works on one from outside.
//! The same function runs with and without a cage around the program that it starts.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use attacks::{Arena, HostArena};
use attacks::{Outcome, Refused, Twin};

use crate::prove::{CageRequest, Cages};

/// One way to break a cage from its start or its surroundings.
#[derive(Debug)]
pub struct Scenario {
    /// The line of SPECIFICATION.md that it belongs to.
    pub id: &'static str,
    /// Unique among all attacks and scenarios.
    pub name: &'static str,
    /// What it tries, for a person.
    pub summary: &'static str,
    /// Where it can be shown to succeed; [`Twin::Namespaces`] has no meaning here.
    pub twin: Twin,
    /// How it is tried.
    pub run: fn(&mut ScenarioScene<'_>) -> Result<Outcome, Refused>,
    /// Why a cage does not withstand it, where that is known and said in `SECURITY.md`.
    pub not_defended: Option<&'static str>,
}

/// A scenario in its arena.
pub struct ScenarioScene<'a> {
    pub(crate) host: &'a mut HostArena,
    pub(crate) cages: Option<&'a dyn Cages>,
    pub(crate) name: &'static str,
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scenario {
    pub(crate) const fn new(
        id: &'static str,
        name: &'static str,
        summary: &'static str,
        run: fn(&mut ScenarioScene<'_>) -> Result<Outcome, Refused>,
    ) -> Self {
        Self { id, name, summary, twin: Twin::Plain, run, not_defended: None }
    }

    pub(crate) const fn not_defended(mut self, why: &'static str) -> Self {
        self.not_defended = Some(why);
        self
    }
}

impl ScenarioScene<'_> {
    /// Whether the program is started in a cage.
    pub(crate) fn is_caged(&self) -> bool {
        self.cages.is_some()
    }

    /// What attacking processes are told.
    pub(crate) fn arena(&self) -> &Arena {
        self.host.arena()
    }

    /// This scenario's own file outside of every grant.
    pub(crate) fn target(&self) -> PathBuf {
        self.arena().outside.join("targets").join(self.name)
    }

    /// This scenario's own directory in the project.
    pub(crate) fn workplace(&self) -> std::io::Result<PathBuf> {
        let directory = self.arena().project.join("work").join(self.name);
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// A request for the arena's usual cage around a program.
    pub(crate) fn request<I, W>(&self, program: I) -> CageRequest
    where
        I: IntoIterator<Item = W>,
        W: Into<OsString>,
    {
        CageRequest::usual(self.arena(), program.into_iter().map(Into::into).collect())
    }

    /// A request for the arena's usual cage around a shell script; `$1` and up are `words`.
    pub(crate) fn script(&self, script: &str, words: &[&std::path::Path]) -> CageRequest {
        let head = ["/bin/sh", "-c", script, "sh"].map(OsString::from);
        let tail = words.iter().map(|word| word.as_os_str().to_owned());
        self.request(head.into_iter().chain(tail))
    }

    /// The command that runs the program: caged, or as it is.
    pub(crate) fn command(&self, request: &CageRequest) -> Command {
        let mut command = match (self.cages, request.program.split_first()) {
            (Some(cages), _) => cages.command(request),
            (None, Some((program, rest))) => {
                let mut command = Command::new(program);
                command.args(rest);
                command
            }
            (None, None) => Command::new(""),
        };
        self.host.dress(&mut command);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a request to its end and judges it in the usual way.
    pub(crate) fn run_and_judge(&mut self, request: &CageRequest) -> Result<Outcome, Refused> {
        let finished = finish(self.command(request))?;
        Ok(self.judge(&finished))
    }

    /// A scenario succeeded if a secret came out, or its mark or target shows it.
    pub(crate) fn judge(&mut self, finished: &Finished) -> Outcome {
        self.host.collect();
        if let Some(secret) = self.host.secret_in(&finished.stdout) {
            return Outcome::Succeeded(secret);
        }
        let harm = self.host.changed_target(self.name).or_else(|| self.host.mark_of(self.name));
        if let Some(harm) = harm {
            return Outcome::Succeeded(harm);
        }
        Outcome::Failed(finished.in_short())
    }
}

impl Finished {
    /// How it ended, and the first thing it complained of.
    pub(crate) fn in_short(&self) -> String {
        let complaint = self.stderr.lines().find(|line| !line.trim().is_empty());
        let complaint: String = complaint.unwrap_or("no complaint").chars().take(120).collect();
        match self.status.code() {
            Some(code @ 122..=125) => format!("refused with {code}: {complaint}"),
            _ => format!("{}: {complaint}", self.status),
        }
    }
}

/// Runs a command to its end, which must come soon.
pub(crate) fn finish(mut command: Command) -> Result<Finished, Refused> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_for(child)
}

/// Waits for a child whose output is piped. What its own children go on to write is not waited for.
pub(crate) fn wait_for(mut child: Child) -> Result<Finished, Refused> {
    let streams = (child.stdout.take(), child.stderr.take());
    let start = Instant::now();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (Some(mut out), Some(mut err)) = streams else {
        return Err(Refused("the output is not piped".to_owned()));
    };
    for stream in [std::os::fd::AsFd::as_fd(&out), std::os::fd::AsFd::as_fd(&err)] {
        let flags = rustix::fs::fcntl_getfl(stream)?;
        rustix::fs::fcntl_setfl(stream, flags | rustix::fs::OFlags::NONBLOCK)?;
    }
    let mut drain = |stdout: &mut Vec<u8>, stderr: &mut Vec<u8>| {
        // Would-block and the end of the stream both mean: nothing more now.
        let _now = out.read_to_end(stdout);
        let _now = err.read_to_end(stderr);
    };
    loop {
        let status = child.try_wait()?;
        drain(&mut stdout, &mut stderr);
        if let Some(status) = status {
            return Ok(Finished {
                status,
                stdout: String::from_utf8_lossy(&stdout).into_owned(),
                stderr: String::from_utf8_lossy(&stderr).into_owned(),
            });
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Err(Refused(format!("still running after {LIMIT:?}")));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Waits until a condition holds; says whether it did in time.
pub(crate) fn until(condition: impl FnMut() -> bool) -> bool {
    until_within(PATIENCE, condition)
}

/// Waits until a condition holds, for so long at most; says whether it did.
pub(crate) fn until_within(longest: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < longest {
        if condition() {
            return true;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    false
}

/// Nothing that goes well is waited for as long as this, but on a machine that is emulated and busy the
/// start of a cage and a shell takes seconds.
const LIMIT: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
