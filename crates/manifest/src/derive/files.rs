//! `fs:read` and `fs:write`: roots from hints, what the grants leave of them, and what the arguments
//! of a call leave of that. Never says the value of an argument.

use plan::HostPath;
use policy::protected::{self, Object};
use policy::shown::{Shown, shortened};
use policy::{FsAccess, RuleOrigin, ungrantable};

use super::code::rule;
use super::{Confined, Derivation, Found, ReasonCode};
use crate::arguments::texts;
use crate::grants::Grant;
use crate::hints::{ReadPath, read_path};
use crate::model::{Capability, Hint, PathHint, Start};

/// What is left of a root: parts of it, or all.
struct Root {
    path: HostPath,
    left: Vec<Part>,
}

#[derive(Clone)]
struct Part {
    path: HostPath,
    access: FsAccess,
    /// Whether it may be made where it is missing.
    directory: bool,
}

impl<'a> Derivation<'a> {
    pub(super) fn files(&mut self, capability: &'a Capability, access: FsAccess) {
        let mut roots = Vec::new();
        let mut private = Vec::new();
        let mut arguments = Vec::new();
        for hint in &capability.hints {
            match hint {
                Hint::Path(hint) if hint.is_private() => {
                    private.extend(hint.root(self.place.home));
                    self.note(format!(
                        "`{}` of `{capability}` is the cage's own; `host:{}` is the host's",
                        shortened(&hint.written),
                        shortened(&hint.written)
                    ));
                }
                Hint::Path(hint) => roots.extend(self.root(capability, hint, access)),
                Hint::Argument(name) => arguments.push(name.as_str()),
                Hint::Hosts { .. } => {}
            }
        }
        if arguments.is_empty() {
            for (hint, root) in &roots {
                let what = of_hint(capability, hint);
                let origin = self.origin(capability, &hint.written);
                for part in &root.left {
                    self.show(part, &what, &origin, None);
                }
            }
            return;
        }
        let roots: Vec<Root> = roots.into_iter().map(|(_, root)| root).collect();
        for name in arguments {
            self.argument(capability, access, name, &roots, &private);
        }
    }

    /// The root of a hint, checked, with what the grants leave of it.
    fn root(
        &mut self,
        capability: &Capability,
        hint: &'a PathHint,
        access: FsAccess,
    ) -> Option<(&'a PathHint, Root)> {
        let what = of_hint(capability, hint);
        let Some(path) = hint.root(self.place.home) else {
            self.note(format!("{what} is left out: there is no home directory"));
            return None;
        };
        if let Err(refused) = ungrantable::check(&path, self.place.own_state) {
            let message = format!("{what} cannot be granted: {}", refused.reason);
            self.refuse(ReasonCode::Ungrantable, message, refused.hint);
            return None;
        }
        if access == FsAccess::ReadWrite && !self.leaves_code_alone(&path, &what) {
            return None;
        }
        let may_be_made = hint.directory && access == FsAccess::ReadWrite;
        if may_be_made || (self.place.found)(&path) != Found::Missing {
            let origin = self.origin(capability, &hint.written);
            self.declared.grant(rule(path.clone(), access, origin));
        }
        let whole = Part { path, access, directory: hint.directory };
        let left = self.left_by_grants(&whole, &what)?;
        let left = left.into_iter().map(|part| {
            let access = self.left_by_autonomy(part.access, &what);
            Part { access, ..part }
        });
        let left = left.collect();
        Some((hint, Root { path: whole.path, left }))
    }

    /// What the grants leave of a root. None where it is refused.
    fn left_by_grants(&mut self, whole: &Part, what: &str) -> Option<Vec<Part>> {
        let mut left: Vec<Part> = Vec::new();
        for grant in self.listed_grants() {
            let Some(part) = self.left_by_grant(whole, grant) else { continue };
            match left.iter_mut().find(|known| known.path == part.path) {
                Some(known) => known.access = known.access.max(part.access),
                None => left.push(part),
            }
        }
        let is_whole = |part: &Part| part.path == whole.path && part.access == whole.access;
        if left.iter().any(is_whole) {
            return Some(vec![whole.clone()]);
        }
        if self.grants_ordinary() {
            if !self.is_special(&whole.path) {
                return Some(vec![whole.clone()]);
            }
            let word = if whole.access == FsAccess::ReadWrite { "write" } else { "read" };
            let message = format!("{what} is a home, a tree of the system or a secret");
            let help = format!("grant it by name: `fs:{word}:{}`", shortened(&whole.path));
            self.refuse(ReasonCode::NeedsGrant, message, &help);
            return None;
        }
        self.narrow(match left.as_slice() {
            [] => format!("{what} is not granted"),
            _ => format!("{what} is granted in part"),
        });
        Some(left)
    }

