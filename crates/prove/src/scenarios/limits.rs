//! Limits that are asked for and must be held, or refused; never taken and forgotten, and never gone
//! around. T28, T29, T30, T66

use std::ffi::OsString;

use attacks::Arena;
use attacks::{Outcome, Refused};

use crate::scenario::{Scenario, ScenarioScene, finish};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("T66", "time-limit-not-armed", "runs for longer than its limit", |scene| {
        let request = scene.script("sleep 1.5; echo exceeded", &[]);
        exceed(scene, &["--time", "1"], request.program)
    }),
    Scenario::new("T66", "memory-limit-not-armed", "uses more memory than its limit", |scene| {
        greed(scene, MEMORY, &["hoard", "private", MEBIBYTES])
    }),
    Scenario::new(
        "T66",
        "process-limit-not-armed",
        "starts more processes than its limit",
        |scene| greed(scene, &["--pids", "8"], &["crowd", "processes", "16"]),
    ),
    Scenario::new("T66", "processor-limit-not-armed", "works more than its limit", |scene| {
        greed(scene, &["--cpus", "0.05"], &["burn", "50"])
    }),
    Scenario::new(
        "T29",
        "thread-bomb",
        "starts more threads than its limit on processes",
        |scene| greed(scene, &["--pids", "32"], &["crowd", "threads", "200"]),
    ),
    Scenario::new("T29", "fork-bomb", "has processes start processes without end", |scene| {
        greed(scene, &["--pids", "40"], &["fork-bomb", "6"])
    }),
    Scenario::new("T29", "memory-bomb-spread", "uses memory in many small processes", |scene| {
        greed(scene, MEMORY, &["hoard", "spread", MEBIBYTES])
    }),
    Scenario::new("T29", "memory-bomb-nameless", "uses memory as a file without a name", |scene| {
        greed(scene, MEMORY, &["hoard", "nameless", MEBIBYTES])
    }),
    Scenario::new(
        "T29",
        "memory-bomb-file",
        "uses memory as a file in a memory file system",
        |scene| {
            let path = format!("/dev/shm/stockade-hoard-{}", std::process::id());
            greed(scene, MEMORY, &["hoard", &path, MEBIBYTES])
        },
    ),
    Scenario::new("T30", "memory-bomb-unwanted", "has others be killed in its place", |scene| {
        greed(scene, MEMORY, &["hoard", "unwanted", MEBIBYTES])
    }),
];

/// Runs a greedy program.
fn greed(
    scene: &mut ScenarioScene<'_>,
    limit: &[&str],
    words: &[&str],
) -> Result<Outcome, Refused> {
    let attacker = Arena::attacker(&scene.arena().project).into_os_string();
    let words = words.iter().map(OsString::from);
    let program = [attacker, "__attack".into()].into_iter().chain(words).collect();
    exceed(scene, limit, program)
}

fn exceed(
    scene: &mut ScenarioScene<'_>,
    limit: &[&str],
    program: Vec<OsString>,
) -> Result<Outcome, Refused> {
    let mut request = scene.request(program);
    request.flags = limit.iter().map(OsString::from).collect();
    let finished = finish(scene.command(&request))?;
    // Where nobody can hold the limit, the cage is refused, and nothing was tried.
    if scene.is_caged() && finished.status.code() == Some(CANNOT_BUILD) {
        return Ok(Outcome::NotApplicable(finished.in_short()));
    }
    let mut said = finished.stdout.lines();
    Ok(match said.find(|line| line.starts_with(attacks::EXCEEDED)) {
        Some(line) => Outcome::Succeeded(format!("went on beyond its limit: {line}")),
        None => Outcome::Failed(finished.in_short()),
    })
}

/// The exit code for a cage that cannot be built as asked.
const CANNOT_BUILD: i32 = 122;
const MEMORY: &[&str] = &["--memory", "32M"];
const MEBIBYTES: &str = "96";
