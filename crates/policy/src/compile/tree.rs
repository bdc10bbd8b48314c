//! The cage's file tree while it is being designed: at most one thing per path, in any order of
//! making. Turned into mount operations at the end, with every directory and mount point that they
//! need, parents first. Never decides what belongs into a cage.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use plan::{Access, Bind, BindPurpose, ByteString, Entry, FileKind, GuestPath, MountOp};

use crate::HostFacts;

/// What names a place of the tree has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// Those that operations make.
    Own,
    /// Those that a host directory or the kernel has.
    Given,
    /// None.
    Closed,
}

/// The mount that holds a path, and what names it has.
type Holder<'path> = (&'path [u8], Ground);

/// Whether a path will exist inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// An operation makes it.
    Made,
    /// It lies below a host directory: if it exists there, it exists here.
    AsOnHost,
    /// It cannot.
    Absent,
}

/// A directory, and the part of the base layer that shows it: the length of its path, and its access.
struct Shown {
    directory: Vec<u8>,
    by: Option<(usize, Access)>,
}

/// The tree.
pub(super) struct Tree {
    nodes: BTreeMap<GuestPath, MountOp>,
    /// What the host objects are, by their indices.
    kinds: Vec<FileKind>,
    /// What shows the directory that was asked about last: whoever asks goes through one after the
    /// other. Forgotten with every change at or above it.
    last_shown: RefCell<Option<Shown>>,
}

impl Tree {
    /// Nothing, to be made from what was found on the host.
    pub(super) fn empty(facts: &HostFacts) -> Self {
        let sources = facts.sources.iter().chain(facts.kept.sources());
        let kinds = sources.map(|source| source.kind).collect();
        Self { nodes: BTreeMap::new(), kinds, last_shown: RefCell::default() }
    }

    /// Puts something at its path, instead of what was there.
    pub(super) fn put(&mut self, operation: MountOp) {
        self.forget_what_shows(operation.at());
        self.nodes.insert(operation.at().clone(), operation);
    }

    fn forget_what_shows(&mut self, changed: &GuestPath) {
        let depends = |shown: &mut Shown| shown.directory.starts_with(changed.as_bytes());
        self.last_shown.get_mut().take_if(depends);
    }

    /// Takes away what is at a path or below, and tells what that was.
    pub(super) fn take_within(&mut self, top: &GuestPath) -> Vec<MountOp> {
        self.forget_what_shows(top);
        let taken: Vec<GuestPath> = self.within(top).map(|(at, _)| at.clone()).collect();
        taken.into_iter().filter_map(|at| self.nodes.remove(&at)).collect()
    }

    /// Whether what stands at a path is there to hide it.
    pub(super) fn is_hidden(&self, at: &GuestPath) -> bool {
        self.nodes.get(at).is_some_and(|node| node.is_cover() && node.bind().is_none())
    }

    /// Everything at a path or below.
    pub(super) fn within(&self, top: &GuestPath) -> impl Iterator<Item = (&GuestPath, &MountOp)> {
        // Between a path and what lies below it others can stand: `/a`, `/a-b`, `/a/b`.
        self.nodes
            .range::<GuestPath, _>(top..)
            .take_while(|(at, _)| at.as_bytes().starts_with(top.as_bytes()))
            .filter(|(at, _)| at.is_within(top))
    }

