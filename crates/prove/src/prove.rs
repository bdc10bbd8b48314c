//! Runs every attack and scenario, uncaged and caged, and judges them. Told how to start a cage; knows
//! nothing about how one is built.

mod in_world;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use attacks::AttackReport;
use attacks::{
    Access, Arena, ArenaError, Attack, Bait, HostArena, Outcome, Profiles, Refused, Rule, SetUp,
};
use serde::{Deserialize, Serialize};

use crate::Scenario;
use crate::report::{Report, Row};
use crate::scenario::ScenarioScene;

/// A system call profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The default one.
    Default,
    /// For debuggers and profilers.
    Relaxed,
}

impl Profile {
    /// Its name in the policy language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Relaxed => "relaxed",
        }
    }

    /// Whether it must hold an attack off.
    fn concerns(self, attack: &Attack) -> bool {
        self == Self::Default || attack.profiles == Profiles::Both
    }
}

/// How a proof is to be made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A directory in which arenas can be set up.
    pub directory: PathBuf,
    /// A program that answers to `__attack`, such as this one.
    pub executable: PathBuf,
    /// The profiles to prove.
    pub profiles: Vec<Profile>,
    /// Whether somebody has asked to end: no further attack is begun then, and the bait is taken in.
    pub is_interrupted: fn() -> bool,
}

/// A cage that an attack asks for.
#[derive(Clone, Debug)]
pub struct CageRequest {
    /// The project's root.
    pub project: PathBuf,
    /// Rules on paths, all absolute, in the order in which they are to be given.
    pub rules: Vec<Rule>,
    /// The system call profile.
    pub profile: Profile,
    /// The programs that exist inside; all of the system's if none are listed.
    pub commands: Option<Vec<String>>,
    /// Words of the command line that are passed as they are, for limits.
    pub flags: Vec<OsString>,
    /// The program and its arguments.
    pub program: Vec<OsString>,
}

impl CageRequest {
    /// The usual cage of an arena around a program.
    pub(crate) fn usual(arena: &Arena, program: Vec<OsString>) -> Self {
        Self {
            project: arena.project.clone(),
            rules: arena.rules(),
            profile: Profile::Default,
            commands: None,
            flags: Vec::new(),
            program,
        }
    }
}

/// Whoever can start cages.
pub trait Cages: Sync {
    /// The command that runs the request's program in the cage that it asks for, with standard
    /// input, output and error passed on.
    fn command(&self, request: &CageRequest) -> Command;

    /// The command that serves cages on a socket until it is killed.
    fn daemon(&self, socket: &Path) -> Command;
}

/// Starts cages by the command line of `stockade run`.
#[derive(Clone, Debug)]
pub struct CommandLineCages {
    /// The `stockade` program.
    pub executable: PathBuf,
}

impl Cages for CommandLineCages {
    fn command(&self, request: &CageRequest) -> Command {
        let mut command = Command::new(&self.executable);
        command.arg("run").arg("--project").arg(&request.project);
        command.args(["--seccomp", request.profile.name()]);
        for rule in &request.rules {
            let flag = match rule.access {
                Access::ReadOnly => "--ro",
                Access::ReadWrite => "--rw",
                Access::Cow => "--cow",
                Access::Cache => "--cache",
                Access::Hide => "--hide",
            };
            command.arg(flag).arg(&rule.path);
        }
        for name in request.commands.iter().flatten() {
            command.arg("--command").arg(name);
        }
        command.args(&request.flags).arg("--").args(&request.program);
        command
    }

    fn daemon(&self, socket: &Path) -> Command {
        let mut command = Command::new(&self.executable);
        command.arg("serve").arg("--socket").arg(socket);
        command
    }
}

/// Why a proof could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// An arena could not be set up.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// The attacking program could not be run.
    #[error("cannot run the attacks: {0}")]
    Attacks(String),
    /// Somebody has asked to end.
    #[error("interrupted")]
    Interrupted,
}

/// What came of one attack in one place, judged from the host.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) outcome: Outcome,
    pub(crate) harm: Option<String>,
    pub(crate) secret: Option<String>,
}

