//! What many cages of a privileged launcher have in common, built once: the names of the root, memory file
//! systems that stay read-only, and the host's system as every cage sees it. A cage gets a copy of all these
//! mounts in one call and adds what is its own, what a rule grants among it. Nothing of it can be written to,
//! and none of it is used after the host's mounts have changed: what a Plan hides was looked for in those.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use plan::{Access, BindPurpose, Mapping, MountOp, Plan, Source};
use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;
use sys::clone::Namespaces;

use crate::bare_mounts::{self, BareMounts};
use crate::furniture::Furniture;
use crate::idmap;
use crate::tree::{self, Beginning, Masks, Part, Sources};

/// Which operations of a Plan make what cages have in common, by position.
#[derive(Debug)]
pub(crate) struct Common(Vec<bool>);

impl Common {
    /// Names and read-only mounts that lie in the root, or in a memory file system that is common itself, but
    /// for what a rule grants: where that lies anything may change at any time.
    fn of(operations: &[MountOp]) -> Self {
        // Where something begins that is a cage's own, or that has names of its own.
        let mut others: Vec<&[u8]> = Vec::with_capacity(operations.len());
        // The compiler writes what is in one directory together: it is asked about once.
        let mut last: Option<(&[u8], bool)> = None;
        let common = operations.iter().map(|operation| {
            let directory = operation.at().ancestors().next().unwrap_or_default();
            let lies_elsewhere = match last {
                Some((known, answer)) if known == directory => answer,
                _ => others.iter().any(|top| is_within(directory, top)),
            };
            last = Some((directory, lies_elsewhere));
            let (is_for_all, has_common_names) = match operation {
                MountOp::Directory { .. } | MountOp::File { .. } | MountOp::Symlink { .. } => {
                    (true, true)
                }
                MountOp::Tmpfs { access: Access::ReadOnly, .. } => (true, true),
                MountOp::Bind {
                    access: Access::ReadOnly,
                    mapping: Mapping::Plain,
                    purpose: BindPurpose::Base | BindPurpose::Device | BindPurpose::Command,
                    ..
                } => (true, false),
                _ => (false, false),
            };
            if !has_common_names {
                others.push(operation.at().as_bytes());
                // It may be the directory that was asked about.
                last = None;
            }
            is_for_all && !lies_elsewhere
        });
        Self(common.collect())
    }

    pub(crate) fn has(&self, position: usize) -> bool {
        self.0.get(position).copied().unwrap_or(false)
    }

    /// Those operations of the Plan, with what they bind.
    fn pieces<'plan>(
        &self,
        plan: &'plan Plan,
    ) -> impl Iterator<Item = (&'plan MountOp, Option<&'plan Source>)> {
        let operations = plan.mounts.iter().zip(&self.0).filter(|(_, is_common)| **is_common);
        operations.map(|(operation, _)| (operation, bound(operation, plan)))
    }
}

/// Whether a path is another one or lies below it.
fn is_within(path: &[u8], top: &[u8]) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn bound<'plan>(operation: &MountOp, plan: &'plan Plan) -> Option<&'plan Source> {
    match operation {
        MountOp::Bind { source, .. } => plan.sources.get(usize::try_from(source.0).ok()?),
        _ => None,
    }
}

/// A cage's copy, not mounted anywhere.
#[derive(Debug)]
pub(crate) struct CageCopy {
    pub(crate) root: OwnedFd,
    /// What of the Plan it already has.
    pub(crate) common: Common,
}

/// Those that were of use in the last second.
#[derive(Debug, Default)]
pub(crate) struct Skeletons<'a> {
    /// Where they are built; without, there are none.
    mounts: Option<&'a BareMounts>,
    known: VecDeque<Known>,
}

/// One that was seen, and built if it was seen again.
#[derive(Debug)]
struct Known {
    pieces: Vec<(MountOp, Option<Source>)>,
    built: Option<Skeleton>,
}

/// One that is built, in a mount namespace of its own in which nobody lives.
#[derive(Debug)]
struct Skeleton {
    namespace: OwnedFd,
    root: OwnedFd,
    since: Instant,
}

