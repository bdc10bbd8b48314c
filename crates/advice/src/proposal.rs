//! From what a program was seen to use to the least that a policy has to give it: paths joined as far as one tool or
//! one directory goes, never a home, a tree of the system or a secret. Looks at the host for what is a directory,
//! and decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;

use cage::prepare::Selection;
use jail::{Observation, Observed};
use plan::render::for_shell;
use plan::{ByteString, HostPath};
use policy::shown::shown;
use policy::{FsAccess, RuleOrigin, protected, secrets, ungrantable};
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// How a file of this command begins.
pub const MARK: &str = "# Written by `stockade learn`";

/// The result of the run, as far as it is of use here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Noted {
    /// The program's, or that of the failure.
    pub exit_code: u8,
    /// In one word.
    pub reason: String,
    /// The session that keeps what was changed.
    pub session: Option<String>,
    /// Why nothing ran.
    pub error: Option<RunError>,
    used: Vec<Observed>,
    paths: Vec<Problem>,
    network: Option<Network>,
}

/// The message of a run that did not happen.
#[derive(Debug, Deserialize)]
pub struct RunError {
    /// What failed.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub help: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    problem: String,
    path: String,
    flag: Option<String>,
    secret: Option<String>,
    because: String,
}

#[derive(Debug, Deserialize)]
struct Network {
    denials: Vec<Denied>,
}

#[derive(Debug, Deserialize)]
struct Denied {
    target: String,
    port: Option<u16>,
}

/// What a policy would have to give.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Of the project, relative to it, with how many paths were used of each.
    project: BTreeMap<String, (FsAccess, usize)>,
    /// Elsewhere.
    elsewhere: BTreeMap<HostPath, (FsAccess, usize)>,
    hosts: BTreeSet<String>,
    /// Secrets that it looked for, which are not proposed.
    secrets: BTreeSet<String>,
    /// What it could not write and went on without.
    unwritten: Vec<String>,
    needs_path: bool,
    read: usize,
    changed: usize,
}

/// Paths below one directory that may be granted as a whole.
#[derive(Debug, Default)]
struct Used {
    paths: BTreeSet<HostPath>,
    is_changed: bool,
}

impl Proposal {
    /// From what was noted to what a policy would have to give.
    pub fn of(
        noted: &Noted,
        selection: &Selection,
        is_directory: &dyn Fn(&HostPath) -> bool,
    ) -> Self {
        let place = &selection.place;
        let homes: Vec<&HostPath> = place.home.iter().collect();
        let mut proposal = Self::default();
        let (mut read, mut changed) = (BTreeSet::new(), BTreeSet::new());
        let mut elsewhere: BTreeMap<HostPath, Used> = BTreeMap::new();
        for Observed { what, path, .. } in &noted.used {
            let Ok(path) = HostPath::new(path.as_bytes().to_vec()) else { continue };
            let is_change = *what == Observation::Written;
            let in_project = path.is_within(&place.project);
            if is_change {
                proposal.changed += 1;
            } else {
                proposal.read += 1;
            }
            if in_project {
                match is_change {
                    // In a copy that may be written; where it is the host's it never is.
                    true if runs_code(&path, &place.project) => {
                        proposal.unwritten.push(path.to_string());
                    }
                    true => drop(changed.insert(path)),
                    false => drop(read.insert(path)),
                }
                continue;
            }
            if let Some(secret) = secrets::holding(&homes, &path).first() {
                proposal.secrets.insert(format!("`{}` ({})", shown(&path), secret.name));
                continue;
            }
            // That a directory is there needs no more than something below it.
            if *what == Observation::Listed {
                continue;
            }
            proposal.needs_path |= *what == Observation::Executed;
            let used = elsewhere.entry(cage::broadest_grant(&path, place)).or_default();
            used.is_changed |= is_change;
            used.paths.insert(path);
        }
        proposal.take_problems(noted, selection, &mut changed, &mut elsewhere);
        proposal.join_project(selection, &read, &changed, is_directory);
        proposal.join_elsewhere(elsewhere, place.home.as_ref());
        let denials = noted.network.iter().flat_map(|network| &network.denials);
        proposal.hosts = denials.map(host).collect();
        proposal
    }