/// Runs everything uncaged and in cages of every profile, and judges it.
pub fn prove(settings: &Settings, cages: &dyn Cages) -> Result<Report, ProveError> {
    let set_up = settings.set_up()?;
    let (twins, caged, in_world, scenario_rows) = std::thread::scope(|scope| {
        let twins = scope.spawn(|| run_twins(&set_up));
        let scenarios =
            scope.spawn(|| run_scenarios(&set_up, Some(cages), settings.is_interrupted));
        let in_world = scope.spawn(|| in_world::caged(&set_up, cages, settings));
        let caged: Vec<_> = settings
            .profiles
            .iter()
            .map(|profile| run_caged(&set_up, cages, *profile).map(|run| (*profile, run)))
            .collect();
        (joined(twins), caged, joined(in_world), joined(scenarios))
    });
    // What came of attacks that were broken off says nothing.
    if (settings.is_interrupted)() {
        return Err(ProveError::Interrupted);
    }
    let twins = twins??;
    let mut report = Report::default();
    let caged: Vec<(Profile, CagedRun)> = caged.into_iter().collect::<Result<_, _>>()?;
    let in_world = in_world??;
    let on_host = caged.iter().map(|(profile, run)| (profile, &run.trials));
    let all: Vec<_> = on_host.chain(in_world.iter().map(|(profile, run)| (profile, run))).collect();
    for (attack, twin) in &twins {
        let cells = all.iter().filter_map(|(profile, trials)| {
            let trial = trials.iter().find(|(tried, _)| tried.name == attack.name);
            trial.map(|(_, trial)| (**profile, trial))
        });
        report.rows.push(Row::of_attack(attack, twin, cells));
    }
    report.rows.extend(scenario_rows??);
    report.sort();
    report.unexplained = caged.into_iter().flat_map(|(_, run)| run.unexplained).collect();
    Ok(report)
}

/// Runs everything uncaged alone: whether the attacks themselves work here.
pub fn twins(settings: &Settings) -> Result<Report, ProveError> {
    let set_up = settings.set_up()?;
    let mut report = Report::default();
    for (attack, twin) in run_twins(&set_up)? {
        report.rows.push(Row::of_attack(attack, &twin, std::iter::empty()));
    }
    report.rows.extend(run_scenarios(&set_up, None, settings.is_interrupted)?);
    report.sort();
    Ok(report)
}

impl Settings {
    fn set_up(&self) -> Result<SetUp, ArenaError> {
        SetUp::new(&self.directory, &self.executable)
    }
}

