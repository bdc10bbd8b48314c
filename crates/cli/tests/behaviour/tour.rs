//! `docs/tour.md`: each command of it is run, in its order, and prints what the page says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::support::{Place, has_all, is_root, skip, stockade_binary};

/// A command of the page with the lines below it.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

#[test]
fn the_tour_can_be_walked() {
    if !is_root() {
        return skip("the tool chain may be root's own");
    }
    if !has_all(&["bash", "curl", "node"]) {
        return;
    }
    let place = Place::new();
    let bin = place.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(stockade_binary(), bin.join("stockade")).unwrap();
    let page = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../docs/tour.md");
    let mut directory = place.home.clone();
    for step in steps(&std::fs::read_to_string(page).unwrap()) {
        let printed = walk(&place, &bin, &mut directory, &step.command);
        let mut lines = printed.lines();
        for expected in &step.expected {
            let found = lines.any(|line| is_as_written(line.trim(), expected.trim()));
            let Step { line, command, .. } = &step;
            assert!(found, "docs/tour.md:{line}: `{command}` lacks {expected:?}:\n{printed}");
        }
    }
}

/// The commands of the page: a line that begins with `$ `, and what it prints until the next one.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, text) in page.lines().enumerate() {
        if text.starts_with("```") {
            inside = text == "```console";
        } else if let Some(command) = text.strip_prefix("$ ").filter(|_| inside) {
            let (line, command) = (number + 1, command.to_owned());
            steps.push(Step { line, command, expected: Vec::new() });
        } else if let Some(step) = steps.last_mut().filter(|_| inside && text != "…") {
            step.expected.push(text.trim_end().to_owned());
        }
    }
    assert!(steps.len() > 10, "the page has no commands");
    steps
}

/// Runs one of them where the one before it ended. Standard output and error come together, as at a terminal.
fn walk(place: &Place, bin: &Path, directory: &mut PathBuf, command: &str) -> String {
    let tools = std::env::var_os("CARGO").map(PathBuf::from);
    let tools = tools.and_then(|cargo| cargo.parent().map(Path::to_owned)).unwrap_or_default();
    let end = place.outside().join("directory");
    let script = format!("exec 2>&1; {command}\npwd > '{}'", end.display());
    let environment = place.stockade();
    let mut bash = Command::new("bash");
    bash.env_clear().envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.env("PATH", format!("{}:{}:/usr/bin:/bin", bin.display(), tools.display()));
    bash.current_dir(&directory).stdin(Stdio::null()).args(["-c", &script]);
    let output = bash.output().unwrap();
    *directory = std::fs::read_to_string(&end).unwrap().trim_end().into();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A line with `…` for what differs from machine to machine.
fn is_as_written(line: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
