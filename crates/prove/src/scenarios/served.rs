//! Views with a layer that a process of ours shows, because the kernel cannot: the same attacks as on those of the
//! kernel, notes that an overlay could take for its own, and names that the host exchanges meanwhile. T1, T2, T7, T12, T65

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use attacks::{Access, Outcome, Refused, Rule};
use rustix::fs::{CWD, RenameFlags};

use super::layers::{in_view, no_view};
use crate::prove::CageRequest;
use crate::scenario::{Scenario, ScenarioScene, finish};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T1",
        "write-through-served-view",
        "changes a file below a served layer by its name, links, a descriptor from before and a second name",
        |scene| {
            let Some(view) = foreign(scene)? else { return Ok(nobody_elses()) };
            let script = "cd \"$1\"; exec 3< file; ln -s file link; echo evil > link; echo evil > /proc/self/fd/3; \
                 ln file second && echo evil > second; echo evil > directory/../file; chmod 777 file; \
                 mv directory moved; rm -r moved; mkdir -p .git/hooks; ln -s / root; mknod white c 0 0";
            in_view(scene, &view, script, &[])
        },
    ),
    Scenario::new(
        "T7",
        "strange-names-in-served-view",
        "makes names of two lines, of wildcards and that are not text, and pointers upward, in a served view",
        |scene| {
            let Some(view) = foreign(scene)? else { return Ok(nobody_elses()) };
            let script = "cd \"$1\"; for name in \"$(printf 'a\\nb')\" '*' '[x]' 'a\\b' \"$(printf 'x\\377')\"; do \
                 mkdir \"$name\"; echo evil > \"$name/.envrc\"; done; ln -s ../../.. up; \
                 echo 'gitdir: ../../..' > .git; echo evil > file";
            in_view(scene, &view, script, &[])
        },
    ),
    Scenario::new(
        "T65",
        "read-hidden-in-served-view",
        "reads a hidden file of a served view by its name, links, a moved directory and a second name",
        |scene| {
            let Some(view) = foreign(scene)? else { return Ok(nobody_elses()) };
            fs::create_dir_all(view.join("above/private"))?;
            let secret = scene.arena().project.join("hidden.txt");
            fs::copy(secret, view.join("above/private/file"))?;
            let script = "cd \"$1\"; cat above/private/file; ln -s above/private/file link; cat link; \
                 mv above aside; cat aside/private/file; ln above/private/file second; cat second; \
                 cat above/../above/private/./file; rm -r above/private; cat above/private/file; \
                 readlink above/private/file; mkdir above/private; cat above/private/file";
            let mut request = scene.script(script, &[&view]);
            request.rules.push(Rule { access: Access::Cow, path: view.clone() });
            request.rules.push(Rule { access: Access::Hide, path: view.join("above/private") });
            let finished = finish(scene.command(&request))?;
            Ok(no_view(&finished).unwrap_or_else(|| scene.judge(&finished)))
        },
    ),
    Scenario::new(
        "T12",
        "forge-notes-in-served-view",
        "makes whiteouts and attributes of an overlay in a served view, and looks for those that are there",
        |scene| {
            let Some(view) = foreign(scene)? else { return Ok(nobody_elses()) };
            fs::create_dir(view.join("directory"))?;
            for file in ["file", "directory/file"] {
                fs::write(view.join(file), "pristine\n")?;
            }
            let request = attacker(scene, "forge-notes", &view, &[]);
            let finished = finish(scene.command(&request))?;
            Ok(no_view(&finished).unwrap_or_else(|| {
                match finished.stdout.trim().strip_prefix("forged: ") {
                    Some("nothing") => Outcome::Failed("every note was refused".to_owned()),
                    Some(what) => Outcome::Succeeded(what.to_owned()),
                    None => Outcome::Failed(finished.in_short()),
                }
            }))
        },
    ),
    Scenario::new(
        "T2",
        "swap-below-served-view",
        "reads below a served view while the host exchanges directories with links out of it",
        swap_below,
    ),
];

/// Directories with a file `secret`, each of which is a link to the secret's directory at every other moment.
fn swap_below(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let Some(view) = foreign(scene)? else { return Ok(nobody_elses()) };
    let pairs: Vec<(PathBuf, PathBuf)> = (0..SWAPPED)
        .map(|number| (view.join(format!("d{number}")), view.join(format!("l{number}"))))
        .collect();
    for (plain, link) in &pairs {
        fs::create_dir(plain)?;
        fs::write(plain.join("secret"), "nothing")?;
        symlink(&scene.arena().outside, link)?;
    }
    let count = SWAPPED.to_string();
    let request = attacker(scene, "read-on", &view, &[&count]);
    let has_ended = AtomicBool::new(false);
    let finished = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                for (plain, link) in &pairs {
                    // What is in use by somebody stays for the next round.
                    let _moved =
                        rustix::fs::renameat_with(CWD, plain, CWD, link, RenameFlags::EXCHANGE);
                }
            }
        });
        let finished = finish(scene.command(&request));
        has_ended.store(true, Ordering::Relaxed);
        finished
    })?;
    Ok(no_view(&finished).unwrap_or_else(|| scene.judge(&finished)))
}

/// A request for a cage around the attacking program, with a view of a directory.
fn attacker(scene: &ScenarioScene<'_>, role: &str, view: &Path, words: &[&str]) -> CageRequest {
    let program = scene.arena().project.join("attacker");
    let head = [program.as_os_str().to_owned(), "__attack".into(), role.into()];
    let words = words.iter().map(Into::into);
    let mut request =
        scene.request(head.into_iter().chain([view.as_os_str().to_owned()]).chain(words));
    request.rules.push(Rule { access: Access::Cow, path: view.to_owned() });
    request
}

/// This scenario's own directory, given to somebody else; none where the caller can give it to nobody.
fn foreign(scene: &ScenarioScene<'_>) -> Result<Option<PathBuf>, Refused> {
    let view = scene.workplace()?;
    if rustix::process::geteuid().is_root() {
        chown(&view, Some(SOMEBODY), Some(SOMEBODY))?;
        return Ok(Some(view));
    }
    let own = rustix::process::getegid();
    let groups = rustix::process::getgroups()?;
    let Some(group) = groups.into_iter().find(|group| *group != own) else { return Ok(None) };
    let given = chown(&view, None, Some(group.as_raw()));
    Ok(given.is_ok().then_some(view))
}

fn nobody_elses() -> Outcome {
    Outcome::NotApplicable(
        "the caller can give a directory neither to a user nor to a group".to_owned(),
    )
}

const SOMEBODY: u32 = 65532;
const SWAPPED: u32 = 64;
