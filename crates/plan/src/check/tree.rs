//! Follows the mount operations on paper: each one must find what it needs, and none may hide what
//! an earlier one made (T60). Knows nothing of what lies below a host directory.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::{PlanDefect, order};
use crate::{Entry, GuestPath, MountOp, Plan};

/// What the operations so far have made.
struct Tree<'plan> {
    entries: HashMap<&'plan [u8], Entry>,
    /// Every path that one of the entries lies below.
    above: HashSet<&'plan [u8]>,
    /// A directory of the cage's own memory: operations in one follow each other, and it stays one
    /// until something is mounted there.
    in_memory: Cell<Option<&'plan [u8]>>,
}

impl<'plan> Tree<'plan> {
    fn empty(operations: usize) -> Self {
        let mut entries = HashMap::with_capacity(operations.saturating_add(1));
        entries.insert(b"/".as_slice(), Entry::Memory);
        Self { entries, above: HashSet::new(), in_memory: Cell::new(None) }
    }

    fn insert(&mut self, at: &'plan GuestPath, entry: Entry) {
        if self.in_memory.get() == Some(at.as_bytes()) {
            self.in_memory.set(None);
        }
        if self.entries.insert(at.as_bytes(), entry).is_none() {
            // What lies above one that is known is known as well.
            let _new = at.ancestors().take_while(|above| self.above.insert(above)).count();
        }
    }

    fn get(&self, path: &[u8]) -> Option<Entry> {
        self.entries.get(path).copied()
    }
}

/// Checks that the operations can be carried out in their order.
pub(super) fn check(plan: &Plan) -> Result<(), PlanDefect> {
    let mut tree = Tree::empty(plan.walls.mounts.len());
    for operation in &plan.walls.mounts {
        let at = operation.at();
        let kind = |source| plan.source(source).map(|source| source.kind);
        let (needs, leaves) = operation.effect(kind);
        match needs {
            None => check_name(&tree, at)?,
            Some(needs) => check_mount(&tree, operation, needs)?,
        }
        tree.insert(at, leaves);
    }
    Ok(())
}

fn check_name<'plan>(tree: &Tree<'plan>, at: &'plan GuestPath) -> Result<(), PlanDefect> {
    if tree.get(at.as_bytes()).is_some() {
        return Err(order(at, "makes a name that is already there"));
    }
    match ground(tree, at)? {
        Entry::Memory => Ok(()),
        _ => Err(order(at, "makes a name outside a memory file system")),
    }
}

fn check_mount<'plan>(
    tree: &Tree<'plan>,
    operation: &'plan MountOp,
    needs: Entry,
) -> Result<(), PlanDefect> {
    let at = operation.at();
    let ground = ground(tree, at)?;
    if operation.is_optional() && ground == Entry::Memory {
        return Err(order(at, "covers a name of the cage's own memory file system"));
    }
    match (ground, tree.get(at.as_bytes())) {
        (Entry::Memory, Some(name)) if name == needs => {}
        (Entry::Memory, None) => return Err(order(at, "has no mount point")),
        (Entry::Given, None) => {}
        (_, Some(_)) => return Err(order(at, "covers an earlier one, or is of another kind")),
        _ => return Err(order(at, "lies below something that holds no names")),
    }
    if tree.above.contains(at.as_bytes()) {
        return Err(order(at, "hides an earlier one below it"));
    }
    Ok(())
}

/// What holds the name `at`. The directory around it must exist: made by an operation where the
/// cage's own memory holds it, given where the host or the kernel does.
fn ground<'plan>(tree: &Tree<'plan>, at: &'plan GuestPath) -> Result<Entry, PlanDefect> {
    let path = at.as_bytes();
    if path == b"/" {
        return Err(order(at, "is the root itself"));
    }
    let mut directory = parent(path);
    if tree.in_memory.get() == Some(directory) {
        return Ok(Entry::Memory);
    }
    let mut is_parent = true;
    loop {
        match tree.get(directory) {
            // In a memory file system each level is an operation of its own.
            Some(Entry::Memory | Entry::Directory) if is_parent => {
                tree.in_memory.set(Some(directory));
                return Ok(Entry::Memory);
            }
            Some(Entry::Given) => return Ok(Entry::Given),
            Some(Entry::Closed) => return Ok(Entry::Closed),
            Some(_) => return Err(order(at, "lies in a directory that nothing made")),
            None => {
                is_parent = false;
                directory = parent(directory);
            }
        }
    }
}

fn parent(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(slash) => path.get(..slash).unwrap_or(b"/"),
    }
}