    fn take_problems(
        &mut self,
        noted: &Noted,
        selection: &Selection,
        changed: &mut BTreeSet<HostPath>,
        elsewhere: &mut BTreeMap<HostPath, Used>,
    ) {
        let place = &selection.place;
        for problem in &noted.paths {
            let Ok(path) = HostPath::new(problem.path.as_bytes().to_vec()) else { continue };
            if let Some(secret) = &problem.secret {
                self.secrets.insert(format!("`{}` ({secret})", shown(&path)));
                continue;
            }
            match problem.problem.as_str() {
                // What runs code on the host is proposed to nobody.
                "unwritable" if problem.because.contains("runs code on the host") => {
                    self.unwritten.push(problem.path.clone());
                }
                "unwritable" if path.is_within(&place.project) => {
                    changed.insert(path);
                }
                "unwritable" => self.unwritten.push(problem.path.clone()),
                // Libraries look for much in `/etc` that nobody needs.
                "missing" if problem.flag.is_some() && !path.as_bytes().starts_with(b"/etc/") => {
                    let used = elsewhere.entry(cage::broadest_grant(&path, place)).or_default();
                    used.paths.insert(path);
                }
                _ => {}
            }
        }
    }

    /// Reading is given for the project as a whole, writing for what was written where that is a directory.
    fn join_project(
        &mut self,
        selection: &Selection,
        read: &BTreeSet<HostPath>,
        changed: &BTreeSet<HostPath>,
        is_directory: &dyn Fn(&HostPath) -> bool,
    ) {
        let root = &selection.place.project;
        let mut rules: BTreeMap<String, (FsAccess, usize)> = BTreeMap::new();
        // What an earlier run of this command found stays.
        for rule in &selection.policy.fs {
            let is_of_file = matches!(rule.origin, RuleOrigin::File { .. });
            if let (true, Some(name)) = (is_of_file, below(&rule.path, root)) {
                rules.insert(name, (rule.access, 0));
            }
        }
        let mut tops: BTreeMap<HostPath, usize> = BTreeMap::new();
        for path in changed {
            let above = path.ancestors_from_root().into_iter().chain([path.clone()]);
            let top = above.into_iter().find(|above| above.depth() == root.depth() + 1);
            *tops.entry(top.unwrap_or_else(|| root.clone())).or_default() += 1;
        }
        let in_directories = tops.keys().all(|top| top != root && is_directory(top));
        if in_directories && tops.len() <= MOST_DIRECTORIES {
            let used = read.len();
            if used > 0 || !tops.is_empty() {
                let rule = rules.entry(".".to_owned()).or_insert((FsAccess::ReadOnly, 0));
                rule.1 = used;
            }
            for (top, used) in tops {
                if let Some(name) = below(&top, root) {
                    rules.insert(name, (FsAccess::ReadWrite, used));
                }
            }
        } else {
            rules.insert(".".to_owned(), (FsAccess::ReadWrite, changed.len()));
        }
        // What the project's own rule gives needs no other.
        if rules.get(".").is_some_and(|(access, _)| *access == FsAccess::ReadWrite) {
            rules.retain(|name, (access, _)| name == "." || *access != FsAccess::ReadWrite);
        }
        self.project = rules;
    }

    fn join_elsewhere(&mut self, used: BTreeMap<HostPath, Used>, home: Option<&HostPath>) {
        let homes: Vec<HostPath> = home.into_iter().cloned().collect();
        for Used { paths, is_changed } in used.into_values() {
            let access = if is_changed { FsAccess::ReadWrite } else { FsAccess::ReadOnly };
            let common = common(&paths);
            let too_broad = paths.len() > 1 && ungrantable::is_home_or_system_tree(&common, &homes);
            if too_broad {
                for path in paths.into_iter().take(MOST_FILES) {
                    self.elsewhere.insert(path, (access, 1));
                }
            } else {
                self.elsewhere.insert(common, (access, paths.len()));
            }
        }
    }

