//! The cage's file tree while it is being designed: at most one thing per path, in any order of
//! making. Turned into mount operations at the end, with every directory and mount point that they
//! need, parents first. Never decides what belongs into a cage.

use std::collections::{BTreeMap, HashSet};

use plan::{
    Access, BindPurpose, ByteString, Execution, FileKind, GuestPath, Mapping, MountOp, SourceIndex,
    TmpfsSize,
};

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Directory { mode: u32 },
    File { contents: ByteString },
    Symlink { target: ByteString },
    Bind(Bind),
    Tmpfs { mode: u32, size: TmpfsSize, execution: Execution, access: Access },
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

/// The tree.
#[derive(Default)]
pub(super) struct Tree {
    nodes: BTreeMap<GuestPath, Node>,
}

impl Tree {
    /// Puts something at a path, instead of what was there.
    pub(super) fn put(&mut self, at: GuestPath, node: Node) {
        self.nodes.insert(at, node);
    }

    /// Takes away what is at a path or below, and tells what that was.
    pub(super) fn take_within(&mut self, top: &GuestPath) -> Vec<(GuestPath, Node)> {
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
        for path in std::iter::once(at.as_bytes()).chain(at.ancestors()) {
            match self.nodes.get(path) {
                Some(Node::Bind(bind)) if bind.purpose == BindPurpose::Base => {
                    return Some((path, *bind));
                }
                None | Some(Node::Directory { .. }) => {}
                Some(_) => return None,
            }
        }
        None
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
        for (at, node) in &self.nodes {
            let Some((top, ground)) = self.ground(at) else { continue };
            match (ground, mount_point(node)) {
                (Ground::Own, point) => {
                    self.make_directories(top, at, &mut made, &mut operations);
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
    fn ground<'at>(&self, at: &'at GuestPath) -> Option<(&'at [u8], Ground)> {
        for above in at.ancestors() {
            let ground = match self.nodes.get(above) {
                None | Some(Node::Directory { .. }) => continue,
                Some(Node::Symlink { .. }) => return None,
                Some(Node::Tmpfs { .. }) => Ground::Own,
                Some(Node::Proc | Node::SealReadOnly) => Ground::Given,
                Some(Node::Bind(bind)) if bind.kind == FileKind::Directory => Ground::Given,
                Some(_) => Ground::Closed,
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
            MountOp::Bind { source, at, access, execution, mapping, purpose }
        }
        Node::Tmpfs { mode, size, execution, access } => {
            MountOp::Tmpfs { at, mode, size, execution, access }
        }
        Node::Mask { kind } => MountOp::Mask { at, kind },
        Node::Proc => MountOp::Proc { at },
        Node::Devpts => MountOp::Devpts { at },
        Node::SealReadOnly => MountOp::SealReadOnly { at },
        Node::MaskIfPresent => MountOp::MaskIfPresent { at },
    }
}
