//! Changing the upper layer so that the view stays what it was, or becomes the host's: taking out what the host now
//! has, throwing changes away, putting back what an undo returns. Objects are moved whole; nothing is followed.

use std::collections::HashSet;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;

use crate::Workspace;
use crate::beneath::{self, Root};
use crate::change::Changes;
use crate::error::{Layer, WorkspaceError};
use crate::failpoint;
use crate::journal::wipe;
use crate::kept;
use crate::object::{Kind, Object};
use crate::path::TreePath;

/// Throws all changes away.
pub(crate) fn discard_all(workspace: &Workspace) -> Result<(), WorkspaceError> {
    let upper = workspace.upper()?;
    let names = beneath::names(upper.as_fd(), usize::MAX);
    for name in names.map_err(WorkspaceError::area("getdents64"))? {
        failpoint::reached().map_err(WorkspaceError::area("unlinkat"))?;
        let name = std::ffi::CString::new(name).unwrap_or_default();
        let object = Object::at(&upper, name.to_bytes()).map_err(WorkspaceError::area("statx"))?;
        let removed = match object {
            Some(object) if object.is_directory() => sys::wipe::wipe(upper.as_fd(), &name),
            _ => rustix::fs::unlinkat(&upper, &name, AtFlags::empty()),
        };
        removed.map_err(WorkspaceError::area("unlinkat"))?;
    }
    Ok(())
}

/// Throws the changes away that paths name.
pub(crate) fn discard(workspace: &Workspace, paths: &[TreePath]) -> Result<(), WorkspaceError> {
    if paths.iter().any(TreePath::is_root) {
        return discard_all(workspace);
    }
    let changes = workspace.look()?;
    let mut targets = Vec::new();
    for path in paths {
        let named: Vec<_> = changes.list.iter().filter(|change| change.is_named_by(path)).collect();
        let is_refused = changes.refused.iter().any(|refused| refused.path.is_within(path));
        if named.is_empty() && !is_refused {
            return Err(WorkspaceError::NotAChange(path.clone()));
        }
        targets.push(path.clone());
        // The other half of a rename.
        let halves =
            named.iter().flat_map(|change| change.former().into_iter().chain([&change.path]));
        targets.extend(halves.filter(|half| !half.is_within(path)).cloned());
    }
    targets.sort_unstable();
    targets.dedup();
    wipe(workspace.area.as_fd(), TRASH)?;
    let trash = Root::new(kept::directory(workspace.area.as_fd(), TRASH)?);
    let mut last: Option<&TreePath> = None;
    for target in &targets {
        if last.is_some_and(|last| target.is_within(last)) {
            continue;
        }
        last = Some(target);
        take_out(workspace, target, &trash)?;
    }
    wipe(workspace.area.as_fd(), TRASH)
}

/// Takes out of the upper layer what the host has as well, so that the view stays the same; `leave` names what goes
/// in any case. Everything is kept in `kept`.
pub(crate) fn tidy(
    workspace: &Workspace,
    leave: &[TreePath],
    kept: &Root,
) -> Result<(), WorkspaceError> {
    for path in leave {
        take_out(workspace, path, kept)?;
    }
    let remaining = Remaining::new(&workspace.look()?);
    let upper = workspace.upper()?;
    let mut pending = vec![TreePath::root()];
    while let Some(path) = pending.pop() {
        let opened = match upper.directory(&path) {
            Ok(opened) => opened,
            // Nothing of it differs from the host, or it was refused.
            Err(_) => continue,
        };
        let names = beneath::names(opened.as_fd(), usize::MAX);
        for name in names.map_err(WorkspaceError::kernel("getdents64", &path, Layer::Upper))? {
            let Ok(path) = path.join(&name) else { continue };
            if !remaining.has_within(&path) {
                match move_out(&upper, &path, kept) {
                    // It is the same as on the host: it does no harm where it is.
                    Ok(()) | Err(Errno::ACCESS | Errno::PERM | Errno::NOENT) => continue,
                    // A part of the directory was taken out before: the rest follows it.
                    Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                    Err(errno) => {
                        return Err(WorkspaceError::kernel("renameat2", &path, Layer::Upper)(
                            errno,
                        ));
                    }
                }
            }
            let is_directory = Object::at(&opened, &name)
                .is_ok_and(|object| object.is_some_and(|object| object.is_directory()));
            let marks = workspace.marking.read(opened.as_fd(), &name).unwrap_or_default();
            // In a directory that hides the host's, what is taken out would be gone from the view.
            if is_directory && !marks.opaque && !marks.redirect {
                pending.push(path);
            }
        }
    }
    Ok(())
}