    fn left_by_grant(&self, whole: &Part, grant: &Grant) -> Option<Part> {
        let (hint, given) = match grant {
            Grant::Read(hint) => (hint, FsAccess::ReadOnly),
            Grant::Write(hint) => (hint, FsAccess::ReadWrite),
            Grant::Declared | Grant::Host(_) | Grant::WholeNetwork | Grant::Named(_) => {
                return None;
            }
        };
        let granted = hint.root(self.place.home)?;
        let access = whole.access.min(given);
        if granted.is_within(&whole.path) && granted != whole.path {
            return Some(Part { path: granted, access, directory: hint.directory });
        }
        // A wider grant does not name the secrets inside it.
        let names = |secret: &HostPath| granted.is_within(secret);
        let is_named = self.secrets(&whole.path).iter().all(names);
        let is_given = whole.path.is_within(&granted) && is_named;
        is_given.then(|| Part { access, ..whole.clone() })
    }

    /// What an argument leaves of the roots: its values, each within one of them.
    fn argument(
        &mut self,
        capability: &Capability,
        access: FsAccess,
        name: &str,
        roots: &[Root],
        private: &[HostPath],
    ) {
        let what = format!("the argument `{}`", Shown(name));
        let Some(arguments) = self.call.arguments else {
            self.note(format!("`{capability}` gives nothing: {what} is not known"));
            return;
        };
        let Some(values) = texts(arguments.as_map(), name).filter(|all| all.len() <= MAX_VALUES)
        else {
            let message = format!("{what} must be a path, or a list of at most {MAX_VALUES}");
            self.refuse(ReasonCode::Argument, message, "");
            return;
        };
        let origin = self.origin(capability, &format!("arg:{name}"));
        for value in values {
            let Some((hint, path)) = self.value(value) else {
                let message = format!("{what} must be absolute or in the home (`~/…`)");
                self.refuse(ReasonCode::Argument, message, "");
                continue;
            };
            let around = roots.iter().filter(|root| path.is_within(&root.path));
            let Some(root) = around.max_by_key(|root| root.path.depth()) else {
                let is_private = hint.start == Start::Root;
                if !is_private || !private.iter().any(|place| path.is_within(place)) {
                    let message = format!("{what} leads out of what `{capability}` is limited to");
                    self.refuse(ReasonCode::Argument, message, "");
                }
                continue;
            };
            if self.may_name(&path, root, access, &what) {
                self.show_value(&hint, &path, root, &what, &origin);
            }
        }
    }

    /// The path that a value names, with how it was written.
    fn value(&self, text: &str) -> Option<(PathHint, HostPath)> {
        let is_pattern = text.contains(['*', '?', '[', '{']);
        match read_path(text) {
            // A value is a path, never a pattern: its letters stand for themselves.
            ReadPath::Hint(hint) if is_pattern || hint.start == Start::HostRoot => {
                let plain = text.strip_prefix("~/").or_else(|| text.strip_prefix('/'))?;
                let segments = plain.split('/').filter(|part| !part.is_empty() && *part != ".");
                let below = segments.collect::<Vec<_>>().join("/");
                let hint = PathHint { below, directory: text.ends_with('/'), ..hint };
                let path = hint.root(self.place.home)?;
                Some((hint, path))
            }
            ReadPath::Hint(hint) => hint.root(self.place.home).map(|path| (hint, path)),
            ReadPath::Ignored(_) | ReadPath::Refused(_) => None,
        }
    }