impl<'a> Skeletons<'a> {
    pub(crate) fn on(mounts: Option<&'a BareMounts>) -> Self {
        Self { mounts, known: VecDeque::new() }
    }

    /// A copy for a cage of this Plan; none for the first of its kind, and where it cannot be made: the cage
    /// is then built as a whole, and says what is wrong.
    pub(crate) fn copy_for(&mut self, plan: &Plan, sources: &[OwnedFd]) -> Option<CageCopy> {
        let mounts = self.mounts?;
        if plan.sources.len() > MOST_SOURCES {
            return None;
        }
        // Before anything is copied: what changes from here on makes the next cage ask.
        if mounts.home_has_changed() {
            self.known.iter_mut().for_each(|known| known.built = None);
        }
        let common = Common::of(&plan.mounts);
        let Some(position) = self.known.iter().position(|known| known.is_of(&common, plan)) else {
            self.remember(&common, plan);
            return None;
        };
        // What is used least is forgotten first.
        let known = self.known.remove(position)?;
        self.known.push_front(known);
        let known = self.known.front_mut()?;
        if known.built.as_ref().is_none_or(|built| built.since.elapsed() > LONGEST) {
            known.built = Some(Skeleton::build(plan, &common, sources, mounts)?);
        }
        let root = known.built.as_ref()?.copy(mounts).ok()?;
        Some(CageCopy { root, common })
    }

    fn remember(&mut self, common: &Common, plan: &Plan) {
        let pieces = common.pieces(plan);
        let pieces = pieces.map(|(operation, source)| (operation.clone(), source.cloned()));
        self.known.truncate(MOST - 1);
        self.known.push_front(Known { pieces: pieces.collect(), built: None });
    }

    /// Whether there is one that keeps the host's file systems in use.
    pub(crate) fn hold_something(&self) -> bool {
        self.known.iter().any(|known| known.built.is_some())
    }

    /// Lets go of everything.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

impl Known {
    fn is_of(&self, common: &Common, plan: &Plan) -> bool {
        let ours = self.pieces.iter().map(|(operation, source)| (operation, source.as_ref()));
        ours.map(Piece).eq(common.pieces(plan).map(Piece))
    }
}

/// An operation with what it binds: where that stands among the Plan's sources makes no difference.
struct Piece<'a>((&'a MountOp, Option<&'a Source>));

impl PartialEq for Piece<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (Self((operation, source)), Self((others, others_source))) = (self, other);
        let is_alike = match (operation, others) {
            (MountOp::Bind { at, .. }, MountOp::Bind { at: others_at, .. }) => {
                at == others_at && tree::attributes(operation) == tree::attributes(others)
            }
            _ => operation == others,
        };
        is_alike && source == others_source
    }
}

impl Skeleton {
    fn build(
        plan: &Plan,
        common: &Common,
        sources: &[OwnedFd],
        mounts: &BareMounts,
    ) -> Option<Self> {
        let binds = idmap::detach_common(plan, common, sources).ok()?;
        let since = Instant::now();
        let build = || {
            sys::clone::enter_new(Namespaces::MOUNT)?;
            let part = Part::Only(common);
            let beginning = Beginning { root: None, part, masks: Masks::Made };
            let tree = tree::build(plan, beginning, Sources::Made(binds), Furniture::default());
            let tree = tree.map_err(|failure| failure.errno().unwrap_or(Errno::INVAL))?;
            let namespace = bare_mounts::own_namespace()?;
            Ok(Self { namespace, root: tree.into_root(), since })
        };
        mounts.visit(build).ok()
    }

    fn copy(&self, mounts: &BareMounts) -> Result<OwnedFd, Errno> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        mounts.visit_other(&self.namespace, || rustix::mount::open_tree(&self.root, c"", flags))
    }
}

/// How old one may be, should a change ever go unnoticed.
const LONGEST: Duration = Duration::from_secs(1);

/// With more there may be no room for as many descriptors as building one takes.
const MOST_SOURCES: usize = 128;

/// How many are known at once.
const MOST: usize = 8;

#[cfg(test)]
mod tests;
