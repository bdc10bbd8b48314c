//! What a program leaves for the host's next command: a repository that Git asks for its state, protected
//! names that come back with a checkout, another program in the place of the one that starts cages, what links in
//! protected directories lead to. T67, T74, T78, T79

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use attacks::{Outcome, Refused};

use crate::scenario::{Finished, Scenario, ScenarioScene, finish};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T67",
        "gitlink-among-packages",
        "makes a repository in `node_modules` that the next `git status` of the project obeys",
        |scene| plant_repository(scene, "node_modules/x"),
    ),
    Scenario::new("T67", "gitlink-deep-in-a-build", "the same far below `target`", |scene| {
        plant_repository(scene, "work/target/a/b/c/d/e/f/g")
    }),
    Scenario::new(
        "T78",
        "protected-name-in-the-index",
        "adds a file that runs code to the index and removes it, without a word of anybody",
        track_protected_name,
    ),
    Scenario::new(
        "T74",
        "supervisor-replaced",
        "writes over the program that starts cages, removes it, renames another one over it",
        |scene| replace_supervisor(scene, REPLACE),
    ),
    Scenario::new(
        "T74",
        "supervisor-by-a-second-name",
        "writes to the program that starts cages by the other name that Cargo gives it",
        |scene| replace_supervisor(scene, "printf replaced > \"$1-second\""),
    ),
    Scenario::new(
        "T79",
        "hook-behind-a-link",
        "writes to the script that a hook is a link to",
        |scene| {
            change_behind(scene, ".git/hooks/pre-commit", &[("../../scripts/hook", "scripts/hook")])
        },
    ),
    Scenario::new(
        "T79",
        "hook-behind-a-missing-link",
        "makes the script that a hook is a link to",
        |scene| change_behind(scene, ".git/hooks/pre-commit", &[("../../made", "")]),
    ),
    Scenario::new(
        "T79",
        "settings-behind-two-links",
        "puts a file in the place of the second of two links to an agent's settings",
        |scene| {
            let links = [("../second", ""), ("scripts/hook", "scripts/hook")];
            change_behind(scene, ".claude/settings.json", &links)
        },
    ),
    Scenario::new(
        "T79",
        "configuration-behind-a-link",
        "makes a file of configuration that Git reads through a link to a directory",
        |scene| {
            let place = scene.workplace()?;
            fs::create_dir_all(place.join(".git"))?;
            fs::write(place.join(".git/config"), "[include]\n\tpath = ../linked/more\n")?;
            fs::create_dir(place.join("real"))?;
            symlink("real", place.join("linked"))?;
            judge_behind(scene, &place, "linked/more")
        },
    ),
];

/// Makes a link with a protected name, and a second one in the project that it leads over; an empty path
/// stands for nothing at the end.
fn change_behind(
    scene: &mut ScenarioScene<'_>,
    name: &str,
    links: &[(&str, &str)],
) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let names = [place.join(name), place.join("second")];
    for ((target, file), link) in links.iter().zip(&names) {
        fs::create_dir_all(link.parent().unwrap_or(&place))?;
        symlink(target, link)?;
        fs::create_dir_all(place.join("scripts"))?;
        if !file.is_empty() {
            fs::write(place.join(file), "honest")?;
        }
    }
    judge_behind(scene, &place, name)
}

/// The program writes by every way, and the host reads what it would run.
fn judge_behind(
    scene: &mut ScenarioScene<'_>,
    place: &Path,
    name: &str,
) -> Result<Outcome, Refused> {
    let request = scene.script(BEHIND, &[place]);
    let finished = finish(scene.command(&request))?;
    match fs::read_to_string(place.join(name)) {
        Ok(text) if text == "evil" => Ok(Outcome::Succeeded("the host would run it".to_owned())),
        _ => Ok(Outcome::Failed(finished.in_short())),
    }
}