/// Puts back into the upper layer what was taken out of it. What the program has made there since stays.
pub(crate) fn put_back(workspace: &Workspace, kept: &Root) -> Result<(), WorkspaceError> {
    let upper = workspace.upper()?;
    let mut pending = vec![TreePath::root()];
    while let Some(path) = pending.pop() {
        let failed = |call| WorkspaceError::kernel(call, &path, Layer::Upper);
        let (from, to) = (kept.directory(&path), upper.directory(&path));
        let (Ok(from), Ok(to)) = (from, to) else { continue };
        let names = beneath::names(from.as_fd(), usize::MAX).map_err(failed("getdents64"))?;
        for name in names {
            let flags = RenameFlags::NOREPLACE;
            match rename((from.as_fd(), &name), (to.as_fd(), &name), flags) {
                Ok(()) => {}
                Err(Errno::EXIST | Errno::NOTEMPTY) => pending.extend(path.join(&name)),
                Err(errno) => return Err(failed("renameat2")(errno)),
            }
        }
    }
    Ok(())
}

/// Takes one path out of the upper layer: the view shows the host's object there, and everything else in it stays
/// as it was.
fn take_out(workspace: &Workspace, path: &TreePath, to: &Root) -> Result<(), WorkspaceError> {
    let upper = workspace.upper()?;
    for ancestor in path.ancestors() {
        let failed = |call| WorkspaceError::kernel(call, &ancestor, Layer::Upper);
        let Some(object) = upper.look(&ancestor).map_err(failed("statx"))? else { return Ok(()) };
        let part_of = || WorkspaceError::PartOf { path: path.clone(), whole: ancestor.clone() };
        match object.kind {
            Kind::Directory => {}
            Kind::Other if object.raw.file_type == FileType::CharacterDevice => {
                unfold_deletion(workspace, &upper, &ancestor).map_err(failed("mkdirat"))?;
            }
            Kind::File | Kind::Link | Kind::Other => return Err(part_of()),
        }
        let (parent, name) = upper.parent(&ancestor).map_err(failed("openat2"))?;
        let marks = workspace.marking.read(parent.as_fd(), name).map_err(failed("lgetxattr"))?;
        if marks.redirect {
            return Err(part_of());
        }
        if marks.opaque {
            push_down(workspace, &upper, &ancestor).map_err(failed("lsetxattr"))?;
        }
    }
    match move_out(&upper, path, to) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(WorkspaceError::kernel("renameat2", path, Layer::Upper)(errno)),
    }
}

/// Says by its names what a directory says by hiding the host's: the view is the same, and each name can be taken
/// out. Whatever interrupts it, the view is the same too.
fn push_down(workspace: &Workspace, upper: &Root, path: &TreePath) -> Result<(), Errno> {
    let (parent, own_name) = upper.parent(path)?;
    let above = upper.directory(path)?;
    let below = match workspace.host.directory(path) {
        Ok(below) => below,
        // Nothing is hidden.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let here: HashSet<Vec<u8>> = beneath::names(above.as_fd(), usize::MAX)?.into_iter().collect();
    for name in beneath::names(below.as_fd(), usize::MAX)? {
        if !here.contains(&name) {
            failpoint::reached()?;
            let kind = FileType::CharacterDevice;
            rustix::fs::mknodat(&above, name.as_slice(), kind, Mode::empty(), 0)?;
            continue;
        }
        let is_directory = |directory: BorrowedFd<'_>| {
            Ok::<_, Errno>(Object::at(directory, &name)?.is_some_and(|found| found.is_directory()))
        };
        if is_directory(above.as_fd())? && is_directory(below.as_fd())? {
            workspace.marking.set_opaque(above.as_fd(), &name)?;
        }
    }
    workspace.marking.clear_opaque(parent.as_fd(), own_name)
}

