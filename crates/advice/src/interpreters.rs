//! Interpreters that the program would find under another file than its caller does, because the cage has a `PATH` of
//! its own and not all that the caller's names. Only words; looks at the host and decides nothing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cage::prepare::{Prepared, Selection};
use plan::Plan;
use policy::shown::shortened;

use crate::hints::{grants_for, is_visible};

#[cfg(test)]
mod tests;

/// What there is to know before a program runs.
pub fn notes(selection: &Selection, prepared: &Prepared) -> Vec<String> {
    let environment = &selection.surroundings.environment;
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let Some(path) = path else { return Vec::new() };
    let of_caller = directories(path.as_bytes());
    let plan = &prepared.plan;
    let named = plan.start.argv.iter().map(|word| word.as_bytes());
    let wanted = interpreters(named);
    wanted.into_iter().filter_map(|name| note(name, &of_caller, plan)).collect()
}

fn note(name: &str, of_caller: &[PathBuf], plan: &Plan) -> Option<String> {
    let outside = first(name, of_caller, &|_| true)?;
    let inside = first(name, &of_cage(plan), &|path| is_visible(plan, path));
    let same = |inside: &PathBuf| {
        std::fs::canonicalize(inside).ok() == std::fs::canonicalize(&outside).ok()
    };
    if inside.as_ref().is_some_and(same) {
        return None;
    }
    let found = match &inside {
        Some(inside) => format!("is `{}` in the cage", shortened(inside.display())),
        None => "is not in the cage".to_owned(),
    };
    let shows = grants_for(&outside).join(" ");
    Some(format!(
        "`{name}` {found} and `{}` here; `{shows} --env PATH` has the cage use that too",
        shortened(outside.display())
    ))
}

/// The interpreters that a command line names, itself or by a tool of theirs, in any of its words: what a shell is
/// given to run counts too.
fn interpreters<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for word in words {
        // A path names the very file that it means.
        let names = word.split(|byte| !is_of_name(*byte)).filter(|name| !name.contains(&b'/'));
        for name in names {
            let tool = TOOLS.iter().find(|(tool, _)| tool.as_bytes() == name);
            found.extend(tool.map(|(_, interpreter)| *interpreter));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte)
}

fn of_cage(plan: &Plan) -> Vec<PathBuf> {
    let path = plan.walls.environment.iter().find(|variable| variable.name.as_bytes() == b"PATH");
    path.map(|path| directories(path.value.as_bytes())).unwrap_or_default()
}

fn directories(path: &[u8]) -> Vec<PathBuf> {
    let path = OsString::from(OsStr::from_bytes(path));
    std::env::split_paths(&path).filter(|directory| directory.is_absolute()).collect()
}

fn first(name: &str, directories: &[PathBuf], counts: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let metadata = std::fs::metadata(path);
        metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let places = directories.iter().map(|directory| directory.join(name));
    places.filter(is_program).find(|path| counts(path))
}

/// Commands, and what runs them.
const TOOLS: &[(&str, &str)] = &[
    ("cargo", "cargo"),
    ("go", "go"),
    ("java", "java"),
    ("node", "node"),
    ("npm", "node"),
    ("npx", "node"),
    ("pip", "python3"),
    ("pip3", "python3"),
    ("pnpm", "node"),
    ("pytest", "python3"),
    ("python", "python"),
    ("python3", "python3"),
    ("ruby", "ruby"),
    ("rustc", "rustc"),
    ("yarn", "node"),
];