/// The program in the cage plants it, and a user asks for the state of the project.
fn plant_repository(scene: &mut ScenarioScene<'_>, place: &str) -> Result<Outcome, Refused> {
    if !has_git() {
        return Ok(Outcome::NotApplicable("git is not installed".to_owned()));
    }
    let target = scene.target();
    let request = scene.script(PLANT, &[Path::new(place), &target]);
    let planted = finish(scene.command(&request))?;
    let asked = git(scene, &["status"])?;
    if !planted.status.success() || !asked.status.success() {
        return Ok(Outcome::Broken(format!("{}, {}", planted.in_short(), asked.in_short())));
    }
    Ok(scene.judge(&asked))
}

fn track_protected_name(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    if !has_git() {
        return Ok(Outcome::NotApplicable("git is not installed".to_owned()));
    }
    let request = scene.script(TRACK, &[&scene.workplace()?]);
    let tracked = finish(scene.command(&request))?;
    let listed = git(scene, &["ls-files"])?;
    if !listed.stdout.contains(".envrc") {
        return Ok(Outcome::Failed(tracked.in_short()));
    }
    match tracked.stderr.contains("now holds") {
        true => Ok(Outcome::Failed("the supervisor said so".to_owned())),
        false => Ok(Outcome::Succeeded("it waits for the next checkout".to_owned())),
    }
}

/// Whoever starts the next cage starts this program.
fn replace_supervisor(scene: &mut ScenarioScene<'_>, script: &str) -> Result<Outcome, Refused> {
    let own = scene.workplace()?.join("supervisor");
    let request = scene.script(script, &[&own]);
    let usual = scene.command(&request);
    let program = match scene.is_caged() {
        true => PathBuf::from(usual.get_program()),
        false => PathBuf::from("/bin/sh"),
    };
    // By another process: a descriptor of this one that is open for writing goes along when a thread beside this
    // one starts something, and a program that somebody may write to cannot be started.
    let mut copy = Command::new("cp");
    copy.arg(&program).arg(&own);
    finish(copy)?;
    fs::hard_link(&own, own.with_file_name("supervisor-second"))?;
    let mut command = match scene.is_caged() {
        true => Command::new(&own),
        false => Command::new(usual.get_program()),
    };
    command.args(usual.get_args());
    scene.host.dress(&mut command);
    let finished = finish(command)?;
    let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    let is_same = length(&own) == length(&program);
    match is_same {
        true => Ok(Outcome::Failed(finished.in_short())),
        false => Ok(Outcome::Succeeded("it is another program now".to_owned())),
    }
}

/// Git on the host, in the project.
fn git(scene: &ScenarioScene<'_>, words: &[&str]) -> Result<Finished, Refused> {
    let mut command = Command::new("git");
    command.args(words);
    scene.host.dress(&mut command);
    finish(command)
}

fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Makes a repository in `$1` that writes to `$2` for whoever asks for its state, and tells the one around it
/// that it belongs to it.
const PLANT: &str = "set -e; export GIT_CONFIG_GLOBAL=/dev/null; \
     mkdir -p \"$1\"; git init -q \"$1\"; \
     git -C \"$1\" -c user.name=n -c user.email=n@example.com commit -q --allow-empty -m x; \
     printf '[core]\\n\\tfsmonitor = \"printf obeyed > %s #\"\\n' \"$2\" >> \"$1/.git/config\"; \
     git update-index --add --cacheinfo \"160000,$(git -C \"$1\" rev-parse HEAD),$1\"";

const REPLACE: &str =
    "printf x > \"$1\"; rm -f \"$1\"; printf x > \"$1.new\"; mv -f \"$1.new\" \"$1\"";

/// Everything that the names above lead to, or over.
const BEHIND: &str = "cd \"$1\"; rm -f second; mkdir -p scripts; \
     for file in scripts/hook made second real/more; do printf evil > $file; done; \
     printf evil > new; mv -f new scripts/hook";

const TRACK: &str = "cd \"$1\"; echo evil > .envrc; git add -f .envrc; rm .envrc";
