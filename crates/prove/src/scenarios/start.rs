//! Steering the supervisor itself: by a project's policy, by variables, by programs with the names
//! of its helpers; changing its settings while a cage runs; and starting it where a layer is missing.
//! T50, T55, T56

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use attacks::{Arena, Rule};
use attacks::{Outcome, Refused};

use crate::scenario::{Scenario, ScenarioScene, finish, until, wait_for};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new(
        "T50",
        "policy-grants-absolute-path",
        "a project's policy grants a path outside",
        |scene| {
            let secret = scene.arena().outside.clone();
            let text = format!("fs = [{{ rw = \".\" }}, {{ ro = \"{}\" }}]", secret.display());
            with_policy(scene, &text)
        },
    ),
    Scenario::new(
        "T50",
        "policy-grants-parent",
        "a project's policy grants `../../outside`",
        |scene| with_policy(scene, "fs = [{ rw = \".\" }, { ro = \"../../outside\" }]"),
    ),
    Scenario::new(
        "T50",
        "policy-grants-link",
        "a project's policy grants a link that leads out",
        |scene| with_policy(scene, "fs = [{ rw = \".\" }, { ro = \"out\" }]"),
    ),
    Scenario::new("T50", "policy-asks-for-home", "a project's policy grants `~/.ssh`", |scene| {
        with_policy(scene, "fs = [{ rw = \".\" }, { ro = \"~/\" }]")
    }),
    Scenario::new(
        "T50",
        "helper-on-path",
        "puts programs with helpers' names first on PATH",
        helper_on_path,
    ),
    Scenario::new("T50", "preload", "preloads a library into whatever starts", preload),
    Scenario::new(
        "T55",
        "settings-changed-while-running",
        "reads what a policy grants that was written during the run",
        settings_changed,
    ),
    Scenario::new("T56", "no-namespaces-left", "starts where no namespace can be made", |scene| {
        let target = scene.target();
        let mut request = scene.script("printf ran-open > \"$1\"", &[&target]);
        request.rules.clear();
        request.rules.push(Rule { access: attacks::Access::ReadWrite, path: target });
        let inner = scene.command(&request);
        let mut outer = Command::new(Arena::attacker(&scene.arena().project));
        outer.args(["__attack", "no-namespaces"]).arg(inner.get_program()).args(inner.get_args());
        scene.host.dress(&mut outer);
        let finished = finish(outer)?;
        Ok(scene.judge(&finished))
    }),
    Scenario::new(
        "T56",
        "call-missing",
        "starts where one of the system calls that build a cage does not exist",
        without_calls,
    ),
];

/// Whichever call is missing, a cage is whole or is not there.
fn without_calls(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let attacker = Arena::attacker(&scene.arena().project);
    let secret = scene.arena().secret();
    let request = scene.request([
        attacker.as_os_str(),
        "__attack".as_ref(),
        "layers".as_ref(),
        secret.as_os_str(),
    ]);
    let (mut refused, mut closed) = (0, 0);
    for (name, number) in BUILDING_CALLS {
        let inner = scene.command(&request);
        let mut outer = Command::new(&attacker);
        outer.args(["__attack", "without-call", &number.to_string()]);
        outer.arg(inner.get_program()).args(inner.get_args());
        scene.host.dress(&mut outer);
        let finished = finish(outer)?;
        if let Some(why) = finished.stdout.lines().find(|line| line.starts_with("open")) {
            return Ok(Outcome::Succeeded(format!("without {name}: {why}")));
        }
        match finished.stdout.trim() {
            "closed" => closed += 1,
            _ => refused += 1,
        }
    }
    Ok(Outcome::Failed(format!("{refused} refused to start, {closed} were whole")))
}

/// A second project beside the first, with the policy under test; the program reads the secret by
/// its own path and by each path that the policy could show it under.
fn with_policy(scene: &mut ScenarioScene<'_>, fs_line: &str) -> Result<Outcome, Refused> {
    let project = scene.arena().home.join(scene.name);
    fs::create_dir_all(&project)?;
    let text = format!("version = 1\n[cage.default]\n{fs_line}\n");
    fs::write(project.join("stockade.toml"), text)?;
    std::os::unix::fs::symlink(&scene.arena().outside, project.join("out"))?;
    let secret = scene.arena().secret();
    let key = scene.arena().home.join(".ssh/id_ed25519");
    let script = "cat \"$1\" out/secret \"$2\" 2>/dev/null";
    let mut request = scene.script(script, &[&secret, &key]);
    request.project = project.clone();
    request.rules.clear();
    let mut command = scene.command(&request);
    command.current_dir(project);
    let finished = finish(command)?;
    Ok(scene.judge(&finished))
}

