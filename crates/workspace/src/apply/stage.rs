//! Staging: every new object is made complete before the host changes at all, so that a full disk or a file that
//! cannot be read stops an apply while there is nothing to take back.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::AsFd as _;

use rustix::io::Errno;

use crate::Workspace;
use crate::attributes::UserAttributes;
use crate::beneath::{self, Root};
use crate::change::{Change, What};
use crate::copy::{self, Attributes, Owner};
use crate::error::{Layer, WorkspaceError};
use crate::journal::Staging;
use crate::object::{Kind, Object};
use crate::path::TreePath;
use crate::progress::Progress;
use crate::step::{Expected, Holds, Step, slot_name};

/// An object that the host gets.
pub(super) struct Put<'changes> {
    pub(super) change: &'changes Change,
    pub(super) content: Content,
}

/// Where its content comes from.
pub(super) enum Content {
    OfCage,
    /// A merge of both sides, with the cage's permissions.
    Text(Vec<u8>),
    /// The host's text with some of the changes, and the host's permissions.
    Hunks(Vec<u8>),
}

/// Makes the staged objects and the steps for them.
pub(super) struct Stage<'apply> {
    workspace: &'apply Workspace,
    upper: &'apply Root,
    staging: &'apply Staging,
    /// Whose new objects are, if the caller may choose: those of the directory that is worked on.
    owner: Owner,
    /// Objects of the host that several of the changes are about: their names are links to one file.
    linked: HashSet<(u64, u64)>,
}

impl<'apply> Stage<'apply> {
    pub(super) fn new(
        workspace: &'apply Workspace,
        upper: &'apply Root,
        staging: &'apply Staging,
    ) -> Result<Self, WorkspaceError> {
        let root = Object::of(&workspace.host).map_err(WorkspaceError::area("statx"))?;
        let owner = rustix::process::geteuid().is_root().then_some(root.owner);
        Ok(Self { workspace, upper, staging, owner, linked: HashSet::new() })
    }

