//! The one answer to "which rule decides at this path": the rule on the longest path that is the
//! asked one or lies above it. The algebra, the compiler and `why` all ask here. Never looks at
//! the host: paths are compared as they are written.

use std::collections::HashMap;

use plan::HostPath;

use crate::{FsAccess, FsRule, Policy};

/// The rules of a policy, arranged by path so that one look-up costs one walk down the path.
///
/// Of several rules on the same path the one that gives least counts: parsers refuse such a pair,
/// and whatever gets past them must not fall open.
#[derive(Debug)]
pub struct AccessMap<'rules> {
    // A tree in two flat tables: deep paths must not become deep recursion.
    nodes: Vec<Option<&'rules FsRule>>,
    edges: HashMap<(usize, &'rules [u8]), usize>,
}

impl<'rules> AccessMap<'rules> {
    /// Arranges rules.
    pub fn new(rules: impl IntoIterator<Item = &'rules FsRule>) -> Self {
        let mut map = Self { nodes: vec![None], edges: HashMap::new() };
        for rule in rules {
            map.insert(rule);
        }
        map
    }

    /// The rule that decides at a path; none where no rule covers it.
    pub fn at(&self, path: &HostPath) -> Option<&'rules FsRule> {
        self.walk(path).filter_map(|node| self.rule(node)).last()
    }

    /// The rule that decides at a path from above: the rule on the path itself does not count.
    pub fn above(&self, path: &HostPath) -> Option<&'rules FsRule> {
        path.parent().and_then(|parent| self.at(&parent))
    }

    /// The rule on this very path.
    pub fn exactly(&self, path: &HostPath) -> Option<&'rules FsRule> {
        self.at(path).filter(|rule| rule.path == *path)
    }

    /// What may be done at a path. Not covered and hidden are the same: nothing.
    pub fn level(&self, path: &HostPath) -> FsAccess {
        self.at(path).map_or(FsAccess::Hide, |rule| rule.access)
    }

    fn insert(&mut self, rule: &'rules FsRule) {
        let mut node = ROOT;
        for component in components(&rule.path) {
            let next = self.nodes.len();
            node = *self.edges.entry((node, component)).or_insert(next);
            if node == next {
                self.nodes.push(None);
            }
        }
        if let Some(slot) = self.nodes.get_mut(node) {
            let least = |rule: &FsRule| (rule.access, rule.reach);
            match slot {
                Some(present) if least(present) <= least(rule) => {}
                _ => *slot = Some(rule),
            }
        }
    }

    fn rule(&self, node: usize) -> Option<&'rules FsRule> {
        self.nodes.get(node).copied().flatten()
    }

    /// The nodes from the root down to the path, as far as there are any.
    fn walk<'path>(
        &self,
        path: &'path HostPath,
    ) -> impl Iterator<Item = usize> + use<'_, 'path, 'rules> {
        let below = components(path).scan(ROOT, |node, component| {
            *node = *self.edges.get(&(*node, component))?;
            Some(*node)
        });
        std::iter::once(ROOT).chain(below)
    }
}

impl Policy {
    /// The rule that decides at a path. For many paths make one [`AccessMap`] instead.
    pub fn access_at(&self, path: &HostPath) -> Option<&FsRule> {
        AccessMap::new(&self.fs).at(path)
    }
}

fn components(path: &HostPath) -> impl Iterator<Item = &[u8]> {
    path.as_bytes().split(|byte| *byte == b'/').filter(|component| !component.is_empty())
}

const ROOT: usize = 0;

#[cfg(test)]
mod tests;
