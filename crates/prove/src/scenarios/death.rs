//! Processes that outlive their cage, or the one who started it. T28, T54, T62

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use attacks::Arena;
use attacks::{Outcome, Refused};

use crate::scenario::{Scenario, ScenarioScene, finish, until, until_within};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T28",
        "daemon-outlives-cage",
        "forks twice and works on after the end",
        |scene| outlive(scene, &[]),
    ),
    Scenario::new(
        "T28",
        "daemon-outlives-control-group",
        "forks twice, leaves its session and works on after the end of a cage with limits",
        |scene| outlive(scene, &["--pids", "50", "--memory", "64M"]),
    ),
    Scenario::new(
        "T62",
        "grandchild-outlives-supervisor",
        "works on after its supervisor was killed",
        |scene| survive_kill(scene, "while [ -e \"$1\" ]; do echo x >> \"$2\"; sleep 0.02; done"),
    ),
    Scenario::new(
        "T54",
        "stubborn-grandchild-outlives-supervisor",
        "ignores signals and works on in a session of its own after its supervisor was killed",
        |scene| {
            survive_kill(
                scene,
                "trap '' HUP INT TERM PIPE; while [ -e \"$1\" ]; do echo x >> \"$2\"; sleep 0.02; done",
            )
        },
    ),
    Scenario::new(
        "T25",
        "supervisor-killed-between-calls",
        "makes refused calls while the supervisor that answers them is killed",
        flood_through_death,
    ),
];

fn outlive(scene: &mut ScenarioScene<'_>, flags: &[&str]) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let [late, ready, flag] = ["late", "ready", "flag"].map(|name| place.join(name));
    fs::write(&flag, "")?;
    // Works already when the cage ends, and writes only once it was told that the end has come.
    let daemon = "echo x > \"$2\"; while [ -e \"$3\" ]; do sleep 0.02; done; echo x > \"$1\"";
    let script = format!(
        "( ( trap '' HUP; setsid sh -c '{daemon}' sh \"$@\" ) </dev/null >/dev/null 2>&1 & ); \
         until [ -e \"$2\" ]; do sleep 0.02; done; exit 0"
    );
    let mut request = scene.script(&script, &[&late, &ready, &flag]);
    request.flags = flags.iter().map(std::ffi::OsString::from).collect();
    let began = Instant::now();
    let finished = finish(scene.command(&request))?;
    let took = began.elapsed();
    fs::remove_file(&flag)?;
    // Limits that cannot be held here are refused, and then nothing has run.
    if finished.status.code() == Some(CANNOT_BUILD) && !flags.is_empty() {
        return Ok(Outcome::Failed(finished.in_short()));
    }
    if !finished.status.success() {
        return Ok(Outcome::Broken(finished.in_short()));
    }
    match until_within(AFTER_THE_END + took * HOW_MUCH_SLOWER, || late.exists()) {
        true => Ok(Outcome::Succeeded("wrote after the end".to_owned())),
        false => Ok(Outcome::Failed("nothing was written after the end".to_owned())),
    }
}

fn survive_kill(scene: &mut ScenarioScene<'_>, beat: &str) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let (flag, beats) = (place.join("flag"), place.join("beats"));
    fs::write(&flag, "")?;
    let script = format!("( {beat} ) </dev/null >/dev/null 2>&1 & wait");
    let request = scene.script(&script, &[&flag, &beats]);
    let mut command = scene.command(&request);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let survived = works_on(&beats, || {
        child.kill()?;
        child.wait().map(drop)
    })?;
    fs::remove_file(&flag)?;
    Ok(match survived {
        Some(true) => Outcome::Succeeded("worked on".to_owned()),
        Some(false) => Outcome::Failed("died with its supervisor".to_owned()),
        None => Outcome::Broken("the grandchild never started".to_owned()),
    })
}

/// Whether something that adds to a file now and then goes on after its supervisor was killed; nothing
/// if it never began.
pub(super) fn works_on(
    beats: &Path,
    kill: impl FnOnce() -> std::io::Result<()>,
) -> Result<Option<bool>, Refused> {
    let began = Instant::now();
    let alive = until(|| length(beats) > 4);
    let took = began.elapsed();
    kill()?;
    if !alive {
        return Ok(None);
    }
    // Whatever is on its way when the supervisor dies may still arrive.
    std::thread::sleep(GRACE);
    let at_death = length(beats);
    std::thread::sleep(AFTER_THE_END + took * HOW_MUCH_SLOWER);
    Ok(Some(length(beats) > at_death))
}

fn flood_through_death(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let mark = scene.workplace()?.join("reached");
    let attacker = Arena::attacker(&scene.arena().project);
    let words = [attacker.as_os_str(), "__attack".as_ref(), "flood".as_ref(), mark.as_os_str()];
    let request = scene.request(words);
    let mut child = scene.command(&request).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let ready = until(|| mark.with_extension("ready").exists());
    std::thread::sleep(GRACE);
    child.kill()?;
    child.wait()?;
    if !ready {
        return Ok(Outcome::Broken("the program never started".to_owned()));
    }
    std::thread::sleep(GRACE);
    match mark.exists() {
        true => Ok(Outcome::Succeeded("a call reached the kernel".to_owned())),
        false => Ok(Outcome::Failed("no call reached the kernel".to_owned())),
    }
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}

const CANNOT_BUILD: i32 = 122;
const AFTER_THE_END: Duration = Duration::from_millis(500);
/// What took long to begin, on a machine that is emulated and busy, also takes long to show that it
/// goes on.
const HOW_MUCH_SLOWER: u32 = 3;
const GRACE: Duration = Duration::from_millis(100);
