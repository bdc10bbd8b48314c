//! Names that run code on the host without anyone having asked to run the project: by entering a
//! directory, opening an editor, asking for the state of a repository, starting a shell or an
//! agent. One table. Inside a read-write grant such a file is read-only, and one that appears
//! during a run is set aside and reported; but what Git may rightly change there, because its commits hold it,
//! is judged after the run instead ([`Change`]).
//!
//! Not in the table, on purpose: what runs only when a person builds, tests or starts the project
//! (`Makefile`, `build.rs`, `package.json`, `conftest.py`), because that is what a cage is asked
//! to write; files for remote machines (`.github/workflows`, `.gitlab-ci.yml`), because they run
//! elsewhere and are seen in review; what a package manager installs (`node_modules`, `.pnp.cjs`) and the
//! toolchains that a project makes for itself or chooses (`.venv`, `_opam`, `.python-version`,
//! `pnpm-workspace.yaml`), because work is impossible without;
//! instructions in prose (`CLAUDE.md`, `AGENTS.md`, `.cursorrules`); and `.gitattributes`, which only
//! selects among the filters that a configuration defines.
//!
//! Names only; never asks the host.

mod table;

use plan::HostPath;

use crate::{FsRule, Reach};
use table::TABLE;

/// One entry of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path below any directory; `*` at the end or the beginning of a component stands for any
    /// characters, `**` for one component or more.
    pub pattern: &'static str,
    /// Which kind of object it concerns.
    pub object: Object,
    /// What runs it.
    pub runs_by: &'static str,
    /// What a program may make of it.
    pub change: Change,
}

/// What a program in a cage may make of a protected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing: it runs with no further act of the user, or is asked by every command.
    Never,
    /// What a commit held when the run began, as a checkout does. It runs when the user uses the tool that reads
    /// it, which would run the same after a checkout of the user's own.
    ToCommitted,
}

/// What kind of object a name has, or an entry concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A directory.
    Directory,
    /// Anything that is not a directory, links included.
    File,
    /// Either; of a path: not known.
    Any,
}

/// The entry that protects a path, given relative to a granted directory: the path is what the
/// entry names, at any depth, or lies inside it. Letters compare without case, as some file
/// systems do.
pub fn matches(relative: &[u8], object: Object) -> Option<&'static Entry> {
    let components: Vec<&[u8]> =
        relative.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    TABLE.iter().find(|entry| entry.covers(&components, 0, object))
}

/// The entry that protects a path covered by a read-write rule.
///
/// What lies above the rule's own path does not count, so that a project inside `~/.config/nvim`
/// can be worked on. A protected name that *is* the rule's path counts unless the user's own
/// configuration or flag named it: a project's file cannot lift the protection.
pub fn matches_inside(rule: &FsRule, path: &HostPath, object: Object) -> Option<&'static Entry> {
    let components: Vec<&[u8]> =
        path.as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    let first_end = match rule.reach {
        Reach::BeneathProject => rule.path.depth(),
        Reach::Anywhere => rule.path.depth() + 1,
    };
    TABLE.iter().find(|entry| entry.covers(&components, first_end, object))
}

/// An entry for something below a path, if the path were a directory: a link there leads to what counts as that.
pub fn beginning(relative: &[u8]) -> Option<&'static Entry> {
    let components: Vec<&[u8]> =
        relative.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    let begins = |entry: &&Entry| {
        (0..components.len()).any(|start| begins_at(entry.pattern, &components, start))
    };
    TABLE.iter().find(begins)
}

/// The entry that a path is or lies in, wherever it is. Of a path in the home only what follows the home counts.
pub fn holding(home: Option<&HostPath>, path: &HostPath, object: Object) -> Option<&'static Entry> {
    let above = home.filter(|home| path.is_within(home)).map_or(0, |home| home.as_bytes().len());
    matches(path.as_bytes().get(above..).unwrap_or_default(), object)
}

/// The table, for whoever shows it.
pub fn table() -> &'static [Entry] {
    TABLE
}

