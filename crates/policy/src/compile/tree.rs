//! The cage's file tree while it is being designed: at most one thing per path, in any order of
//! making. Turned into mount operations at the end, with every directory and mount point that they
//! need, parents first. Never decides what belongs into a cage.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use plan::{
    Access, BindPurpose, ByteString, Execution, FileKind, GuestPath, Mapping, MountOp, SourceIndex,
    TmpfsPurpose, TmpfsSize,
};

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Directory { mode: u32 },
    File { contents: ByteString },
    Symlink { target: ByteString },
    Bind(Bind),
    Tmpfs { mode: u32, size: TmpfsSize, execution: Execution, purpose: TmpfsPurpose },
    Mask { kind: FileKind },
    Proc,
    Devpts,
    SealReadOnly,
    MaskIfPresent,
}

/// A host object at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) source: SourceIndex,
    pub(super) kind: FileKind,
    pub(super) access: Access,
    pub(super) execution: Execution,
    pub(super) mapping: Mapping,
    pub(super) purpose: BindPurpose,
}

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

/// A directory, and the part of the base layer that shows it: the length of its path, and the bind.
struct Shown {
    directory: Vec<u8>,
    by: Option<(usize, Bind)>,
}

/// The tree.
#[derive(Default)]
pub(super) struct Tree {
    nodes: BTreeMap<GuestPath, Node>,
    /// What shows the directory that was asked about last: whoever asks goes through one after the
    /// other. Forgotten with every change at or above it.
    last_shown: RefCell<Option<Shown>>,
}

impl Tree {
    /// Puts something at a path, instead of what was there.
    pub(super) fn put(&mut self, at: GuestPath, node: Node) {
        self.forget_what_shows(&at);
        self.nodes.insert(at, node);
    }

    fn forget_what_shows(&mut self, changed: &GuestPath) {
        let depends = |shown: &mut Shown| shown.directory.starts_with(changed.as_bytes());
        self.last_shown.get_mut().take_if(depends);
    }

    /// Takes away what is at a path or below, and tells what that was.
    pub(super) fn take_within(&mut self, top: &GuestPath) -> Vec<(GuestPath, Node)> {
        self.forget_what_shows(top);
        let taken: Vec<GuestPath> = self.within(top).map(|(at, _)| at.clone()).collect();
        taken.into_iter().filter_map(|at| self.nodes.remove_entry(&at)).collect()
    }

    /// What stands at a path.
    pub(super) fn node(&self, at: &GuestPath) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Everything at a path or below.
    pub(super) fn within(&self, top: &GuestPath) -> impl Iterator<Item = (&GuestPath, &Node)> {
        // Between a path and what lies below it others can stand: `/a`, `/a-b`, `/a/b`.
        self.nodes
            .range::<GuestPath, _>(top..)
            .take_while(|(at, _)| at.as_bytes().starts_with(top.as_bytes()))
            .filter(|(at, _)| at.is_within(top))
    }

