//! What pid 1 noted of a program's calls, put beside the policy and the host: what was missing or could not be
//! written, which rule says so, and which flag would change it. Only what a person reads depends on it.

mod joining;

use jail::{Observation, Observed};
use plan::render::for_shell;
use plan::{ByteString, HostPath};
use policy::shown::shown;
use policy::{secrets, ungrantable};
use prepare::Grounds;
use prepare::explain::{self, PathVerdict};

use joining::Group;
pub use joining::broadest_grant;

#[cfg(test)]
mod tests;

/// What was noted of a program's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// What the program did not get, most frequent first.
    pub denials: Vec<PathDenial>,
    /// What it used of its grants, where that was to be noted.
    pub used: Vec<Observed>,
    /// How many calls were about something else, because there was too much to note.
    pub unlisted: u64,
}

/// A path that a program did not get, or several that one rule would give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathDenial {
    /// The path, or the directory that all of them are in.
    pub path: HostPath,
    /// One of them, where there are several.
    pub example: HostPath,
    /// How many.
    pub paths: usize,
    /// How many calls were about them.
    pub count: u64,
    /// What came of the calls.
    pub problem: PathProblem,
    /// Why, as a clause.
    pub because: String,
    /// The well-known secret that it is.
    pub secret: Option<&'static str>,
    /// The flag that would give it; none where none can.
    pub flag: Option<String>,
}

/// What came of calls about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathProblem {
    /// It could not be written.
    Unwritable,
    /// The host has it, and the cage does not.
    Missing,
    /// It showed as empty.
    Hidden,
    /// It was written in the cage's own memory, and is gone.
    Vanished,
    /// A memory file system had no room left at the end.
    Full,
}

impl PathProblem {
    /// The word for a program to compare.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unwritable => "unwritable",
            Self::Missing => "missing",
            Self::Hidden => "hidden",
            Self::Vanished => "vanished",
            Self::Full => "full",
        }
    }

    /// What a person would miss most comes first.
    fn rank(self) -> u8 {
        match self {
            Self::Vanished | Self::Full => 0,
            Self::Unwritable | Self::Hidden => 1,
            Self::Missing => 2,
        }
    }

    fn of(what: Observation) -> Option<Self> {
        match what {
            Observation::Unwritable => Some(Self::Unwritable),
            Observation::Missing => Some(Self::Missing),
            Observation::Hidden => Some(Self::Hidden),
            Observation::Vanished => Some(Self::Vanished),
            Observation::Full => Some(Self::Full),
            Observation::Read | Observation::Executed | Observation::Listed => None,
            Observation::Written => None,
        }
    }
}

/// What pid 1 has told. It lives in the cage: what it says is bounded here as well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted {
    observed: Vec<Observed>,
    unlisted: u64,
}

impl Noted {
    pub(crate) fn take(&mut self, observed: Vec<Observed>, unlisted: u64) {
        let room = MOST_NOTED.saturating_sub(self.observed.len());
        let beyond = u64::try_from(observed.len().saturating_sub(room)).unwrap_or(u64::MAX);
        self.unlisted = self.unlisted.saturating_add(unlisted).saturating_add(beyond);
        self.observed.extend(observed.into_iter().take(room));
    }
}

impl Observations {
    /// What was noted, as the policy explains it.
    pub(crate) fn of(noted: Noted, grounds: Option<&Grounds>) -> Self {
        let Noted { observed, unlisted } = noted;
        let exists = |path: &HostPath| path.as_path().symlink_metadata().is_ok();
        let is_problem = |one: &Observed| PathProblem::of(one.what).is_some();
        let (problems, used): (Vec<_>, Vec<_>) = observed.into_iter().partition(is_problem);
        let denials = denials(problems, grounds, &exists);
        Self { denials, used, unlisted }
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.denials.is_empty() && self.used.is_empty() && self.unlisted == 0
    }
}