    /// The part of the base layer that shows a path, if one does, and its access.
    pub(super) fn base_bind_over<'at>(&self, at: &'at GuestPath) -> Option<(&'at [u8], Access)> {
        if let Some(shown) = self.shown_by(at.as_bytes()) {
            return shown.map(|access| (at.as_bytes(), access));
        }
        let directory = at.ancestors().next()?;
        let mut last = self.last_shown.borrow_mut();
        let by = match last.as_ref() {
            Some(shown) if shown.directory == directory => shown.by,
            _ => {
                let shows =
                    |path: &[u8]| Some(self.shown_by(path)?.map(|access| (path.len(), access)));
                let by = at.ancestors().find_map(shows).flatten();
                *last = Some(Shown { directory: directory.to_vec(), by });
                by
            }
        };
        let (length, access) = by?;
        Some((at.as_bytes().get(..length)?, access))
    }

    /// What stands at this very path: none if nothing does that would show or cover what is below,
    /// none inside if it is not of the base layer.
    fn shown_by(&self, path: &[u8]) -> Option<Option<Access>> {
        let node = self.nodes.get(path)?;
        let of_base = |bind: &&Bind| match bind.purpose {
            BindPurpose::Base | BindPurpose::Scratch | BindPurpose::Home => true,
            BindPurpose::Grant | BindPurpose::Protected | BindPurpose::Pin => false,
            BindPurpose::Command | BindPurpose::Device => false,
        };
        let base = node.bind().filter(of_base).map(|bind| bind.access);
        (self.effect(node).1 != Entry::Directory).then_some(base)
    }

    /// Whether a path will exist.
    pub(super) fn presence(&self, at: &GuestPath) -> Presence {
        if self.nodes.contains_key(at) {
            return Presence::Made;
        }
        match self.ground(at) {
            Some((_, Ground::Given)) => Presence::AsOnHost,
            Some((_, Ground::Own)) if self.within(at).next().is_some() => Presence::Made,
            _ => Presence::Absent,
        }
    }

    /// Whether a name can be made at a path: in memory of the cage's own, not below a link, not
    /// where something is or below which something is.
    pub(super) fn is_free(&self, at: &GuestPath) -> bool {
        let own = self.ground(at).is_some_and(|(_, ground)| ground == Ground::Own);
        own && self.within(at).next().is_none()
    }

    /// The operations that make the tree.
    pub(super) fn into_operations(self) -> Vec<MountOp> {
        let mut operations = Vec::with_capacity(self.nodes.len() * 2);
        let mut made: HashSet<&[u8]> = HashSet::new();
        // What is in one directory follows each other, and is on the same ground.
        let mut last: Option<(&[u8], Option<Holder<'_>>)> = None;
        for (at, node) in &self.nodes {
            let directory = at.ancestors().next().unwrap_or_default();
            let known = last.filter(|(known, _)| *known == directory);
            let on = known.map_or_else(|| self.ground(at), |(_, ground)| ground);
            last = Some((directory, on));
            let Some((top, ground)) = on else { continue };
            match (ground, self.mount_point(node)) {
                (Ground::Own, point) => {
                    if known.is_none() {
                        self.make_directories(top, at, &mut made, &mut operations);
                    }
                    operations.extend(point.map(|kind| name_for(kind, at.clone())));
                }
                (Ground::Given, Some(_)) => {}
                (Ground::Given, None) if node.is_optional() => {}
                // Nothing is made on the host, and nothing below an empty place.
                (Ground::Given, None) | (Ground::Closed, _) => continue,
            }
            operations.push(node.clone());
        }
        operations
    }

    /// The directories between the mount that holds a path and the path itself.
    fn make_directories<'tree>(
        &'tree self,
        top: &[u8],
        at: &'tree GuestPath,
        made: &mut HashSet<&'tree [u8]>,
        operations: &mut Vec<MountOp>,
    ) {
        // What lies above one that is there is there as well.
        let missing = at.ancestors().take_while(|directory| {
            *directory != top && !self.nodes.contains_key(*directory) && made.insert(directory)
        });
        let missing: Vec<&[u8]> = missing.collect();
        for directory in missing.into_iter().rev() {
            if let Ok(at) = GuestPath::new(directory.to_vec()) {
                operations.push(MountOp::Directory { at, mode: 0o755 });
            }
        }
    }

    /// The mount that holds a path, from above, and what it means for names; none below a link.
    fn ground<'at>(&self, at: &'at GuestPath) -> Option<Holder<'at>> {
        for above in at.ancestors() {
            let Some(node) = self.nodes.get(above) else { continue };
            let ground = match self.effect(node).1 {
                Entry::Directory => continue,
                Entry::Symlink => return None,
                Entry::Memory => Ground::Own,
                Entry::Given => Ground::Given,
                Entry::File | Entry::Closed => Ground::Closed,
            };
            return Some((above, ground));
        }
        Some((b"/", Ground::Own))
    }

    /// What a node needs to be mounted on; none where it is no mount, or one over names that the kernel
    /// provides.
    fn mount_point(&self, node: &MountOp) -> Option<FileKind> {
        match self.effect(node).0? {
            Entry::Directory => Some(FileKind::Directory),
            Entry::File => Some(FileKind::File),
            Entry::Symlink | Entry::Memory | Entry::Given | Entry::Closed => None,
        }
    }

    fn effect(&self, node: &MountOp) -> (Option<Entry>, Entry) {
        node.effect(|source| self.kinds.get(source.position()).copied())
    }
}

fn name_for(kind: FileKind, at: GuestPath) -> MountOp {
    match kind {
        FileKind::Directory => MountOp::Directory { at, mode: 0o755 },
        FileKind::File => MountOp::File { at, mode: 0o644, contents: ByteString::default() },
    }
}
