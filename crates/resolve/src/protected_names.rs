//! Recognises the names of [`policy::protected`] during a walk down a directory tree, name by name.
//! Asks the same table as everybody else; exists because a walk sees thousands of names, of which
//! nearly none is in the table, and must pay next to nothing for those. Never touches a file.

pub mod git;
mod git_config;
#[doc(hidden)]
pub mod git_index;
pub mod reader;
pub mod tracked;

use std::collections::HashMap;
use std::sync::OnceLock;

use plan::HostPath;
use policy::protected::{Entry, Object, table};

#[cfg(test)]
mod tests;

/// The table, arranged by the first component of its patterns.
pub struct ProtectedNames {
    entries: &'static [Entry],
    /// Positions of entries by their first component, in small letters.
    by_first: HashMap<Vec<u8>, Vec<usize>>,
    /// Positions of entries whose first component has a wildcard.
    first_is_wild: Vec<usize>,
}

/// Which patterns have begun on the way down to a directory and are not complete there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Begun(Vec<Position>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Position {
    pattern: usize,
    /// The component that must come next.
    next: usize,
}

/// What one more name means.
pub struct Step {
    /// The entry that names this object.
    pub entry: Option<&'static Entry>,
    /// What has begun below it, if it is a directory.
    pub below: Begun,
}

impl ProtectedNames {
    /// The one arrangement of the one table.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ProtectedNames> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    fn new() -> Self {
        let entries = table();
        let mut names = Self { entries, by_first: HashMap::new(), first_is_wild: Vec::new() };
        for (position, entry) in entries.iter().enumerate() {
            let first = component(entry, 0).unwrap_or_default();
            if first.contains(&b'*') {
                names.first_is_wild.push(position);
            } else {
                names.by_first.entry(first.to_ascii_lowercase()).or_default().push(position);
            }
        }
        names
    }

    /// What has begun in a directory, judged by the names above it and its own. A grant of `.git`
    /// itself still has protected names inside.
    pub fn begun_at(&self, directory: &HostPath) -> Begun {
        let components = directory.as_bytes().split(|byte| *byte == b'/');
        components
            .filter(|name| !name.is_empty())
            .fold(Begun::default(), |begun, name| self.step(&begun, name, Object::Directory).below)
    }

    /// The entry that names a relative path or something above it: what
    /// [`policy::protected::matches`] says, for many paths.
    pub fn covering(&self, relative: &[u8], object: Object) -> Option<&'static Entry> {
        let mut begun = Begun::default();
        let mut names = relative.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let own = if names.peek().is_none() { object } else { Object::Directory };
            let step = self.step(&begun, name, own);
            if step.entry.is_some() {
                return step.entry;
            }
            begun = step.below;
        }
        None
    }

    /// Takes one step down.
    pub fn step(&self, begun: &Begun, name: &[u8], object: Object) -> Step {
        let mut step = Step { entry: None, below: Begun::default() };
        for position in begun.0.iter().copied() {
            self.advance(position, name, object, &mut step);
        }
        let candidates = self.by_first.get(&name.to_ascii_lowercase());
        for pattern in candidates.into_iter().flatten().copied() {
            self.advance(Position { pattern, next: 0 }, name, object, &mut step);
        }
        for pattern in self.first_is_wild.iter().copied() {
            self.advance(Position { pattern, next: 0 }, name, object, &mut step);
        }
        step
    }

    /// The same for the patterns that have begun and no others.
    pub fn complete(&self, begun: &Begun, name: &[u8], object: Object) -> Step {
        let mut step = Step { entry: None, below: Begun::default() };
        for position in begun.0.iter().copied() {
            self.advance(position, name, object, &mut step);
        }
        step
    }

    fn advance(&self, position: Position, name: &[u8], object: Object, step: &mut Step) {
        let Some(entry) = self.entries.get(position.pattern) else { return };
        let Some(wanted) = component(entry, position.next) else { return };
        if !component_matches(name, wanted) {
            return;
        }
        if wanted == b"**" {
            step.below.0.push(position);
        }
        let next = position.next + 1;
        if component(entry, next).is_some() {
            step.below.0.push(Position { next, ..position });
        } else if step.entry.is_none() && concerns(entry.object, object) {
            step.entry = Some(entry);
        }
    }
}

impl Begun {
    /// Whether no pattern can be completed below but those that begin there.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Directories full of what package managers fetched and compilers made, by the thousand and with
/// their authors' own settings in them. Nobody works in there, so they are searched after all others, and little of
/// them is protected; but Git goes there by itself where an index says so.
pub fn is_fetched_or_built(name: &[u8]) -> bool {
    FETCHED_OR_BUILT.iter().any(|known| name == known.as_bytes())
}

/// Directories of a repository that hold data alone, in great numbers.
pub fn is_git_data(name: &[u8]) -> bool {
    GIT_DATA.iter().any(|known| name == known.as_bytes())
}

/// A component of an entry's pattern, counted from 0.
fn component(entry: &'static Entry, position: usize) -> Option<&'static [u8]> {
    entry.pattern.split('/').nth(position).map(str::as_bytes)
}

fn concerns(entry: Object, found: Object) -> bool {
    entry == Object::Any || found == Object::Any || entry == found
}

/// As the table defines it: `**` for any one component (and more), `*` at the end or beginning for
/// any characters, letters without case.
fn component_matches(name: &[u8], wanted: &[u8]) -> bool {
    match wanted {
        b"**" => true,
        [prefix @ .., b'*'] => {
            name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        }
        [b'*', suffix @ ..] => {
            let start = name.len().checked_sub(suffix.len());
            let tail = start.and_then(|start| name.get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(suffix))
        }
        wanted => name.eq_ignore_ascii_case(wanted),
    }
}

const FETCHED_OR_BUILT: [&str; 3] = ["node_modules", "target", "__pycache__"];
const GIT_DATA: [&str; 2] = ["objects", "lfs"];
