//! Paths that change while a cage is built or runs. T2, T17

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use attacks::{Access, Rule};
use attacks::{Outcome, Refused};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::CageRequest;
use crate::scenario::{Scenario, ScenarioScene, finish, until, wait_for};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T2",
        "swap-path-of-policy",
        "exchanges a directory that the project's policy grants with a link out, while cages start",
        swap_path_of_policy,
    ),
    Scenario::new(
        "T2",
        "swap-named-path",
        "exchanges a directory of the project that a flag grants with a link out",
        swap_named_path,
    ),
    Scenario::new(
        "T17",
        "hidden-file-replaced",
        "a host program replaces a hidden file while the cage runs, as editors do",
        |scene| replace_while_running(scene, "hidden.txt"),
    )
    .not_defended(REPLACED),
    Scenario::new(
        "T17",
        "protected-file-replaced",
        "a host program replaces a protected file while the cage runs, which then writes to it",
        replace_protected,
    )
    .not_defended(REPLACED),
    Scenario::new(
        "T17",
        "granted-file-replaced",
        "a host program replaces a granted file, and what the cage writes is lost without a word",
        replace_granted,
    ),
];

/// A path that the user names on the command line.
fn swap_named_path(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let granted = place.join("granted");
    let mut request =
        scene.script("printf led-out > \"$1/$2\"", &[&granted, Path::new(scene.name)]);
    request.rules.push(Rule { access: Access::ReadWrite, path: granted });
    swap_while_starting(scene, &place, &request)
}

/// A path that the project's own policy names.
fn swap_path_of_policy(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let project = scene.arena().home.join(scene.name);
    fs::create_dir_all(&project)?;
    let policy = "version = 1\n[cage.default]\nfs = [{ ro = \".\" }, { rw = \"granted\" }]\n";
    fs::write(project.join("stockade.toml"), policy)?;
    let mut request = scene
        .script("printf led-out > \"$1/$2\"", &[&project.join("granted"), Path::new(scene.name)]);
    request.project = project.clone();
    request.rules.clear();
    swap_while_starting(scene, &project, &request)
}

/// Exchanges `granted` with a link that leads out, all the while that cages start.
fn swap_while_starting(
    scene: &mut ScenarioScene<'_>,
    place: &Path,
    request: &CageRequest,
) -> Result<Outcome, Refused> {
    let (granted, link) = (place.join("granted"), place.join("link"));
    fs::create_dir_all(&granted)?;
    symlink(scene.arena().outside.join("targets"), &link)?;
    let stop = AtomicBool::new(false);
    let mut outcome = Ok(Outcome::Failed("never led out".to_owned()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let exchange = RenameFlags::EXCHANGE;
                let _swapped = renameat_with(CWD, &granted, CWD, &link, exchange);
            }
        });
        for _ in 0..STARTS {
            outcome = finish(scene.command(request)).map(|finished| scene.judge(&finished));
            if !matches!(outcome, Ok(Outcome::Failed(_))) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    outcome
}

/// A mount on a file lasts as long as the file has its name: who replaces the file by renaming
/// another over it takes the mount off in every namespace.
fn replace_while_running(scene: &mut ScenarioScene<'_>, hidden: &str) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let hidden = scene.arena().project.join(hidden);
    let replacement = place.join("replacement");
    fs::copy(scene.arena().secret(), &replacement)?;
    let request = scene.script(WAIT_AND_READ, &[&place, &hidden]);
    let child = piped(scene.command(&request))?;
    let ready = until(|| place.join("ready").exists());
    if ready {
        fs::rename(&replacement, &hidden)?;
    }
    fs::write(place.join("go"), "")?;
    let finished = wait_for(child)?;
    Ok(scene.judge(&finished))
}

/// The rule follows the path, or the supervisor says that it did not.
fn replace_granted(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let granted = scene.arena().home.join("granted.txt");
    let replacement = granted.with_extension("replacement");
    fs::write(&granted, "old\n")?;
    fs::write(&replacement, "new\n")?;
    let mut request = scene.script(WAIT_AND_WRITE, &[&place, &granted]);
    request.rules.push(Rule { access: Access::ReadWrite, path: granted.clone() });
    let child = piped(scene.command(&request))?;
    let ready = until(|| place.join("ready").exists());
    if ready {
        fs::rename(&replacement, &granted)?;
    }
    fs::write(place.join("go"), "")?;
    let finished = wait_for(child)?;
    if !ready || !finished.status.success() {
        return Ok(Outcome::Broken(finished.in_short()));
    }
    let arrived = fs::read_to_string(&granted)?.contains("written-inside");
    match (arrived, finished.stderr.contains("replaced")) {
        (true, _) => Ok(Outcome::Failed("the write arrived".to_owned())),
        (false, true) => Ok(Outcome::Failed("the supervisor said so".to_owned())),
        (false, false) => Ok(Outcome::Succeeded("lost without a word".to_owned())),
    }
}

fn piped(mut command: Command) -> Result<Child, Refused> {
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

fn replace_protected(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let protected = scene.arena().project.join(".git/config");
    let replacement = place.join("replacement");
    fs::write(&replacement, fs::read(&protected)?)?;
    let request = scene.script(WAIT_AND_APPEND, &[&place, &protected]);
    let child = piped(scene.command(&request))?;
    let ready = until(|| place.join("ready").exists());
    if ready {
        fs::rename(&replacement, &protected)?;
    }
    fs::write(place.join("go"), "")?;
    let finished = wait_for(child)?;
    let contents = fs::read_to_string(&protected)?;
    if contents.contains("fsmonitor") {
        return Ok(Outcome::Succeeded("the protected file was written to".to_owned()));
    }
    Ok(Outcome::Failed(finished.in_short()))
}

const WAIT_AND_READ: &str =
    "cd \"$1\"; : > ready; while [ ! -e go ]; do sleep 0.01; done; cat \"$2\"";
const WAIT_AND_APPEND: &str = "cd \"$1\"; : > ready; while [ ! -e go ]; do sleep 0.01; done; \
     printf '[core]\\n\\tfsmonitor = evil\\n' >> \"$2\"";
const WAIT_AND_WRITE: &str = "exec 3>> \"$2\"; cd \"$1\"; : > ready; \
     while [ ! -e go ]; do sleep 0.01; done; echo written-inside >&3";
const REPLACED: &str = "a mount over a single file goes when the host renames another over that \
     file; hide or protect its directory";
const STARTS: u32 = 16;
