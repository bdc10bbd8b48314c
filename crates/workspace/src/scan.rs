//! The walk that finds what differs: the upper layer beside the host, directory by directory. Iterative, bounded,
//! beneath descriptors; whatever the layer claims, no link is followed and no mark leads elsewhere. Reads only.

mod flags;

use std::collections::HashSet;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::attributes::{self, Marking, Marks};
use crate::beneath::{self, Root};
use crate::change::{Change, Changes, Conflict, Refusal, Refused, What};
use crate::content;
use crate::error::{Layer, WorkspaceError};
use crate::object::{Kind, Object};
use crate::path::TreePath;
use crate::progress::{Listener, Progress};
use crate::since::Since;

use flags::{change, is_repository, link_leads_out};

/// What a walk needs to know.
pub(crate) struct Scan<'workspace> {
    pub(crate) upper: &'workspace Root,
    pub(crate) host: &'workspace Root,
    pub(crate) marking: Marking,
    pub(crate) since: Since,
    /// How many names may be looked at.
    pub(crate) most: usize,
    /// The host's file system: another one is a mount.
    pub(crate) device: u64,
    pub(crate) listener: &'workspace Listener,
}

/// The walk itself.
struct Walk<'scan> {
    scan: &'scan Scan<'scan>,
    left: usize,
    found: Changes,
    pending: Vec<Pending>,
}

/// A directory of the upper layer that is still to be looked into.
struct Pending {
    path: TreePath,
    object: Object,
    host: HostSide,
    /// Where the path of a repository ends that is not called `.git`.
    repository: Option<usize>,
}

/// What the host has of a directory in the upper layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HostSide {
    /// A directory that shows through.
    Merged,
    /// A directory that is hidden: what it alone has was deleted.
    Hidden,
    /// No directory.
    Absent,
}

/// A directory that is being looked into.
struct Place<'pending> {
    pending: &'pending Pending,
    upper: OwnedFd,
    host: Option<OwnedFd>,
    repository: Option<usize>,
}

impl Scan<'_> {
    /// Everything that differs, sorted by path, with nothing said about renames.
    pub(crate) fn run(&self) -> Result<Changes, WorkspaceError> {
        let object = Object::of(self.upper).map_err(WorkspaceError::area("statx"))?;
        let root =
            Pending { path: TreePath::root(), object, host: HostSide::Merged, repository: None };
        let mut walk =
            Walk { scan: self, left: self.most, found: Changes::default(), pending: vec![root] };
        while let Some(pending) = walk.pending.pop() {
            walk.look_into(&pending)?;
            self.listener.tell(Progress::Compared(self.most.saturating_sub(walk.left)));
        }
        let Changes { mut list, mut refused } = walk.found;
        list.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        refused.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        spread_conflicts(&mut list);
        Ok(Changes { list, refused })
    }
}