/// Turns the mark of a deleted directory into an empty directory that hides the host's.
fn unfold_deletion(workspace: &Workspace, upper: &Root, path: &TreePath) -> Result<(), Errno> {
    let (parent, name) = upper.parent(path)?;
    let Some(host) = workspace.host.look(path)? else { return Ok(()) };
    let mode = Mode::from_raw_mode(host.permissions() | 0o700);
    failpoint::reached()?;
    match rustix::fs::mkdirat(&workspace.area, UNFOLDED, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let made = beneath::open_directory(workspace.area.as_fd(), UNFOLDED.as_bytes())?;
    rustix::fs::fchmod(&made, mode)?;
    workspace.marking.set_opaque(workspace.area.as_fd(), UNFOLDED.as_bytes())?;
    failpoint::reached()?;
    let flags = RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(&workspace.area, UNFOLDED, &parent, name, flags)?;
    failpoint::reached()?;
    rustix::fs::unlinkat(&workspace.area, UNFOLDED, AtFlags::empty())
}

/// Moves an object with everything in it to the same path elsewhere in the area.
fn move_out(upper: &Root, path: &TreePath, to: &Root) -> Result<(), Errno> {
    for ancestor in path.ancestors() {
        let (parent, name) = to.parent(&ancestor)?;
        let mode = upper.look(&ancestor)?.map_or(0o700, |object| object.permissions());
        failpoint::reached()?;
        match rustix::fs::mkdirat(&parent, name, Mode::RWXU) {
            Ok(()) => {
                let made = beneath::open_directory(parent.as_fd(), name)?;
                rustix::fs::fchmod(&made, Mode::from_raw_mode(mode | 0o700))?;
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    let (from, name) = upper.parent(path)?;
    let (to, _) = to.parent(path)?;
    rename((from.as_fd(), name), (to.as_fd(), name), RenameFlags::NOREPLACE)
}

/// Renames inside the area, where a program can have taken the permission for it away from us.
fn rename(
    (from, from_name): (BorrowedFd<'_>, &[u8]),
    (to, to_name): (BorrowedFd<'_>, &[u8]),
    flags: RenameFlags,
) -> Result<(), Errno> {
    failpoint::reached()?;
    let rename = || rustix::fs::renameat_with(from, from_name, to, to_name, flags);
    match rename() {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    let object = Object::at(from, from_name)?.ok_or(Errno::NOENT)?;
    // To move a directory is to write its `..`.
    let moved = match object.kind {
        Kind::Directory => Some(beneath::open_directory(from, from_name)?),
        Kind::File | Kind::Link | Kind::Other => None,
    };
    let concerned = [Some(from), Some(to), moved.as_ref().map(|moved| moved.as_fd())];
    let mut opened = Vec::new();
    for directory in concerned.into_iter().flatten() {
        let mode = Object::of(directory)?.mode;
        rustix::fs::fchmod(directory, Mode::from_raw_mode(mode | 0o700))?;
        opened.push((directory, mode));
    }
    let renamed = rename();
    for (directory, mode) in opened {
        rustix::fs::fchmod(directory, Mode::from_raw_mode(mode))?;
    }
    renamed
}

/// Paths that still differ, to be asked for.
struct Remaining(Vec<TreePath>);

impl Remaining {
    fn new(changes: &Changes) -> Self {
        let changed = changes.list.iter();
        let paths = changed.flat_map(|change| [Some(&change.path), change.former()]);
        let refused = changes.refused.iter().map(|refused| Some(&refused.path));
        let mut paths: Vec<TreePath> = paths.chain(refused).flatten().cloned().collect();
        paths.sort_unstable();
        Self(paths)
    }

    /// Whether the path or something below it differs.
    fn has_within(&self, path: &TreePath) -> bool {
        let first = self.0.partition_point(|other| other < path);
        self.0.get(first).is_some_and(|other| other.is_within(path))
    }
}

const TRASH: &str = "trash";
const UNFOLDED: &str = "unfolded";
