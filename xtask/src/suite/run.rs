//! Runs the tests of programs, each in its own process and several at a time, and tells about
//! those that failed or were skipped. A test that takes too long is killed with all it started in
//! its process group. No test inherits what we were told to ignore, as everything in the background is.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Built, TestBinary, Totals};
use crate::command::{Failure, start_failure};
use crate::deadline;

/// As whom and where tests run.
pub(crate) struct Context {
    /// What the person reads: as whom.
    pub(crate) label: &'static str,
    /// User and group to become; none to stay who we are.
    pub(crate) identity: Option<(u32, u32)>,
    /// The project, or its copy.
    pub(crate) root: PathBuf,
    /// The complete environment, or none to hand ours on.
    pub(crate) environment: Option<Vec<(&'static str, PathBuf)>>,
    /// A variable beside it.
    pub(crate) variable: Option<(&'static str, &'static str)>,
    /// The `stockade` that tests start.
    pub(crate) stockade: Option<PathBuf>,
    /// The program that carries out attacks.
    pub(crate) attacker: Option<PathBuf>,
}

impl Context {
    /// Tests as the one who runs us, in the project itself.
    pub(crate) fn of_caller(root: &Path, built: &Built) -> Self {
        let (stockade, attacker) = (built.stockade.clone(), built.attacker.clone());
        let (label, environment, variable) = ("as caller", None, None);
        let root = root.to_path_buf();
        Self { label, identity: None, root, environment, variable, stockade, attacker }
    }

    fn command(&self, binary: &TestBinary) -> Command {
        let mut command = Command::new(&binary.executable);
        self.apply_to(&mut command);
        command
            .current_dir(&binary.directory)
            .env("CARGO_MANIFEST_DIR", &binary.directory)
            .env("CARGO_PKG_NAME", &binary.package)
            .env("INSTA_UPDATE", "no")
            .env("INSTA_WORKSPACE_ROOT", &self.root)
            .envs(self.variable)
            .stdin(Stdio::null());
        for (variable, program) in
            [("STOCKADE_BIN", &self.stockade), ("STOCKADE_ATTACKER_BIN", &self.attacker)]
        {
            if let Some(program) = program {
                command.env(variable, program);
            }
        }
        command
    }

    /// Gives a command the environment, the identity and the signals that tests have here.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
            command.envs(
                std::env::vars_os().filter(|(name, _)| {
                    KEPT_VARIABLES.iter().any(|kept| name.as_os_str() == *kept)
                }),
            );
        }
        if let Some((user, group)) = self.identity {
            // Becoming another user also drops every supplementary group.
            command.uid(user).gid(group);
        }
        sys::signal::restore_all_defaults_in(command);
    }
}

/// Runs every test of these programs whose name, or whose program's name, has one of the words. All tests
/// stand in one queue, so that no processor waits for the last test of each program.
pub(crate) fn all_of(
    binaries: &[TestBinary],
    context: &Context,
    words: &[&str],
) -> Result<Totals, Failure> {
    let binaries: Vec<&TestBinary> = binaries.iter().collect();
    let listed = in_parallel(&binaries, |binary| Program::list(binary, context, words));
    let mut programs = listed.into_iter().collect::<Result<Vec<Program<'_>>, Failure>>()?;
    programs.sort_by_key(|program| program.binary);
    let tests =
        programs.iter().flat_map(|program| program.names.iter().map(move |name| (program, name)));
    let tests: Vec<(&Program<'_>, &String)> = tests.collect();
    let mut totals = Totals::default();
    in_parallel(&tests, |(program, name)| program.run(context, name))
        .into_iter()
        .for_each(|one| totals += one);
    Ok(totals)
}

/// One program in the queue.
struct Program<'a> {
    binary: &'a TestBinary,
    names: Vec<String>,
    progress: Mutex<Progress>,
}

/// How far the tests of a program are.
#[derive(Default)]
struct Progress {
    began: Option<Instant>,
    ended: usize,
    totals: Totals,
}

impl<'a> Program<'a> {
    fn list(binary: &'a TestBinary, context: &Context, words: &[&str]) -> Result<Self, Failure> {
        let program = title(binary);
        let wanted = |name: &String| {
            words.is_empty()
                || words.iter().any(|word| program.contains(word) || name.contains(word))
        };
        let mut names = list(binary, context)?;
        names.retain(wanted);
        Ok(Self { binary, names, progress: Mutex::default() })
    }

