//! The one answer to "which rule decides at this path": the rule on the longest path that is the
//! asked one or lies above it. The algebra, the compiler and `why` all ask here. Never looks at
//! the host: paths are compared as they are written.

use std::collections::HashMap;

use plan::HostPath;

use crate::{FsAccess, FsRule, Policy};

/// The rules of a policy by path. One look-up costs one step for each directory on the way up.
///
/// Of several rules on the same path the one that gives least counts: parsers refuse such a pair,
/// and whatever gets past them must not fall open.
#[derive(Debug)]
pub struct AccessMap<'rules> {
    by_path: HashMap<&'rules [u8], &'rules FsRule>,
    /// No rule has a path of fewer bytes: above it there is nothing to look for.
    shortest: usize,
}

impl<'rules> AccessMap<'rules> {
    /// Arranges rules.
    pub fn new(rules: impl IntoIterator<Item = &'rules FsRule>) -> Self {
        let rules = rules.into_iter();
        let by_path = HashMap::with_capacity(rules.size_hint().0);
        let mut map = Self { by_path, shortest: usize::MAX };
        for rule in rules {
            map.insert(rule);
        }
        map
    }

    /// The rule that decides at a path; none where no rule covers it.
    pub fn at(&self, path: &HostPath) -> Option<&'rules FsRule> {
        self.exactly(path).or_else(|| self.above(path))
    }

    /// The rule that decides at a path from above: the rule on the path itself does not count.
    pub fn above(&self, path: &HostPath) -> Option<&'rules FsRule> {
        let possible = path.ancestors().take_while(|above| above.len() >= self.shortest);
        possible.into_iter().find_map(|above| self.by_path.get(above).copied())
    }

    /// The rule on this very path.
    pub fn exactly(&self, path: &HostPath) -> Option<&'rules FsRule> {
        self.by_path.get(path.as_bytes()).copied()
    }

    /// What may be done at a path. Not covered and hidden are the same: nothing.
    pub fn level(&self, path: &HostPath) -> FsAccess {
        self.at(path).map_or(FsAccess::Hide, |rule| rule.access)
    }

    fn insert(&mut self, rule: &'rules FsRule) {
        let path = rule.path.as_bytes();
        self.shortest = self.shortest.min(path.len());
        let least = |rule: &FsRule| (rule.access, rule.reach);
        let deciding = self.by_path.entry(path).or_insert(rule);
        if least(rule) < least(deciding) {
            *deciding = rule;
        }
    }
}

impl Policy {
    /// The rule that decides at a path. For many paths make one [`AccessMap`] instead.
    pub fn access_at(&self, path: &HostPath) -> Option<&FsRule> {
        AccessMap::new(&self.fs).at(path)
    }
}

#[cfg(test)]
mod tests;