impl Walk<'_> {
    fn look_into(&mut self, pending: &Pending) -> Result<(), WorkspaceError> {
        let upper = match self.scan.upper.directory(&pending.path) {
            Ok(directory) => directory,
            // Removed or replaced meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(errno) => return self.unreadable(errno, &pending.path, Layer::Upper),
        };
        let host = match pending.host {
            HostSide::Absent => None,
            HostSide::Merged | HostSide::Hidden => match self.scan.host.directory(&pending.path) {
                Ok(directory) => Some(directory),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
                Err(errno) => return self.unreadable(errno, &pending.path, Layer::Host),
            },
        };
        let names = match self.names(upper.as_fd()) {
            Err(errno) => return self.unreadable(errno, &pending.path, Layer::Upper),
            Ok(names) => names,
        };
        let repository = pending.repository.or_else(|| {
            is_repository(&names, host.as_ref()).then_some(pending.path.as_bytes().len())
        });
        let place = Place { pending, upper, host, repository };
        for name in &names {
            self.look_at(&place, name)?;
        }
        if pending.host == HostSide::Hidden {
            self.delete_hidden(&place, names)?;
        }
        Ok(())
    }

    /// One name of the upper layer.
    fn look_at(&mut self, place: &Place<'_>, name: &[u8]) -> Result<(), WorkspaceError> {
        let Ok(path) = place.pending.path.join(name) else {
            self.refuse(&place.pending.path, Refusal::TooDeep);
            return Ok(());
        };
        let failed = |errno| WorkspaceError::kernel("statx", &path, Layer::Upper)(errno);
        let Some(upper) = Object::at(&place.upper, name).map_err(failed)? else { return Ok(()) };
        let host = match &place.host {
            Some(host) => Object::at(host, name).map_err(WorkspaceError::kernel(
                "statx",
                &path,
                Layer::Host,
            ))?,
            None => None,
        };
        if host.is_some_and(|host| host.stamp.device != self.scan.device) {
            self.refuse(&path, Refusal::Mounted);
            return Ok(());
        }
        let marks = match upper.kind {
            Kind::File | Kind::Directory => match self.scan.marking.read(place.upper.as_fd(), name)
            {
                Ok(marks) => marks,
                Err(Errno::OPNOTSUPP) => Marks::default(),
                Err(Errno::NOENT) => return Ok(()),
                Err(errno) => return self.unreadable(errno, &path, Layer::Upper),
            },
            Kind::Link | Kind::Other => Marks::default(),
        };
        match stands_for(&upper, marks) {
            Err(refusal) => self.refuse(&path, refusal),
            Ok(Stands::Deletion) => {
                if let Some(host) = host {
                    self.delete(place.repository, &path, host, &upper)?;
                }
            }
            Ok(Stands::Object) => self.compare(place, &path, host, upper, marks)?,
        }
        Ok(())
    }

    /// An object of the upper layer beside what the host has under its name.
    fn compare(
        &mut self,
        place: &Place<'_>,
        path: &TreePath,
        host: Option<Object>,
        upper: Object,
        marks: Marks,
    ) -> Result<(), WorkspaceError> {
        let is_gone = host.is_none() && marks.origin && self.was_removed(place, path, &upper)?;
        let gone = is_gone.then_some(Conflict::Gone);
        let judged = host.and_then(|host| self.scan.since.judge(path, &host, &upper));
        let (what, conflict) = match host {
            None => (Some(What::Added), gone),
            Some(host) if host.kind != upper.kind => (Some(What::TypeChanged), judged),
            Some(host) => {
                let conflict = if upper.is_directory() { None } else { judged };
                match self.difference(place, path, &host, &upper) {
                    Ok(what) => (what, conflict),
                    Err(Errno::NOENT | Errno::STALE) => return Ok(()),
                    Err(Errno::TOOBIG) => {
                        self.refuse(path, Refusal::Attributes);
                        return Ok(());
                    }
                    Err(errno) => return self.unreadable(errno, path, Layer::Upper),
                }
            }
        };
        if let Some(what) = what {
            let mut change = change(place.repository, path, what, host, Some(upper));
            change.conflict = conflict;
            change.leads_out = upper.kind == Kind::Link && self.leads_out(place, path);
            self.found.list.push(change);
        }
        if host.is_some_and(|host| host.is_directory()) && !upper.is_directory() {
            self.delete_below(place.repository, path, &upper)?;
        }
        if upper.is_directory() {
            let is_hidden = marks.opaque || place.pending.host == HostSide::Hidden;
            let host = match host {
                Some(host) if host.is_directory() && is_hidden => HostSide::Hidden,
                Some(host) if host.is_directory() => HostSide::Merged,
                _ => HostSide::Absent,
            };
            let repository = place.repository;
            self.pending.push(Pending { path: path.clone(), object: upper, host, repository });
        }
        Ok(())
    }

    /// Whether the host can have removed a name of a directory. Overlayfs notes that a file was copied from the host,
    /// and not under which name; one that the program has renamed is copied too.
    fn was_removed(
        &self,
        place: &Place<'_>,
        path: &TreePath,
        upper: &Object,
    ) -> Result<bool, WorkspaceError> {
        let Some(host) = &place.host else { return Ok(false) };
        let directory =
            Object::of(host).map_err(WorkspaceError::kernel("statx", path, Layer::Host))?;
        Ok(self.scan.since.names_changed(&place.pending.path, &directory, upper))
    }

    /// How two objects of the same kind differ.
    fn difference(
        &self,
        place: &Place<'_>,
        path: &TreePath,
        host: &Object,
        upper: &Object,
    ) -> Result<Option<What>, Errno> {
        let Some(((_, name), host_directory)) = path.split().zip(place.host.as_ref()) else {
            return Ok(Some(What::Modified));
        };
        let (above, below) = (place.upper.as_fd(), host_directory.as_fd());
        let same_content = match upper.kind {
            Kind::Directory => true,
            Kind::Link => beneath::read_link(above, name)? == beneath::read_link(below, name)?,
            Kind::File => upper.size == host.size && content::is_same(above, below, name)?,
            Kind::Other => false,
        };
        if !same_content {
            return Ok(Some(What::Modified));
        }
        if upper.kind == Kind::Link {
            return Ok(None);
        }
        let same =
            upper.permissions() == host.permissions() && same_attributes(above, below, name)?;
        Ok((!same).then_some(What::AttributesChanged))
    }

    /// Names that the host has in a hidden directory and the upper layer has not.
    fn delete_hidden(
        &mut self,
        place: &Place<'_>,
        names: Vec<Vec<u8>>,
    ) -> Result<(), WorkspaceError> {
        let Some(host) = &place.host else { return Ok(()) };
        let kept: HashSet<Vec<u8>> = names.into_iter().collect();
        let path = &place.pending.path;
        let of_host = match self.names(host.as_fd()) {
            Ok(names) => names,
            Err(errno) => return self.unreadable(errno, path, Layer::Host),
        };
        for name in of_host.iter().filter(|name| !kept.contains(*name)) {
            let Ok(path) = path.join(name) else { continue };
            let object = Object::at(host, name).map_err(WorkspaceError::kernel(
                "statx",
                &path,
                Layer::Host,
            ))?;
            if let Some(object) = object {
                self.delete(place.repository, &path, object, &place.pending.object)?;
            }
        }
        Ok(())
    }

    /// A host object that is gone for the cage, with everything in it.
    fn delete(
        &mut self,
        repository: Option<usize>,
        path: &TreePath,
        host: Object,
        upper: &Object,
    ) -> Result<(), WorkspaceError> {
        self.push_deleted(repository, path, host, upper);
        if host.is_directory() { self.delete_below(repository, path, upper) } else { Ok(()) }
    }

    fn delete_below(
        &mut self,
        repository: Option<usize>,
        path: &TreePath,
        upper: &Object,
    ) -> Result<(), WorkspaceError> {
        let mut pending = vec![path.clone()];
        while let Some(path) = pending.pop() {
            let opened = self.scan.host.directory(&path);
            let listed = opened.and_then(|opened| Ok((self.names(opened.as_fd())?, opened)));
            let (names, opened) = match listed {
                Ok(listed) => listed,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(Errno::TOOBIG) => return Err(self.too_large()),
                Err(errno) => {
                    let mut found = self.found.list.iter_mut().rev();
                    if let Some(change) = found.find(|change| change.path == path) {
                        let is_mount = errno == Errno::XDEV;
                        let why = if is_mount { Conflict::Mounted } else { Conflict::Unreadable };
                        change.conflict = Some(why);
                    }
                    continue;
                }
            };
            for name in names {
                let Ok(path) = path.join(&name) else { continue };
                let object = Object::at(&opened, &name).map_err(WorkspaceError::kernel(
                    "statx",
                    &path,
                    Layer::Host,
                ))?;
                let Some(object) = object else { continue };
                self.push_deleted(repository, &path, object, upper);
                if object.is_directory() {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }

    fn push_deleted(
        &mut self,
        repository: Option<usize>,
        path: &TreePath,
        host: Object,
        upper: &Object,
    ) {
        let mut change = change(repository, path, What::Deleted, Some(host), None);
        change.conflict = self.scan.since.judge(path, &host, upper);
        if host.stamp.device != self.scan.device {
            change.conflict = Some(Conflict::Mounted);
        }
        self.found.list.push(change);
    }

    fn leads_out(&self, place: &Place<'_>, path: &TreePath) -> bool {
        let Some((_, name)) = path.split() else { return true };
        beneath::read_link(place.upper.as_fd(), name)
            .map_or(true, |target| link_leads_out(path, &target))
    }

    fn names(&mut self, directory: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
        let names = beneath::names(directory, self.left)?;
        self.left = self.left.saturating_sub(names.len());
        Ok(names)
    }

    /// What to make of a directory or an object that cannot be looked at.
    fn unreadable(
        &mut self,
        errno: Errno,
        path: &TreePath,
        layer: Layer,
    ) -> Result<(), WorkspaceError> {
        match errno {
            Errno::ACCESS | Errno::PERM => self.refuse(path, Refusal::Unreadable),
            Errno::XDEV => self.refuse(path, Refusal::Mounted),
            Errno::NAMETOOLONG => self.refuse(path, Refusal::TooDeep),
            Errno::TOOBIG => return Err(self.too_large()),
            errno => return Err(WorkspaceError::kernel("open", path, layer)(errno)),
        }
        Ok(())
    }

    fn refuse(&mut self, path: &TreePath, reason: Refusal) {
        let refused = Refused { path: path.clone(), reason };
        if self.found.refused.last() != Some(&refused) {
            self.found.refused.push(refused);
        }
    }

    fn too_large(&self) -> WorkspaceError {
        WorkspaceError::TooLarge { most: self.scan.most }
    }
}

enum Stands {
    Object,
    Deletion,
}

/// What an object of the upper layer stands for.
fn stands_for(upper: &Object, marks: Marks) -> Result<Stands, Refusal> {
    match upper.raw.file_type {
        FileType::CharacterDevice if upper.raw.represents == 0 => Ok(Stands::Deletion),
        FileType::RegularFile if marks.whiteout && upper.size == 0 => Ok(Stands::Deletion),
        FileType::RegularFile | FileType::Directory if marks.redirect => Err(Refusal::Redirect),
        FileType::RegularFile if marks.metacopy => Err(Refusal::Metacopy),
        FileType::RegularFile | FileType::Directory if is_shut(upper) => Err(Refusal::Unreadable),
        FileType::RegularFile | FileType::Directory | FileType::Symlink => Ok(Stands::Object),
        FileType::Socket => Err(Refusal::Socket),
        FileType::Fifo => Err(Refusal::Fifo),
        _ => Err(Refusal::Device),
    }
}

/// Whether the program took the permission to read its own file away, from us as well.
fn is_shut(upper: &Object) -> bool {
    let needed = if upper.is_directory() { 0o500 } else { 0o400 };
    upper.mode & needed != needed && !rustix::process::geteuid().is_root()
}

fn same_attributes(
    above: BorrowedFd<'_>,
    below: BorrowedFd<'_>,
    name: &[u8],
) -> Result<bool, Errno> {
    let Some(below) = attributes::user_attributes(below, name)? else { return Ok(true) };
    Ok(attributes::user_attributes(above, name)?.is_none_or(|above| above == below))
}

/// A directory cannot be removed while something in it must stay.
fn spread_conflicts(list: &mut [Change]) {
    let mut above: std::collections::HashMap<TreePath, Conflict> = std::collections::HashMap::new();
    for change in list.iter() {
        let Some(conflict) = change.conflict.filter(|_| change.what == What::Deleted) else {
            continue;
        };
        for ancestor in change.path.ancestors() {
            above.entry(ancestor).or_insert(conflict);
        }
    }
    for change in list.iter_mut().filter(|change| change.conflict.is_none()) {
        let was_directory = change.before.is_some_and(|before| before.is_directory());
        let is_directory = change.after.is_some_and(|after| after.is_directory());
        if was_directory && !is_directory {
            change.conflict = above.get(&change.path).copied();
        }
    }
}