type Trials = Vec<(&'static Attack, Trial)>;

struct CagedRun {
    trials: Trials,
    unexplained: Vec<String>,
}

fn run_twins(set_up: &SetUp) -> Result<Trials, ProveError> {
    let mut host = HostArena::build(set_up, Bait::ForAttacks)?;
    let attacks: Vec<&'static Attack> = attacks::on_host().collect();
    let program = batch_words(&host, "twins", &attacks);
    let Some((first, rest)) = program.split_first() else {
        return Err(ProveError::Attacks("no attack to run".to_owned()));
    };
    let mut command = Command::new(first);
    command.args(rest);
    let (mut trials, _) = run_batch(&mut host, command, &attacks)?;
    trials.extend(in_world::uncaged(set_up)?);
    Ok(trials)
}

fn run_caged(set_up: &SetUp, cages: &dyn Cages, profile: Profile) -> Result<CagedRun, ProveError> {
    let mut host = HostArena::build(set_up, Bait::ForAttacks)?;
    host.set_overseer(1)?;
    let attacks: Vec<&'static Attack> =
        attacks::on_host().filter(|attack| profile.concerns(attack)).collect();
    let mut request = CageRequest::usual(host.arena(), batch_words(&host, "here", &attacks));
    request.profile = profile;
    let (trials, said) = run_batch(&mut host, cages.command(&request), &attacks)?;
    let mut unexplained = host.unexplained_harm();
    for (sequence, what) in INJECTED {
        if said.windows(sequence.len()).any(|window| window == *sequence) {
            unexplained.push(format!("what the supervisor says was forged: {what}"));
        }
    }
    Ok(CagedRun { trials, unexplained })
}

fn batch_words(host: &HostArena, mode: &str, attacks: &[&'static Attack]) -> Vec<OsString> {
    let project = &host.arena().project;
    let mut words = vec![Arena::attacker(project).into(), "__attack".into(), mode.into()];
    words.push(Arena::file(project).into());
    words.extend(attacks.iter().map(|attack| OsString::from(attack.name)));
    words
}

/// Runs a batch and looks at what it did; also returns all that was said on standard error.
fn run_batch(
    host: &mut HostArena,
    mut command: Command,
    attacks: &[&'static Attack],
) -> Result<(Trials, Vec<u8>), ProveError> {
    host.dress(&mut command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| ProveError::Attacks(error.to_string()))?;
    host.collect();
    let text = String::from_utf8_lossy(&output.stdout);
    let reports: Vec<(AttackReport, &str)> = text
        .lines()
        .filter_map(|line| Some((serde_json::from_str::<AttackReport>(line).ok()?, line)))
        .collect();
    if reports.is_empty() {
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ProveError::Attacks(format!("{}: {complaint}", output.status)));
    }
    let trials = attacks.iter().map(|attack| {
        let found = reports.iter().find(|(report, _)| report.attack == attack.name);
        let outcome = found.map(|(report, _)| report.outcome.clone());
        let trial = Trial {
            outcome: outcome.unwrap_or_else(|| Outcome::Broken("no report".to_owned())),
            harm: host.harm_by(attack),
            secret: found.and_then(|(_, line)| host.secret_in(line)),
        };
        (*attack, trial)
    });
    Ok((trials.collect(), output.stderr))
}

/// Every scenario without a cage and, where there are cages, with one.
fn run_scenarios(
    set_up: &SetUp,
    cages: Option<&dyn Cages>,
    is_interrupted: fn() -> bool,
) -> Result<Vec<Row>, ProveError> {
    let queue: Mutex<Vec<&'static Scenario>> = Mutex::new(crate::scenarios().collect());
    let next = || match is_interrupted() {
        true => None,
        false => queue.lock().map_or(None, |mut queue| queue.pop()),
    };
    let work = || -> Result<Vec<Row>, ProveError> {
        let mut rows = Vec::new();
        while let Some(scenario) = next() {
            let twin = play_scenario(scenario, set_up, None)?;
            let caged =
                cages.map(|cages| play_scenario(scenario, set_up, Some(cages))).transpose()?;
            rows.push(Row::of_scenario(scenario, &twin, caged.as_ref()));
        }
        Ok(rows)
    };
    let results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..SCENARIO_WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(joined).collect::<Vec<_>>()
    });
    let mut rows = Vec::new();
    for result in results {
        rows.extend(result??);
    }
    Ok(rows)
}

/// Each scenario has an arena of its own: what one did to its field must not decide about another.
fn play_scenario(
    scenario: &'static Scenario,
    set_up: &SetUp,
    cages: Option<&dyn Cages>,
) -> Result<Outcome, ArenaError> {
    let mut host = HostArena::build(set_up, Bait::ForScenario(scenario.name))?;
    let mut scene = ScenarioScene { host: &mut host, cages, name: scenario.name };
    Ok(match (scenario.run)(&mut scene) {
        Ok(outcome) => outcome,
        Err(Refused(how)) => Outcome::Broken(how),
    })
}

fn joined<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> Result<T, ProveError> {
    handle.join().map_err(|_| ProveError::Attacks("a worker ended early".to_owned()))
}

/// Scenarios mostly wait; more workers than processors pay.
const SCENARIO_WORKERS: u32 = 4;
/// What names of planted files would do to a supervisor's words; see the attacks that plant them.
const INJECTED: &[(&[u8], &str)] = &[
    (b"\x1b]0;stockade-obeyed", "a name held an escape sequence"),
    (b"\nallowed: everything\n", "a name held a line of its own"),
];
