//! Names that run code on the host and that a rule of the user's own makes writable, such as the settings of an
//! agent: what of them differs after the run. Nothing is renamed or put back: the user said that it may be
//! written.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use plan::HostPath;
use policy::protected::{self, Object};
use policy::shown::shortened;

/// What lay there before the run.
#[derive(Debug)]
pub(crate) struct Settings {
    /// With who obeys it.
    lifted: Vec<(HostPath, &'static str)>,
    files: BTreeMap<PathBuf, Seen>,
}

/// What changes when a file does.
type Seen = (u64, u64, i64, i64);

impl Settings {
    /// Looks at what the rules name.
    pub(crate) fn of(writable_by_name: &[HostPath], home: Option<&HostPath>) -> Self {
        let lifted = writable_by_name.iter().filter_map(|path| {
            let entry = protected::holding(home, path, Object::Any)?;
            Some((path.clone(), entry.runs_by))
        });
        let lifted: Vec<_> = lifted.collect();
        let files = lifted.iter().flat_map(|(path, _)| files(path)).collect();
        Self { lifted, files }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lifted.is_empty()
    }

    /// One sentence for each rule below which something differs.
    pub(crate) fn changed(&self) -> Vec<String> {
        self.lifted.iter().filter_map(|(path, runs_by)| self.changed_in(path, runs_by)).collect()
    }

    fn changed_in(&self, path: &HostPath, runs_by: &str) -> Option<String> {
        let now: BTreeMap<PathBuf, Seen> = files(path).into_iter().collect();
        let mut changed = now.iter().filter(|(file, seen)| self.files.get(*file) != Some(seen));
        let (first, _) = changed.next()?;
        let more = match changed.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (first, path) = (shortened(first.display()), shortened(path));
        Some(format!(
            "`{first}`{more} changed during the run, as the rule for `{path}` allows; it is obeyed outside \
             of cages by {runs_by}"
        ))
    }
}

/// Files that steer something, and no histories. Bounded: a program may have made any number.
fn files(path: &HostPath) -> Vec<(PathBuf, Seen)> {
    let mut found = Vec::new();
    let mut waiting = vec![(path.as_path().to_owned(), 0)];
    while let Some((place, depth)) = waiting.pop() {
        let Ok(metadata) = place.symlink_metadata() else { continue };
        if metadata.is_dir() && depth < DEEPEST {
            let Ok(entries) = std::fs::read_dir(&place) else { continue };
            let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
            waiting.extend(entries.filter(|at| !is_history(at)).map(|at| (at, depth + 1)));
        } else if !metadata.is_dir() && (depth == 0 || steers(&place)) {
            let seen = (metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec());
            found.push((place, seen));
        }
        if found.len() >= MOST_FILES || waiting.len() >= MOST_FILES {
            break;
        }
    }
    found
}

fn is_history(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    HISTORIES.contains(&name) || name.starts_with("history")
}

fn steers(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_none_or(|extension| STEERING.contains(&extension))
}

const DEEPEST: u32 = 4;
const MOST_FILES: usize = 2000;

/// What agents write all the time.
const HISTORIES: &[&str] = &[
    "cache",
    "file-history",
    "log",
    "logs",
    "projects",
    "sessions",
    "shell-snapshots",
    "statsig",
    "tmp",
    "todos",
];
const STEERING: &[&str] = &[
    "conf", "config", "js", "json", "jsonc", "md", "mjs", "py", "rules", "sh", "toml", "ts",
    "yaml", "yml",
];