    /// The part of the base layer that shows a path, if one does.
    pub(super) fn base_bind_over<'at>(&self, at: &'at GuestPath) -> Option<(&'at [u8], Bind)> {
        if let Some(shown) = self.shown_by(at.as_bytes()) {
            return shown.map(|bind| (at.as_bytes(), bind));
        }
        let directory = at.ancestors().next()?;
        let mut last = self.last_shown.borrow_mut();
        let by = match last.as_ref() {
            Some(shown) if shown.directory == directory => shown.by,
            _ => {
                let shows = |path: &[u8]| Some(self.shown_by(path)?.map(|bind| (path.len(), bind)));
                let by = at.ancestors().find_map(shows).flatten();
                *last = Some(Shown { directory: directory.to_vec(), by });
                by
            }
        };
        let (length, bind) = by?;
        Some((at.as_bytes().get(..length)?, bind))
    }

    /// What stands at this very path: none if nothing does that would show or cover what is below,
    /// none inside if it is not of the base layer.
    fn shown_by(&self, path: &[u8]) -> Option<Option<Bind>> {
        match self.nodes.get(path)? {
            Node::Bind(bind) => match bind.purpose {
                BindPurpose::Base | BindPurpose::Scratch => Some(Some(*bind)),
                BindPurpose::Grant | BindPurpose::Protected | BindPurpose::Pin => Some(None),
                BindPurpose::Command | BindPurpose::Device => Some(None),
            },
            Node::Directory { .. } => None,
            Node::File { .. } | Node::Symlink { .. } | Node::Tmpfs { .. } => Some(None),
            Node::Mask { .. } | Node::SealReadOnly | Node::MaskIfPresent => Some(None),
            Node::Proc | Node::Devpts => Some(None),
        }
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
            match (ground, mount_point(node)) {
                (Ground::Own, point) => {
                    if known.is_none() {
                        self.make_directories(top, at, &mut made, &mut operations);
                    }
                    operations.extend(point.map(|kind| name_for(kind, at.clone())));
                }
                (Ground::Given, Some(_)) => {}
                (Ground::Given, None) if is_kernel_detail(node) => {}
                // Nothing is made on the host, and nothing below an empty place.
                (Ground::Given, None) | (Ground::Closed, _) => continue,
            }
            operations.push(operation(at.clone(), node.clone()));
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
            let ground = match self.nodes.get(above) {
                None | Some(Node::Directory { .. }) => continue,
                Some(Node::Symlink { .. }) => return None,
                Some(Node::Tmpfs { .. }) => Ground::Own,
                Some(Node::Proc | Node::SealReadOnly) => Ground::Given,
                Some(Node::Bind(bind)) if bind.kind == FileKind::Directory => Ground::Given,
                Some(Node::Bind(_) | Node::File { .. } | Node::Devpts) => Ground::Closed,
                Some(Node::Mask { .. } | Node::MaskIfPresent) => Ground::Closed,
            };
            return Some((above, ground));
        }
        Some((b"/", Ground::Own))
    }
}

/// What a node needs to be mounted on; none where it is no mount.
fn mount_point(node: &Node) -> Option<FileKind> {
    match node {
        Node::Bind(bind) => Some(bind.kind),
        Node::Mask { kind } => Some(*kind),
        Node::Tmpfs { .. } | Node::Proc | Node::Devpts => Some(FileKind::Directory),
        Node::Directory { .. }
        | Node::File { .. }
        | Node::Symlink { .. }
        | Node::SealReadOnly
        | Node::MaskIfPresent => None,
    }
}

/// Mounts over names that the kernel provides, where it does.
fn is_kernel_detail(node: &Node) -> bool {
    matches!(node, Node::SealReadOnly | Node::MaskIfPresent)
}

fn name_for(kind: FileKind, at: GuestPath) -> MountOp {
    match kind {
        FileKind::Directory => MountOp::Directory { at, mode: 0o755 },
        FileKind::File => MountOp::File { at, mode: 0o644, contents: ByteString::default() },
    }
}

fn operation(at: GuestPath, node: Node) -> MountOp {
    match node {
        Node::Directory { mode } => MountOp::Directory { at, mode },
        Node::File { contents } => MountOp::File { at, mode: 0o644, contents },
        Node::Symlink { target } => MountOp::Symlink { at, target },
        Node::Bind(Bind { source, access, execution, mapping, purpose, .. }) => {
            MountOp::Bind(plan::Bind { source, at, access, execution, mapping, purpose })
        }
        Node::Tmpfs { mode, size, execution, purpose } => {
            MountOp::Tmpfs { at, mode, size, execution, purpose }
        }
        Node::Mask { kind } => MountOp::Mask { at, kind },
        Node::Proc => MountOp::Proc { at },
        Node::Devpts => MountOp::Devpts { at },
        Node::SealReadOnly => MountOp::SealReadOnly { at },
        Node::MaskIfPresent => MountOp::MaskIfPresent { at },
    }
}