/// What a program may make of what is protected for a reason: an entry's pattern, or another one.
pub fn change_of(pattern: &str) -> Change {
    let entry = TABLE.iter().find(|entry| entry.pattern == pattern);
    entry.map_or(Change::Never, |entry| entry.change)
}

/// Directories, relative to one that may hold protected files, whose contents have to be listed
/// to find those whose path the table does not give in full.
pub fn directories_to_list() -> &'static [&'static str] {
    &[".git/modules", ".git/worktrees"]
}

/// Whether a directory with these names in it is taken for a repository by Git although it is
/// not called `.git`: Git then obeys the `config` in it or, if the repository is split in two, in
/// the directory that `commondir` names.
pub fn is_repository<'name>(names: impl IntoIterator<Item = &'name [u8]>) -> bool {
    let (mut head, mut objects, mut refs, mut split) = (false, false, false, false);
    for name in names {
        head |= name.eq_ignore_ascii_case(b"HEAD");
        objects |= name.eq_ignore_ascii_case(b"objects");
        refs |= name.eq_ignore_ascii_case(b"refs");
        split |= name.eq_ignore_ascii_case(b"commondir");
    }
    head && (split || (objects && refs))
}

impl Entry {
    /// The path to look at below a directory, where the entry gives it in full.
    pub fn probe_path(&self) -> Option<&'static str> {
        (!self.pattern.contains('*')).then_some(self.pattern)
    }

    /// Whether it is the configuration of a Git repository, which can name further files.
    pub fn is_git_configuration(&self) -> bool {
        self.pattern.starts_with(".git/")
            && (self.pattern.ends_with("/config") || self.pattern.ends_with("/config.worktree"))
    }

    /// Whether the entry matches some run of components that ends at `first_end` or later.
    fn covers(&self, components: &[&[u8]], first_end: usize, object: Object) -> bool {
        let accepts = |end: usize| {
            // An object inside a matched one shows that this is a directory.
            let own = if end == components.len() { object } else { Object::Directory };
            end >= first_end && self.object.concerns(own)
        };
        (0..components.len()).any(|start| ends_at(self.pattern, components, start, &accepts))
    }
}

impl Object {
    fn concerns(self, found: Self) -> bool {
        self == Self::Any || found == Self::Any || self == found
    }
}

/// Whether the pattern, begun at a position, can end at one that is accepted. Goes as deep as the
/// pattern has components, which are few.
fn ends_at(
    pattern: &str,
    components: &[&[u8]],
    at: usize,
    accepts: &dyn Fn(usize) -> bool,
) -> bool {
    let Some(component) = components.get(at) else { return false };
    let (wanted, later) = match pattern.split_once('/') {
        Some((wanted, later)) => (wanted, Some(later)),
        None => (pattern, None),
    };
    let goes_on = |next: usize| match later {
        Some(later) => ends_at(later, components, next, accepts),
        None => accepts(next),
    };
    if wanted == "**" {
        (at + 1..=components.len()).any(goes_on)
    } else {
        component_matches(component, wanted.as_bytes()) && goes_on(at + 1)
    }
}

/// Whether all components from a position on are the beginning of the pattern, and something of it is left.
fn begins_at(pattern: &str, components: &[&[u8]], at: usize) -> bool {
    let Some(component) = components.get(at) else { return true };
    let Some((wanted, later)) = pattern.split_once('/') else { return false };
    if wanted == "**" {
        return (at + 1..=components.len()).any(|next| begins_at(later, components, next));
    }
    component_matches(component, wanted.as_bytes()) && begins_at(later, components, at + 1)
}

fn component_matches(component: &[u8], wanted: &[u8]) -> bool {
    if let Some(prefix) = wanted.strip_suffix(b"*") {
        return component.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    }
    if let Some(suffix) = wanted.strip_prefix(b"*") {
        let start = component.len().checked_sub(suffix.len());
        let tail = start.and_then(|start| component.get(start..));
        return tail.is_some_and(|tail| tail.eq_ignore_ascii_case(suffix));
    }
    component.eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests;