    /// Whether an argument may name a path inside a root.
    fn may_name(&mut self, path: &HostPath, root: &Root, access: FsAccess, what: &str) -> bool {
        if let Err(refused) = ungrantable::check(path, self.place.own_state) {
            let message = format!("{what} names what cannot be granted: {}", refused.reason);
            self.refuse(ReasonCode::Argument, message, "");
            return false;
        }
        let is_named = |secret: &HostPath| {
            let named = |part: &Part| path.is_within(&part.path) && part.path.is_within(secret);
            root.left.iter().any(named)
        };
        if !self.secrets(path).iter().all(is_named) {
            let message = format!("{what} names a well-known secret");
            self.refuse(ReasonCode::Argument, message, "");
            return false;
        }
        access < FsAccess::ReadWrite || self.leaves_code_alone(path, what)
    }

    fn show_value(
        &mut self,
        hint: &PathHint,
        path: &HostPath,
        root: &Root,
        what: &str,
        origin: &RuleOrigin,
    ) {
        let mut shown = false;
        for part in &root.left {
            let path = match (path.is_within(&part.path), part.path.is_within(path)) {
                (true, _) => path,
                (false, true) => &part.path,
                (false, false) => continue,
            };
            shown = true;
            let shown_part = Part { path: path.clone(), directory: hint.directory, ..*part };
            self.show(&shown_part, what, origin, Some(&part.path));
        }
        if !shown {
            self.narrow(format!("{what} is not granted"));
        }
    }

    /// Refuses to write to what runs code on the host, unless a grant names exactly that path.
    fn may_run_code(&mut self, part: &Part, what: &str, is_argument: bool) -> bool {
        let object = match (self.place.found)(&part.path) {
            Found::Directory => Object::Directory,
            Found::Other => Object::File,
            Found::Missing if part.directory => Object::Directory,
            Found::Missing => Object::Any,
        };
        let Some(entry) = protected::holding(self.place.home, &part.path, object) else {
            return true;
        };
        let is_named = |grant: &Grant| match grant {
            Grant::Write(hint) => hint.root(self.place.home).is_some_and(|root| root == part.path),
            _ => false,
        };
        if self.listed_grants().iter().any(is_named) {
            return true;
        }
        if is_argument {
            let message = format!("{what} names a file that runs code on the host");
            self.refuse(ReasonCode::Argument, message, "");
            return false;
        }
        let message = format!("{what} is run on the host by {}", entry.runs_by);
        let help = format!("grant it by name: `fs:write:{}`", shortened(&part.path));
        self.refuse(ReasonCode::NeedsGrant, message, &help);
        false
    }

    fn show(&mut self, part: &Part, what: &str, origin: &RuleOrigin, within: Option<&HostPath>) {
        let Part { path, access, directory } = part;
        // A grant may have named a part that the root's own check did not see.
        if let Err(refused) = ungrantable::check(path, self.place.own_state) {
            let message = format!("a part of {what} cannot be granted: {}", refused.reason);
            self.refuse(ReasonCode::Ungrantable, message, refused.hint);
            return;
        }
        if *access == FsAccess::ReadWrite && !self.leaves_code_alone(path, what) {
            return;
        }
        if *access == FsAccess::ReadWrite && !self.may_run_code(part, what, within.is_some()) {
            return;
        }
        if (self.place.found)(path) == Found::Missing {
            if *access < FsAccess::ReadWrite {
                self.note(format!("{what} does not exist and is left out"));
                return;
            }
            let parent = path.parent().map(|parent| (self.place.found)(&parent));
            // Nothing is made because an argument says so.
            if within.is_some() || !directory || parent != Some(Found::Directory) {
                let message = format!("{what} does not exist, so nothing could be kept there");
                let help = if within.is_some() { "make it" } else { MAKE_IT };
                self.refuse(ReasonCode::Missing, message, help);
                return;
            }
            if !self.create.contains(path) {
                self.create.push(path.clone());
            }
        }
        let root = within.unwrap_or(path).clone();
        let confined = Confined { path: path.clone(), root };
        if !self.confined.contains(&confined) {
            self.confined.push(confined);
        }
        self.effective.grant(rule(path.clone(), *access, origin.clone()));
    }
}

fn of_hint(capability: &Capability, hint: &PathHint) -> String {
    format!("`{}` of `{capability}`", shortened(&hint.written))
}

/// The most paths that one argument may name.
const MAX_VALUES: usize = 256;

const MAKE_IT: &str = "make it, or end it with `/` inside a directory that exists";
