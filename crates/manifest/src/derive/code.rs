//! What every executor sees whatever it declares, and what its caller adds: its own code, which it
//! cannot change, the system's directories that interpreters use, and the caller's own paths.

use plan::HostPath;
use policy::capabilities::without_implied;
use policy::shown::shortened;
use policy::{FsAccess, FsRule, Reach, RuleOrigin, secrets, ungrantable};

use super::{Derivation, Found, ReasonCode};
use crate::grants::Grant;

impl Derivation<'_> {
    /// Refuses a directory of code that shows more than code: all of it can be read.
    pub(super) fn code(&mut self) {
        let directory = self.place.code_directory;
        let named = shortened(directory);
        if let Err(refused) = ungrantable::check(directory, self.place.own_state) {
            let message =
                format!("the code's directory `{named}` cannot be shown: {}", refused.reason);
            self.refuse(ReasonCode::Code, message, OWN_DIRECTORY);
            return;
        }
        let granted = self.listed_grants().iter().any(|grant| match grant {
            Grant::Read(hint) | Grant::Write(hint) => {
                hint.root(self.place.home).is_some_and(|root| root == *directory)
            }
            Grant::Declared | Grant::Host(_) | Grant::WholeNetwork | Grant::Named(_) => false,
        });
        if !granted && !is_shown_anyway(directory) && self.is_special(directory) {
            let message = format!(
                "the code's directory `{named}` is a home, a tree of the system or a secret"
            );
            self.refuse(ReasonCode::Code, message, OWN_DIRECTORY);
        }
    }

    pub(super) fn is_special(&self, path: &HostPath) -> bool {
        let homes: Vec<HostPath> = self.place.home.into_iter().cloned().collect();
        ungrantable::needs_a_grant_by_name(path, &homes)
    }

    /// The well-known secrets that a path is or lies in.
    pub(super) fn secrets(&self, path: &HostPath) -> Vec<HostPath> {
        let homes: Vec<&HostPath> = self.place.home.into_iter().collect();
        secrets::holding(&homes, path).into_iter().map(|secret| secret.path).collect()
    }

    /// Refuses a root to write to that lies in the code's directory.
    pub(super) fn leaves_code_alone(&mut self, path: &HostPath, what: &str) -> bool {
        let is_apart = !path.is_within(self.place.code_directory);
        if !is_apart {
            let message = format!("{what} would let the executor change its own code");
            self.refuse(ReasonCode::Code, message, "keep what it writes in another directory");
        }
        is_apart
    }

    /// Paths of the caller's own choice.
    pub(super) fn extras(&mut self) {
        let read = self.call.extra_ro.iter().map(|path| (path, FsAccess::ReadOnly));
        let write = self.call.extra_rw.iter().map(|path| (path, FsAccess::ReadWrite));
        for (path, access) in read.chain(write) {
            let what = format!("the caller's path `{}`", shortened(path));
            if let Err(refused) = ungrantable::check(path, self.place.own_state) {
                let message = format!("{what} cannot be granted: {}", refused.reason);
                self.refuse(ReasonCode::Ungrantable, message, refused.hint);
                continue;
            }
            if access == FsAccess::ReadWrite && !self.leaves_code_alone(path, &what) {
                continue;
            }
            let access = self.left_by_autonomy(access, &what);
            let origin = RuleOrigin::BuiltIn("a path of the caller's own");
            self.extra.grant(rule(path.clone(), access, origin));
        }
    }

    /// What the level of autonomy leaves of a right to files.
    pub(super) fn left_by_autonomy(&mut self, access: FsAccess, what: &str) -> FsAccess {
        if access == FsAccess::ReadWrite && self.call.autonomy == crate::Autonomy::ReadOnly {
            self.narrow(format!("{what} is read-only: the autonomy is `read_only`"));
            return FsAccess::ReadOnly;
        }
        access
    }

    /// Rules with those that every executor has. The one on its code comes last: it is read-only
    /// whatever lies around it.
    pub(super) fn with_own(&self, rules: Vec<FsRule>) -> Vec<FsRule> {
        let code = self.place.code_directory;
        let mut all: Vec<FsRule> = rules.into_iter().filter(|rule| rule.path != *code).collect();
        let system = SYSTEM.iter().filter_map(|path| HostPath::new(*path).ok());
        for path in system.filter(|path| (self.place.found)(path) == Found::Directory) {
            if !all.iter().any(|rule| rule.path == path) && path != *code {
                let origin = RuleOrigin::BuiltIn("what interpreters use");
                all.push(rule(path, FsAccess::ReadOnly, origin));
            }
        }
        let origin = RuleOrigin::BuiltIn("the executor's code");
        all.push(rule(code.clone(), FsAccess::ReadOnly, origin));
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all
    }

    pub(super) fn with_extras(&self, rules: Vec<FsRule>) -> Vec<FsRule> {
        if self.extra.fs.is_empty() {
            return rules;
        }
        let mut all = super::Rules::default();
        // First: of two that give the same the caller's own counts, which may go through links.
        for rule in self.extra.fs.values().cloned().chain(rules) {
            all.grant(rule);
        }
        all.fs.remove(self.place.code_directory);
        self.with_own(without_implied(all.fs, self.place.home))
    }
}

pub(super) fn rule(path: HostPath, access: FsAccess, origin: RuleOrigin) -> FsRule {
    FsRule { access, path, reach: Reach::Anywhere, origin }
}

/// Whether every cage of an executor has it.
fn is_shown_anyway(path: &HostPath) -> bool {
    ["/usr", "/opt"].iter().any(|tree| HostPath::new(*tree).is_ok_and(|tree| path.is_within(&tree)))
}

/// Beside the base layer of every cage.
const SYSTEM: &[&str] = &["/opt", "/var/lib/python3"];

const OWN_DIRECTORY: &str = "put the executor into a directory of its own";
