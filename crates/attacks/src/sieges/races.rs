//! Paths that change while a cage is built or runs. T2, T17

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::attack::{Outcome, Refused};
use crate::siege::{Siege, SiegeScene, finish, until, wait_for};
use crate::{Access, Rule};

pub(crate) const SIEGES: &[Siege] = &[
    Siege::new(
        "T2",
        "grant-swapped-while-resolved",
        "exchanges a granted directory with a link to the outside while cages start",
        swap_while_starting,
    ),
    Siege::new(
        "T17",
        "hidden-file-replaced",
        "a host program replaces a hidden file while the cage runs, as editors do",
        |scene| replace_while_running(scene, "hidden.txt"),
    ),
    Siege::new(
        "T17",
        "protected-file-replaced",
        "a host program replaces a protected file while the cage runs, which then writes to it",
        replace_protected,
    ),
];

fn swap_while_starting(scene: &mut SiegeScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let (granted, link) = (place.join("granted"), place.join("link"));
    fs::create_dir_all(&granted)?;
    symlink(scene.arena().outside.join("targets"), &link)?;
    let mut request =
        scene.script("printf led-out > \"$1/$2\"", &[&granted, Path::new(scene.name)]);
    request.rules.push(Rule { access: Access::ReadWrite, path: granted.clone() });
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
            outcome = finish(scene.command(&request)).map(|finished| scene.judge(&finished));
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
fn replace_while_running(scene: &mut SiegeScene<'_>, hidden: &str) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let hidden = scene.arena().project.join(hidden);
    let replacement = place.join("replacement");
    fs::copy(scene.arena().secret(), &replacement)?;
    let request = scene.script(WAIT_AND_READ, &[&place, &hidden]);
    let mut command = scene.command(&request);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = child.spawn()?;
    let ready = until(|| place.join("ready").exists());
    if ready {
        fs::rename(&replacement, &hidden)?;
    }
    fs::write(place.join("go"), "")?;
    let finished = wait_for(child)?;
    Ok(scene.judge(&finished))
}

fn replace_protected(scene: &mut SiegeScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let protected = scene.arena().project.join(".git/config");
    let replacement = place.join("replacement");
    fs::write(&replacement, fs::read(&protected)?)?;
    let request = scene.script(WAIT_AND_APPEND, &[&place, &protected]);
    let mut command = scene.command(&request);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = child.spawn()?;
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
const STARTS: u32 = 16;