    /// The steps for everything, in the order in which they work: permissions that are given come first, those that
    /// are taken away last.
    pub(super) fn all(
        mut self,
        puts: &[Put<'_>],
        takes: &[(TreePath, &Change)],
        attributes: &[&Change],
    ) -> Result<Vec<Step>, WorkspaceError> {
        self.linked =
            linked(puts.iter().map(|put| put.change).chain(takes.iter().map(|take| take.1)));
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for change in attributes {
            let is_open = change.after.is_some_and(|after| after.mode & 0o300 == 0o300);
            let steps = if is_open { &mut first } else { &mut last };
            steps.push(self.attributes(change)?);
        }
        let mut slot = 0;
        let mut steps = first;
        for (path, change) in takes {
            let old = self.expected(&change.before.ok_or_else(|| unreviewed(change))?);
            steps.push(Step::Take { path: path.clone(), slot, old });
            slot += 1;
        }
        for (number, put) in puts.iter().enumerate() {
            let staged = Progress::Staged { objects: number + 1, of: puts.len() };
            self.workspace.listener.tell(staged);
            let path = &put.change.path;
            let (step, attributes) = self.put(put, slot)?;
            steps.push(step);
            let before = Attributes { mode: 0o700, modified: None, user: UserAttributes::new() };
            let path = path.clone();
            last.extend(attributes.map(|after| Step::SetAttributes { path, before, after }));
            slot += 1;
        }
        // What is below is done before a directory is closed.
        last.sort_by(|one, other| other.path().cmp(one.path()));
        steps.extend(last);
        Ok(steps)
    }

    /// Makes one object; of a directory also the attributes that it gets when it is filled.
    fn put(&self, put: &Put<'_>, slot: u64) -> Result<(Step, Option<Attributes>), WorkspaceError> {
        let change = put.change;
        let path = &change.path;
        let reviewed = change.after.ok_or_else(|| unreviewed(change))?;
        let made = self.make(put, &reviewed, slot_name(slot).as_bytes());
        let (new, attributes) = match made {
            Err(Errno::STALE | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return Err(unreviewed(change));
            }
            // The new object is made where the host's lie.
            Err(full @ (Errno::NOSPC | Errno::DQUOT)) => {
                return Err(WorkspaceError::kernel("copy", path, Layer::Host)(full));
            }
            other => other.map_err(WorkspaceError::kernel("copy", path, Layer::Upper))?,
        };
        let old = match change.what {
            // What was there had another name.
            What::Renamed { .. } => self.occupant(change)?,
            _ => change.before,
        };
        // By force: whatever the host has there now.
        let old = old.map(|old| self.expected(&old));
        let holds = if new.is_directory() { Holds::Nothing } else { Holds::Content };
        let (new, modified, path) = (new.stamp, new.modified, path.clone());
        Ok((Step::Put { path, slot, new, modified, old, holds }, attributes))
    }

    /// What the host has now. Where one name of a file has gone, the kernel has changed the others.
    fn expected(&self, object: &Object) -> Expected {
        let (stamp, modified, size) = (object.stamp, object.modified, object.size);
        match self.linked.contains(&(stamp.device, stamp.inode)) {
            true => Expected::Linked { stamp, modified, size },
            false => Expected::Exactly(stamp),
        }
    }

    /// What the host has where something is renamed to; nothing, or it would not be a new name.
    fn occupant(&self, change: &Change) -> Result<Option<Object>, WorkspaceError> {
        let found = self.workspace.host.look(&change.path);
        let found = found.map_err(WorkspaceError::kernel("statx", &change.path, Layer::Host))?;
        if found.is_some() {
            Err(WorkspaceError::HostChanged(change.path.clone()))
        } else {
            Ok(None)
        }
    }

    fn make(
        &self,
        put: &Put<'_>,
        reviewed: &Object,
        slot: &[u8],
    ) -> Result<(Object, Option<Attributes>), Errno> {
        let path = &put.change.path;
        let (parent, name) = self.upper.parent(path)?;
        let now = Object::at(&parent, name)?.ok_or(Errno::STALE)?;
        // A directory changes with the names in it, each of which was reviewed by itself.
        let is_reviewed =
            now.is_directory() && reviewed.is_directory() || now.stamp == reviewed.stamp;
        if !is_reviewed {
            return Err(Errno::STALE);
        }
        let staging = self.staging.directory.as_fd();
        let owner = self.owner_of(put.change);
        let carried = || Attributes::carried(parent.as_fd(), name, reviewed);
        match (&put.content, reviewed.kind) {
            (Content::OfCage, Kind::Directory) => {
                let made = copy::directory(staging, slot, owner)?;
                Ok((Object::of(made)?, Some(carried()?)))
            }
            (Content::OfCage, Kind::Link) => {
                let target = beneath::read_link(parent.as_fd(), name)?;
                let made = copy::link(&target, staging, slot, reviewed.modified, owner)?;
                Ok((made, None))
            }
            (Content::OfCage, Kind::File) => {
                let (source, _) = beneath::open_file(parent.as_fd(), name)?;
                let source = File::from(source);
                let made = copy::file(&source, staging, slot, &carried()?, owner)?;
                // Whoever still writes to it has changed its date.
                if Object::of(&source)?.stamp != reviewed.stamp {
                    return Err(Errno::STALE);
                }
                Ok((made, None))
            }
            (Content::Text(text), _) => {
                let attributes = Attributes { modified: None, ..carried()? };
                Ok((copy::file_of(text, staging, slot, &attributes, owner)?, None))
            }
            (Content::Hunks(text), _) => {
                let (parent, name) = self.workspace.host.parent(path)?;
                let host = Object::at(&parent, name)?.ok_or(Errno::STALE)?;
                let exact = Attributes::carried(parent.as_fd(), name, &host)?;
                let attributes = Attributes { modified: None, ..exact };
                Ok((copy::file_of(text, staging, slot, &attributes, owner)?, None))
            }
            (Content::OfCage, Kind::Other) => Err(Errno::STALE),
        }
    }

    /// An object that takes another one's place belongs to whom that belonged to.
    fn owner_of(&self, change: &Change) -> Owner {
        let before = change.before.map(|before| before.owner);
        self.owner.map(|owner| before.unwrap_or(owner))
    }

    /// A directory that stays and gets other permissions or attributes.
    fn attributes(&self, change: &Change) -> Result<Step, WorkspaceError> {
        let path = change.path.clone();
        let reviewed = change.after.ok_or_else(|| unreviewed(change))?;
        let read = |root: &Root| {
            let (parent, name) = root.parent(&path)?;
            let now = Object::at(&parent, name)?.ok_or(Errno::STALE)?;
            let attributes = Attributes::exact(parent.as_fd(), name, &now)?;
            Ok::<_, Errno>(Attributes { modified: None, ..attributes })
        };
        let before = read(&self.workspace.host).map_err(WorkspaceError::kernel(
            "lgetxattr",
            &path,
            Layer::Host,
        ))?;
        let after =
            read(self.upper).map_err(WorkspaceError::kernel("lgetxattr", &path, Layer::Upper))?;
        // A host directory keeps the bits by which its files belong to a group.
        let mode = reviewed.permissions() | before.mode & 0o7000;
        Ok(Step::SetAttributes { before, after: Attributes { mode, ..after }, path })
    }
}

/// What more than one change is about.
fn linked<'a>(changes: impl Iterator<Item = &'a Change>) -> HashSet<(u64, u64)> {
    let mut seen = HashSet::new();
    let before = changes.filter_map(|change| change.before);
    let named = before.map(|object| (object.stamp.device, object.stamp.inode));
    named.filter(|object| !seen.insert(*object)).collect()
}

fn unreviewed(change: &Change) -> WorkspaceError {
    WorkspaceError::ChangedSinceReview(change.path.clone())
}