fn denials(
    problems: Vec<Observed>,
    grounds: Option<&Grounds>,
    exists: &dyn Fn(&HostPath) -> bool,
) -> Vec<PathDenial> {
    let mut groups: Vec<Group> = Vec::new();
    for Observed { what, path, count } in problems {
        let Some(problem) = PathProblem::of(what) else { continue };
        let Ok(path) = HostPath::new(path.as_bytes().to_vec()) else { continue };
        // Programs look for much that is nowhere.
        if problem == PathProblem::Missing && !exists(&path) {
            continue;
        }
        // Of the cage's own memory no rule says anything.
        let of_memory = matches!(problem, PathProblem::Vanished | PathProblem::Full);
        let (ground, root) = match grounds.filter(|_| !of_memory) {
            Some(grounds) => {
                let ground = Ground::of(&path, grounds);
                let root = joining::root(&path, grounds, ground.secret.is_some());
                (ground, root)
            }
            None if of_memory => (Ground::default(), path.parent().unwrap_or_else(HostPath::root)),
            None => continue,
        };
        let same = |group: &&mut Group| {
            (group.problem, &group.root, &group.ground) == (problem, &root, &ground)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.add(path, count),
            None => groups.push(Group::new(problem, root, ground, path, count)),
        }
    }
    let mut denials: Vec<PathDenial> =
        groups.into_iter().map(|group| denial(group, grounds, exists)).collect();
    // Much that a library looks for in `/etc` is nothing that a program needs.
    let is_data = |path: &HostPath| path.as_bytes().starts_with(b"/etc/");
    let rank = |denial: &PathDenial| (is_data(&denial.path), denial.problem.rank());
    denials.sort_by_key(|denial| (rank(denial), std::cmp::Reverse(denial.count)));
    denials
}

fn denial(
    group: Group,
    grounds: Option<&Grounds>,
    exists: &dyn Fn(&HostPath) -> bool,
) -> PathDenial {
    let Group { problem, ground, paths, common, count, first, .. } = group;
    let flag = grounds.and_then(|grounds| match problem {
        PathProblem::Missing | PathProblem::Hidden => flag("--ro", &common, grounds),
        PathProblem::Unwritable if ground.can_be_changed => {
            let above = std::iter::successors(Some(common.clone()), HostPath::parent);
            let there = above.into_iter().find(|path| exists(path));
            there.and_then(|path| flag("--rw", &path, grounds))
        }
        PathProblem::Unwritable | PathProblem::Vanished | PathProblem::Full => None,
    });
    let Ground { because, secret, .. } = ground;
    PathDenial { path: common, example: first, paths, count, problem, because, secret, flag }
}

/// None for what nobody should grant, and for what cannot be printed so that it can be copied.
fn flag(word: &str, path: &HostPath, grounds: &Grounds) -> Option<String> {
    let homes: Vec<HostPath> = grounds.place.home.iter().cloned().collect();
    let is_granted = explain::path(&grounds.policy, &grounds.place, path).rule.is_some();
    let too_broad = !is_granted && is_too_broad(path, &homes);
    let refused = ungrantable::check(path, &grounds.place.own_state).is_err();
    let text = shown(path);
    let is_plain = text.as_bytes() == path.as_bytes();
    (is_plain && !too_broad && !refused)
        .then(|| format!("{word} {}", for_shell(&ByteString::from(path.as_bytes()))))
}

/// Whether a directory holds more than a hint should grant. A single file of the system is not.
fn is_too_broad(path: &HostPath, homes: &[HostPath]) -> bool {
    let is_directory = path.as_path().is_dir();
    is_directory && ungrantable::is_home_or_system_tree(path, homes)
}

/// Why a cage has at a path what it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ground {
    because: String,
    secret: Option<&'static str>,
    /// Whether some rule would have it otherwise.
    can_be_changed: bool,
}

impl Ground {
    fn of(path: &HostPath, grounds: &Grounds) -> Self {
        let homes: Vec<&HostPath> = grounds.place.home.iter().collect();
        let secret = secrets::holding(&homes, path).first().map(|secret| secret.name);
        let answer = explain::path(&grounds.policy, &grounds.place, path);
        let mut can_be_changed = answer.ungrantable.is_none();
        let because = match (answer.verdict, &answer.rule) {
            (PathVerdict::Protected, _) => answer.protected.map_or_else(
                || "it runs code on the host".to_owned(),
                |entry| format!("`{}` runs code on the host, by {}", entry.pattern, entry.runs_by),
            ),
            (PathVerdict::Base, _) => {
                can_be_changed = false;
                "every cage has the system read-only".to_owned()
            }
            (_, Some(rule)) => {
                let (word, at) = (rule.access.word(), shown(&rule.path));
                format!("`{word}` on `{at}` ({})", rule.origin)
            }
            (_, None) => "no rule grants it".to_owned(),
        };
        Self { because, secret, can_be_changed }
    }
}

/// As many as pid 1 notes.
const MOST_NOTED: usize = 20_000;