    /// The file that says what a project's file can say.
    pub fn file(&self, command: &str) -> String {
        let mut text = format!("{MARK} -- {}\nversion = 1\n\n[cage.default]\n", shown(command));
        // Without a path there is no list: an empty one would read like a grant.
        if !self.project.is_empty() {
            text.push_str("fs = [\n");
        }
        for (path, (access, used)) in &self.project {
            let path = path.replace('\\', "\\\\").replace('"', "\\\"");
            let count = if *used > 0 { format!(" # {used} paths") } else { String::new() };
            text.push_str(&format!("    {{ {} = \"{}\" }},{count}\n", access.word(), shown(path)));
        }
        if !self.project.is_empty() {
            text.push_str("]\n");
        }
        if !self.hosts.is_empty() {
            let hosts: Vec<String> =
                self.hosts.iter().map(|host| format!("\"{}\"", shown(host))).collect();
            text.push_str(&format!("net.allow = [{}]\n", hosts.join(", ")));
        }
        text
    }

    /// The flags for what a project's file cannot name.
    pub fn flags(&self) -> Vec<String> {
        let grant = |(path, (access, _)): (&HostPath, &(FsAccess, usize))| {
            let word = for_shell(&ByteString::from(path.as_bytes()));
            format!("--{} {word}", access.word())
        };
        let grants = self.elsewhere.iter().map(grant);
        let path = self.needs_path.then(|| "--env PATH".to_owned());
        grants.chain(path).collect()
    }

    /// Whether the user has to approve the file.
    pub fn needs_approval(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// What was seen, beside what is proposed.
    pub fn observed(&self) -> String {
        let granted = self.project.len() + self.elsewhere.len();
        format!(
            "{} paths were read and {} changed; {granted} grants are proposed",
            self.read, self.changed
        )
    }

    /// What is not proposed.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.secrets.is_empty() {
            let secrets: Vec<&str> =
                self.secrets.iter().map(String::as_str).take(MOST_FILES).collect();
            remarks.push(format!(
                "not proposed, because they are secrets: {}; whoever needs one names it with `--ro`",
                secrets.join(", ")
            ));
        }
        if let Some(first) = self.unwritten.first() {
            let more = match self.unwritten.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            remarks.push(format!("not proposed for writing: `{}`{more}", shown(first)));
        }
        remarks
    }
}

/// Whether a file of the project runs code on the host.
fn runs_code(path: &HostPath, project: &HostPath) -> bool {
    let relative = path.as_path().strip_prefix(project.as_path());
    let entry = relative.ok().and_then(|relative| {
        protected::matches(relative.as_os_str().as_bytes(), protected::Object::File)
    });
    entry.is_some()
}

/// A name that stands in `net.allow`.
fn host(denied: &Denied) -> String {
    match denied.port {
        Some(port) if port > 0 && denied.target.contains(':') => {
            format!("[{}]:{port}", denied.target)
        }
        Some(port) if port > 0 => format!("{}:{port}", denied.target),
        _ => denied.target.clone(),
    }
}

fn below(path: &HostPath, root: &HostPath) -> Option<String> {
    let rest = path.as_path().strip_prefix(root.as_path()).ok()?.to_str()?;
    Some(if rest.is_empty() { ".".to_owned() } else { rest.to_owned() })
}

/// The directory that holds all of the paths, or the only one.
fn common(paths: &BTreeSet<HostPath>) -> HostPath {
    let mut paths = paths.iter();
    let Some(first) = paths.next() else { return HostPath::root() };
    paths.fold(first.clone(), |common, path| {
        let above = std::iter::successors(Some(common), HostPath::parent);
        above.into_iter().find(|above| path.is_within(above)).unwrap_or_else(HostPath::root)
    })
}

const MOST_DIRECTORIES: usize = 8;
const MOST_FILES: usize = 16;