    /// Runs one of its tests. After the last one it says how all of them ended.
    fn run(&self, context: &Context, name: &str) -> Totals {
        let lock = || self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let began = *lock().began.get_or_insert_with(Instant::now);
        let one = one(self.binary, context, name);
        let mut progress = lock();
        progress.totals += one;
        progress.ended += 1;
        if progress.ended == self.names.len() {
            let (seconds, totals) = (began.elapsed().as_secs_f32(), progress.totals);
            println!("{} ({}): {totals} in {seconds:.1} s", title(self.binary), context.label);
        }
        one
    }
}

/// A program's name as the person reads and selects it.
fn title(binary: &TestBinary) -> String {
    format!("{}::{}", binary.package, binary.target)
}

/// The names of all tests in a program; those marked `#[ignore]` are not among them.
pub(crate) fn list(binary: &TestBinary, context: &Context) -> Result<Vec<String>, Failure> {
    let names = |ignored: &[&str]| {
        let mut command = context.command(binary);
        command.args(["--list", "--format", "terse"]).args(ignored);
        let output = command.output().map_err(|source| start_failure(&command, source))?;
        if !output.status.success() {
            let program = binary.executable.display().to_string();
            return Err(Failure::Status { program, status: output.status });
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = |line: &str| line.strip_suffix(": test").map(str::to_owned);
        Ok(text.lines().filter_map(name).collect::<Vec<String>>())
    };
    let ignored = names(&["--ignored"])?;
    Ok(names(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

/// Runs one test and tells about it unless it passed.
fn one(binary: &TestBinary, context: &Context, name: &str) -> Totals {
    match judged(binary, context, name, longest()) {
        Verdict::Passed => Totals { passed: 1, ..Totals::default() },
        Verdict::Skipped(reasons) => {
            eprintln!("{}", reasons.join("\n"));
            Totals { skipped: 1, ..Totals::default() }
        }
        Verdict::Failed(how) => {
            let TestBinary { package, target, .. } = binary;
            eprintln!("FAILED {package}::{target} {name} ({}): {how}", context.label);
            Totals { failed: 1, ..Totals::default() }
        }
    }
}

/// Runs one test and says how it ended. One that takes longer than `longest` is killed and has failed.
pub(crate) fn judged(
    binary: &TestBinary,
    context: &Context,
    name: &str,
    longest: Duration,
) -> Verdict {
    let mut command = context.command(binary);
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    let (status, text) = match finish(&mut command, longest) {
        Ok(finished) => finished,
        Err(error) => return Verdict::Failed(format!("cannot run it: {error}")),
    };
    match verdict(name, status, &text, longest) {
        Verdict::Failed(how) => Verdict::Failed(format!("{how}\n{text}")),
        other => other,
    }
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// It said so, with its reasons.
    Skipped(Vec<String>),
    /// How, and all that it said.
    Failed(String),
}

/// Judges a finished test by its exit status and by the lines with which it said that it was
/// skipped. No status means that it was killed for taking too long.
pub(super) fn verdict(
    name: &str,
    status: Option<ExitStatus>,
    text: &str,
    longest: Duration,
) -> Verdict {
    // By its name: what a test starts may have tests of its own.
    let mark = format!("skipped: {name}: ");
    let skipped = text.lines().filter_map(|line| line.find(&mark).and_then(|at| line.get(at..)));
    let skipped: Vec<String> = skipped.map(str::to_owned).collect();
    match status {
        None => Verdict::Failed(format!("killed after {} s", longest.as_secs())),
        Some(status) if !status.success() => Verdict::Failed(match status.signal() {
            Some(signal) => format!("died of signal {signal}"),
            None => format!("ended with {}", status.code().unwrap_or_default()),
        }),
        Some(_) if skipped.is_empty() => Verdict::Passed,
        Some(_) => Verdict::Skipped(skipped),
    }
}

/// Waits for the test. Its output goes to a file, not a pipe, so that a process which outlives it cannot
/// keep us waiting.
fn finish(
    command: &mut Command,
    longest: Duration,
) -> Result<(Option<ExitStatus>, String), Failure> {
    let mut output: File = tempfile::tempfile()?;
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    let status = deadline::finish(command, longest)?;
    let mut bytes = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut bytes)?;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Works through a list, with half as many workers again as there are processors: tests of what confines and
/// serves wait more than they compute. What comes of it is in no order.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = (processors + processors / 2).min(items.len());
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut results = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            results.push(work(item));
        }
        results
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let mut results = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(part) => results.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

/// The longest that one test may take.
fn longest() -> Duration {
    testing::slowly(Duration::from_secs(600))
}

/// Variables of ours that a test gets even where the environment is made anew.
const KEPT_VARIABLES: &[&str] = &[
    "PATH",
    "LANG",
    "RUST_BACKTRACE",
    "STOCKADE_CYCLES",
    "STOCKADE_DEATHS",
    testing::REQUIRE,
    testing::SLOWNESS,
];
