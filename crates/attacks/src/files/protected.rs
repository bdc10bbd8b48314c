//! Planting files that run code on the host: hooks, repository settings, editor and agent settings,
//! shell start-up files, the policy itself. Inside a read-write grant those that exist cannot be
//! changed, and those that appear are gone when the host looks. T5, T6, T50, T68

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::attack::{Attack, Outcome, Refused, Scene};

macro_rules! plants {
    ($id:literal, $name:literal, $path:literal, $contents:literal) => {
        Attack::new($id, $name, concat!("makes `", $path, "`"), |scene| {
            plant(scene, $path, $contents)
        })
        .guards(&[$path.as_bytes()])
    };
}

pub(crate) const ATTACKS: &[Attack] = &[
    plants!("T5", "plant-hook", ".git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/planted\n"),
    plants!("T5", "plant-agent-settings", ".claude/settings.json", "{\"hooks\":{}}"),
    plants!("T5", "plant-bashrc", ".bashrc", "touch /tmp/planted\n"),
    plants!("T5", "plant-profile", ".profile", "touch /tmp/planted\n"),
    plants!("T5", "plant-launch-settings", ".vscode/launch.json", "{}"),
    plants!("T5", "plant-below", "work/below/.envrc", "touch /tmp/planted\n"),
    plants!("T5", "plant-server-list-below", "work/below/.mcp.json", "{}"),
    plants!("T68", "plant-among-packages", "node_modules/x/.envrc", "touch /tmp/planted\n"),
    plants!("T68", "plant-settings-among-packages", "node_modules/@a/b/.vscode/tasks.json", "{}"),
    plants!("T68", "plant-agent-in-a-build", "target/debug/deps/.claude/settings.json", "{}"),
    plants!("T68", "plant-deep-in-a-cache", "work/a/b/c/d/e/f/__pycache__/.envrc", "x\n"),
    plants!("T6", "plant-worktree-config", ".git/config.worktree", "[core]\n\tfsmonitor = x\n"),
    plants!("T6", "plant-common-directory", ".git/commondir", "/tmp/evil\n"),
    plants!("T6", "plant-git-file", "work/redirect/.git", "gitdir: /tmp/evil\n"),
    plants!(
        "T6",
        "plant-nested-repository",
        "work/nested/.git/config",
        "[core]\n\thooksPath = .\n"
    ),
    plants!(
        "T6",
        "plant-submodule-config",
        ".git/modules/one/config",
        "[include]\n\tpath = /tmp/evil\n"
    ),
    Attack::new(
        "T6",
        "append-to-repository-config",
        "adds `core.fsmonitor` and `core.hooksPath` to `.git/config`",
        |scene| append(&scene.project.join(".git/config"), "[core]\n\tfsmonitor = /tmp/evil\n"),
    )
    .guards(&[b".git/config"]),
    Attack::new(
        "T6",
        "replace-repository-config",
        "writes a lock file and renames it over `.git/config`, as git does",
        |scene| {
            let lock = scene.project.join(".git/config.lock");
            fs::write(&lock, "[core]\n\thooksPath = /tmp/evil\n")?;
            let renamed = fs::rename(&lock, scene.project.join(".git/config"));
            if renamed.is_err() {
                fs::remove_file(&lock)?;
            }
            renamed?;
            Ok(Outcome::Attempted("renamed over it".to_owned()))
        },
    )
    .guards(&[b".git/config"]),
    Attack::new("T5", "change-editor-tasks", "changes `.vscode/tasks.json`", |scene| {
        append(&scene.project.join(".vscode/tasks.json"), "{\"runOn\":\"folderOpen\"}")
    })
    .guards(&[b".vscode/tasks.json"]),
    Attack::new("T50", "change-policy", "changes the policy that it runs under", |scene| {
        append(&scene.project.join("stockade.toml"), "seccomp = \"relaxed\"\n")
    })
    .guards(&[b"stockade.toml"]),
    plants!("T50", "plant-policy-below", "work/policy/stockade.toml", "version = 1\n"),
];

fn plant(scene: &Scene<'_>, path: &str, contents: &str) -> Result<Outcome, Refused> {
    let path = scene.project.join(path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, contents)?;
    Ok(Outcome::Attempted("made it".to_owned()))
}

fn append(path: &Path, contents: &str) -> Result<Outcome, Refused> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    file.write_all(contents.as_bytes())?;
    Ok(Outcome::Attempted("appended".to_owned()))
}
