//! Grants that would open more than they say: directories of sockets, whole homes, paths that do
//! not exist, rules in a confusing order, files with two names. T4, T16, T57, T59, T60, T73

use std::path::Path;

use attacks::{Access, Arena, Rule};
use attacks::{Outcome, Refused};

use crate::scenario::{Scenario, ScenarioScene, finish};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T57",
        "grant-directory-of-sockets",
        "asks for a directory with sockets in it",
        |scene| {
            let outside = scene.arena().outside.clone();
            let socket = outside.join("agent.sock");
            speak_to(scene, &outside, &socket)
        },
    ),
    Scenario::new("T57", "grant-run", "asks for `/run`, read-only", |scene| {
        let mut request =
            scene.script("ls -d /run/. && printf reached > \"$1\"", &[&scene.target()]);
        request.rules.push(Rule { access: Access::ReadOnly, path: "/run".into() });
        request.rules.push(Rule { access: Access::ReadWrite, path: scene.target() });
        scene.run_and_judge(&request)
    }),
    Scenario::new(
        "T16",
        "grant-whole-home",
        "asks for the home, and reads the secrets in it",
        |scene| {
            let home = scene.arena().home.clone();
            let script = "cd \"$1\"; cat .ssh/id_ed25519 .aws/credentials .bash_history .netrc \
             .gnupg/private-keys-v1.d/key .local/share/keyrings/login.keyring \
             .mozilla/firefox/profile/logins.json";
            let mut request = scene.script(script, &[&home]);
            request.rules.push(Rule { access: Access::ReadOnly, path: home });
            scene.run_and_judge(&request)
        },
    ),
    Scenario::new(
        "T59",
        "grant-missing-path",
        "asks to write to a path that does not exist",
        |scene| {
            let missing = scene.arena().outside.join("missing");
            let mut request =
                scene.script("mkdir -p \"$1\" && printf x > \"$1/file\"", &[&missing]);
            request.rules.push(Rule { access: Access::ReadWrite, path: missing.clone() });
            let finished = finish(scene.command(&request))?;
            let told_so = finished.status.success();
            if missing.exists() {
                std::fs::remove_dir_all(&missing)?;
            }
            match told_so {
                true => Ok(Outcome::Succeeded("the program was told that it wrote".to_owned())),
                false => Ok(Outcome::Failed(finished.in_short())),
            }
        },
    ),
    Scenario::new("T60", "rules-in-reverse", "gives the rules deepest first", |scene| {
        let file = scene.arena().project.join("readonly/file");
        let mut request = scene
            .script("printf changed > \"$1\"; printf changed > \"$2\"", &[&file, &scene.target()]);
        request.rules.reverse();
        let before = std::fs::read(&file)?;
        let finished = finish(scene.command(&request))?;
        if std::fs::read(&file)? != before {
            return Ok(Outcome::Succeeded("the read-only file was changed".to_owned()));
        }
        Ok(scene.judge(&finished))
    }),
    Scenario::new("T61", "argument-names-a-path", "names a path outside as an argument", |scene| {
        let secret = scene.arena().secret();
        let request = scene.script("cat \"$1\"", &[&secret]);
        scene.run_and_judge(&request)
    }),
    Scenario::new(
        "T27",
        "program-under-another-name",
        "starts a program that is not listed",
        |scene| {
            let mut request = scene.script(OTHER_NAMES, &[&scene.workplace()?]);
            request.commands = Some(vec!["cat".to_owned(), "cp".to_owned()]);
            let finished = finish(scene.command(&request))?;
            match finished.stdout.contains("uid=") {
                true => Ok(Outcome::Succeeded(finished.stdout.trim().to_owned())),
                false => Ok(Outcome::Failed(finished.in_short())),
            }
        },
    ),
    Scenario::new(
        "T4",
        "hidden-file-has-second-name",
        "reads a hidden file by a second name that it had before",
        |scene| {
            let second = scene.workplace()?.join("second");
            std::fs::hard_link(scene.arena().project.join("hidden.txt"), &second)?;
            let request = scene.script("cat \"$1\"", &[&second]);
            scene.run_and_judge(&request)
        },
    ),
    Scenario::new(
        "T4",
        "protected-file-has-second-name",
        "writes to a protected file by a second name that it had before",
        |scene| {
            let second = scene.workplace()?.join("second");
            let protected = scene.arena().project.join(".envrc");
            std::fs::hard_link(&protected, &second)?;
            let request = scene.script("echo evil >> \"$1\"", &[&second]);
            let finished = finish(scene.command(&request))?;
            if std::fs::read_to_string(&protected)?.contains("evil") {
                return Ok(Outcome::Succeeded("the protected file was written to".to_owned()));
            }
            Ok(Outcome::Failed(finished.in_short()))
        },
    ),
    Scenario::new(
        "T73",
        "hidden-directory-second-name",
        "reads a file of a hidden directory by a second name that it had before",
        |scene| {
            let second = scene.workplace()?.join("second");
            std::fs::hard_link(scene.arena().project.join("private/secret.txt"), &second)?;
            let request = scene.script("cat \"$1\"", &[&second]);
            scene.run_and_judge(&request)
        },
    ),
    Scenario::new(
        "T73",
        "read-only-directory-second-name",
        "writes to a file of a read-only directory by a second name that it had before",
        |scene| write_by_second_name(scene, "readonly/file"),
    ),
    Scenario::new(
        "T73",
        "protected-directory-second-name",
        "writes to a hook by a second name that it had before",
        |scene| write_by_second_name(scene, ".git/hooks/pre-commit"),
    ),
];

fn write_by_second_name(scene: &mut ScenarioScene<'_>, file: &str) -> Result<Outcome, Refused> {
    let second = scene.workplace()?.join("second");
    let file = scene.arena().project.join(file);
    std::fs::hard_link(&file, &second)?;
    let request = scene.script("echo evil >> \"$1\"", &[&second]);
    let finished = finish(scene.command(&request))?;
    match std::fs::read_to_string(&file)?.contains("evil") {
        true => Ok(Outcome::Succeeded("the file was written to".to_owned())),
        false => Ok(Outcome::Failed(finished.in_short())),
    }
}

fn speak_to(
    scene: &mut ScenarioScene<'_>,
    directory: &Path,
    socket: &Path,
) -> Result<Outcome, Refused> {
    let attacker = Arena::attacker(&scene.arena().project);
    let mut request = scene.request([
        attacker.as_os_str(),
        "__attack".as_ref(),
        "speak".as_ref(),
        socket.as_os_str(),
        scene.name.as_ref(),
    ]);
    request.rules.push(Rule { access: Access::ReadOnly, path: directory.to_owned() });
    scene.run_and_judge(&request)
}

/// By its name, its path, the dynamic loader, a copy and a link.
const OTHER_NAMES: &str = "id; /usr/bin/id; /lib64/ld-linux-x86-64.so.2 /usr/bin/id; \
     cd \"$1\" && cp /usr/bin/id ./cat && ./cat; ln -s /usr/bin/id ./link && ./link";