/// The project's own policy and the user's configuration grant the outside, once the program runs.
fn settings_changed(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.workplace()?;
    let [ready, changed] = ["ready", "changed"].map(|name| place.join(name));
    let secret = scene.arena().secret();
    let script = "echo x > \"$1\"; until [ -e \"$2\" ]; do sleep 0.02; done; cat \"$3\"";
    let mut command = scene.command(&scene.script(script, &[&ready, &changed, &secret]));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let is_running = until(|| ready.exists());
    let outside = scene.arena().outside.display();
    let text = format!("version = 1\n[cage.default]\nfs = [{{ rw = \"{outside}\" }}]\n");
    scene.host.configure(&text).map_err(|error| Refused(error.to_string()))?;
    fs::write(scene.arena().project.join("stockade.toml"), text)?;
    fs::write(&changed, "")?;
    let finished = wait_for(child)?;
    match is_running {
        true => Ok(scene.judge(&finished)),
        false => Ok(Outcome::Broken(finished.in_short())),
    }
}

fn helper_on_path(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let place = scene.arena().home.join(scene.name);
    fs::create_dir_all(&place)?;
    let target = scene.target();
    let script = format!("#!/bin/sh\nprintf ran > '{}'\n", target.display());
    for helper in HELPERS {
        let path = place.join(helper);
        fs::write(&path, &script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let mut paths = vec![place];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = std::env::join_paths(paths).map_err(|error| Refused(error.to_string()))?;
    // The program itself is found on the PATH too, as the shell would: inside a cage that is the
    // cage's own.
    let request = scene.request(["/bin/sh", "-c", "newuidmap; git --version; exit 0"]);
    let mut command = scene.command(&request);
    command.env("PATH", path);
    let finished = finish(command)?;
    Ok(scene.judge(&finished))
}

/// The loader complains of a library that it cannot find: where the name turns up, a loader obeyed
/// the variable.
fn preload(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    let library = PathBuf::from("/nonexistent/stockade-preloaded.so");
    let request = scene.request(["/bin/true"]);
    let mut command = scene.command(&request);
    command.env("LD_PRELOAD", &library);
    let finished = finish(command)?;
    match finished.stderr.contains("stockade-preloaded") {
        true => Ok(Outcome::Succeeded("a loader looked for the library".to_owned())),
        false => Ok(Outcome::Failed(finished.in_short())),
    }
}

const BUILDING_CALLS: &[(&str, i64)] = &[
    ("seccomp", libc::SYS_seccomp),
    ("prctl", libc::SYS_prctl),
    ("capset", libc::SYS_capset),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("open_tree", libc::SYS_open_tree),
    ("move_mount", libc::SYS_move_mount),
    ("fsopen", libc::SYS_fsopen),
    ("fsmount", libc::SYS_fsmount),
    ("mount", libc::SYS_mount),
    ("umount2", libc::SYS_umount2),
    ("pivot_root", libc::SYS_pivot_root),
    ("openat2", libc::SYS_openat2),
    ("clone3", libc::SYS_clone3),
    ("close_range", libc::SYS_close_range),
    ("landlock_create_ruleset", libc::SYS_landlock_create_ruleset),
    ("setsid", libc::SYS_setsid),
    ("sethostname", libc::SYS_sethostname),
    ("setresuid", libc::SYS_setresuid),
    ("setresgid", libc::SYS_setresgid),
    ("setgroups", libc::SYS_setgroups),
    ("pidfd_open", libc::SYS_pidfd_open),
];

const HELPERS: &[&str] = &[
    "bwrap",
    "newuidmap",
    "newgidmap",
    "ip",
    "nft",
    "iptables",
    "git",
    "mount",
    "umount",
    "unshare",
    "systemd-run",
    "fusermount",
    "fusermount3",
    "stockade",
    "ldd",
    "getent",
];
