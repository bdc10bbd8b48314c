//! The tree of a session, as its cages see it: `/scratch`, each view of a directory at its own place, with what programs
//! changed above what the host has, and the home that the project keeps. Nothing else is there, so nothing else can be
//! reached through a link.
//!
//! What a policy hides in a directory is not hidden here: who looks is whose files they are.

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use plan::HostPath;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use session::{Area, AreaKind, Projects, SessionError, SessionId, Sessions, Use};
use vfs::{
    At, Caller, Engine, FileSystem, Follow, Host, HostMode, Kind, Limits, Memory, Mounts, New,
    Overlay, Placement, ReadOnly,
};
use workspace::{Marking, Workspace, WorkspaceError};

use crate::error::FilesError;
use crate::sources::host;
use crate::tree::{Kept, Part, Purpose, State, Tree, own_caller};

/// A part of the tree before it is put there.
struct Found {
    part: Part,
    /// None where the host's directory is gone.
    engine: Option<Arc<dyn Engine>>,
    held: Option<Area>,
}

pub(crate) fn open(
    sessions: &Sessions,
    id: &SessionId,
    purpose: Purpose,
) -> Result<Tree, FilesError> {
    let listed = sessions.look(id)?;
    if listed.ending {
        return Err(SessionError::Ending(id.clone()).into());
    }
    let title = format!("session `{id}`");
    if purpose == Purpose::Write {
        finish_reviews(sessions, id)?;
    }
    let mut found = vec![scratch(sessions, id, purpose)?];
    for area in sessions.areas(id)? {
        if area.kind() != AreaKind::Home {
            found.push(view(area, purpose)?);
        }
    }
    let views: Vec<Vec<u8>> = found.iter().skip(1).map(|one| one.part.at.clone()).collect();
    found.extend(home(sessions, &views, purpose)?);
    found.sort_by(|one, other| one.part.at.cmp(&other.part.at));
    let start = match views.as_slice() {
        [] => Some(SCRATCH.to_vec()),
        [only] => Some(only.clone()),
        _ => None,
    };
    let root = together(&mut found).map_err(|error| FilesError::Failed {
        action: "open",
        tree: title.clone(),
        path: "/".to_owned(),
        source: error,
        fault: None,
    })?;
    let processes = listed.processes.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
    let (mut parts, mut held) = (Vec::new(), Vec::new());
    for one in found {
        parts.push(one.part);
        held.extend(one.held);
    }
    Ok(Tree {
        files: FileSystem::new(root, &Limits::default()),
        title,
        parts,
        start,
        session: Some((id.as_str().to_owned(), processes)),
        kept: Kept::Areas { _held: held },
        left_out: AtomicUsize::new(0),
    })
}

/// Finishes what an interrupted apply or undo left: by descriptors of their own, because giving up a lock gives it up for
/// all copies of a descriptor.
fn finish_reviews(sessions: &Sessions, id: &SessionId) -> Result<(), FilesError> {
    for area in sessions.areas(id)? {
        if area.kind() != AreaKind::Workspace {
            continue;
        }
        // One that is gone is told when it is asked for.
        let Ok(directory) = open_host(area.of()) else { continue };
        let workspace = Workspace::new(directory, area.into_descriptor(), Marking::User);
        match workspace.recover() {
            Ok(_) | Err(WorkspaceError::Busy) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn scratch(sessions: &Sessions, id: &SessionId, purpose: Purpose) -> Result<Found, FilesError> {
    let directory = sessions.open_scratch(id)?;
    let caller = owner(&directory).map_err(on(SCRATCH))?;
    // Nobody but its programs relies on what is in it, so it can be changed while they run.
    let engine = host(directory, purpose).map_err(|error| on(SCRATCH)(error.errno))?;
    let part = Part { at: SCRATCH.to_vec(), caller, state: State::Free };
    Ok(Found { part, engine: Some(Arc::new(engine)), held: None })
}

/// A view of a directory: the layer above what the host has.
fn view(area: Area, purpose: Purpose) -> Result<Found, FilesError> {
    let at = area.of().as_bytes().to_vec();
    let failed = |errno| on(&at)(errno);
    let below = match open_host(area.of()) {
        Ok(directory) => directory,
        Err(errno) => {
            let state = State::Gone(area.of().as_path().to_owned(), errno);
            let part = Part { at, caller: own_caller(), state };
            return Ok(Found { part, engine: None, held: None });
        }
    };
    let caller = owner(&below).map_err(failed)?;
    let below = host(below, Purpose::Read).map_err(|error| failed(error.errno))?;
    let below: Arc<dyn Engine> = Arc::new(ReadOnly::new(Arc::new(below)));
    let is_free = purpose == Purpose::Write
        && match area.occupy(Use::Alone) {
            Ok(()) => true,
            Err(SessionError::AreaInUse(_)) => false,
            Err(error) => return Err(error.into()),
        };
    let engine = match layered(&area, Arc::clone(&below), is_free) {
        Ok(overlay) => overlay,
        // No run has made the layer yet.
        Err(error) if error.errno == Errno::NOENT => below,
        Err(error) => return Err(failed(error.errno)),
    };
    let state = match (purpose, is_free) {
        (Purpose::Write, false) => State::InUse(area.of().clone()),
        _ => State::Free,
    };
    let held = is_free.then_some(area);
    Ok(Found { part: Part { at, caller, state }, engine: Some(engine), held })
}

/// What the area has above a directory, as the kernel wrote it. Where it is only looked at, nothing is made there.
fn layered(area: &Area, below: Arc<dyn Engine>, is_changed: bool) -> vfs::Result<Arc<dyn Engine>> {
    let limits = Limits::default();
    if is_changed {
        let mode = match rustix::process::geteuid().is_root() {
            true => HostMode::WritableAsCaller,
            false => HostMode::Writable,
        };
        let own = rustix::io::fcntl_dupfd_cloexec(area.as_fd(), 0)?;
        let above = Host::new(own, mode, &limits)?.with_marks_of_kernel();
        return Ok(Arc::new(Overlay::as_the_kernel(vec![below], Arc::new(above), &limits)?));
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let upper = rustix::fs::openat(area, UPPER, flags, Mode::empty())?;
    let above = Host::new(upper, HostMode::ReadOnly, &limits)?.with_marks_of_kernel();
    let nothing = Memory::new(&Caller::root(), 0o755, Limits::default());
    let overlay = Overlay::new(vec![Arc::new(above), below], Arc::new(nothing), &limits)?;
    Ok(Arc::new(ReadOnly::new(Arc::new(overlay))))
}

/// The home that is kept for the project that a view of the session is of.
fn home(
    sessions: &Sessions,
    views: &[Vec<u8>],
    purpose: Purpose,
) -> Result<Option<Found>, FilesError> {
    let home = std::env::home_dir().and_then(|home| HostPath::new(home.into_os_string()).ok());
    let Some(home) = home else { return Ok(None) };
    let mut projects = Projects::open(sessions.state())?.list()?;
    projects.retain(|project| {
        let root = project.root().as_bytes();
        views.iter().any(|view| crate::tree::is_within(view, root))
    });
    let nearest = projects.iter().max_by_key(|project| project.root().as_bytes().len());
    let Some(project) = nearest else { return Ok(None) };
    let areas = project.areas().list()?;
    let Some(area) = areas.into_iter().find(|area| area.kind() == AreaKind::Home) else {
        return Ok(None);
    };
    let at = home.as_path().as_os_str().as_bytes().to_vec();
    let directory = area.open_written()?;
    let caller = owner(&directory).map_err(on(&at))?;
    let failed = |error: vfs::Error| on(&at)(error.errno);
    let engine: Arc<dyn Engine> = Arc::new(host(directory, purpose).map_err(failed)?);
    let files = FileSystem::new(Arc::clone(&engine), &Limits::default());
    for view in views.iter().filter(|view| crate::tree::is_within(view, &at)) {
        let below = view.get(at.len()..).unwrap_or_default();
        // A home that has no place for what the session changed was never seen together with it.
        if !below.is_empty() && !is_real_directory(&files, below).map_err(failed)? {
            return Ok(None);
        }
    }
    let part = Part { at, caller, state: State::Free };
    Ok(Some(Found { part, engine: Some(engine), held: None }))
}

/// All parts in one tree, the outer ones first. One that has no place in an outer one, because a program removed that, or
/// because a run has not made it yet, is not shown.
fn together(found: &mut Vec<Found>) -> vfs::Result<Arc<dyn Engine>> {
    let root = Caller::root();
    let memory = Arc::new(Memory::new(&root, 0o755, Limits::default()));
    let base = FileSystem::new(Arc::clone(&memory) as Arc<dyn Engine>, &Limits::default());
    let with_engine = |one: &&Found| one.engine.is_some();
    for one in found.iter().filter(with_engine) {
        let above = found.iter().filter(with_engine);
        let is_inner = above
            .filter(|other| other.part.at != one.part.at)
            .any(|other| crate::tree::is_within(&one.part.at, &other.part.at));
        if !is_inner {
            make_all(&base, &one.part.at)?;
        }
    }
    let mounts = Mounts::new(Arc::new(ReadOnly::new(memory)));
    let all = FileSystem::new(Arc::clone(&mounts) as Arc<dyn Engine>, &Limits::default());
    let mut left_out = Vec::new();
    for one in found.iter_mut() {
        let Some(engine) = one.engine.take() else { continue };
        if is_real_directory(&all, &one.part.at)? {
            mounts.mount(&one.part.at, engine, Placement::Sensitive)?;
        } else {
            left_out.push(one.part.at.clone());
        }
    }
    found.retain(|one| !left_out.contains(&one.part.at));
    Ok(mounts)
}

fn make_all(files: &FileSystem, path: &[u8]) -> vfs::Result<()> {
    for above in prefixes(path) {
        match files.make(&Caller::root(), At::Root, above, New::Directory, 0o755) {
            Err(error) if error.errno == Errno::EXIST => {}
            made => made?,
        }
    }
    Ok(())
}

/// Whether a path leads to a directory without a link on the way: a program may have put one there.
fn is_real_directory(files: &FileSystem, path: &[u8]) -> vfs::Result<bool> {
    for above in prefixes(path) {
        match files.stat(&Caller::root(), At::Root, above, Follow::No) {
            Ok(found) if found.kind == Kind::Directory => {}
            Ok(_) => return Ok(false),
            Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A path and those above it, from the outermost on.
fn prefixes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = (1..path.len()).filter(|at| path.get(*at) == Some(&b'/')).chain([path.len()]);
    ends.filter_map(|end| path.get(..end))
}

/// Where the directory really was when a run began: a link on the way was made since.
fn open_host(path: &HostPath) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path.as_path(), flags, Mode::empty(), resolve)
}

/// As whom files in a directory are changed: root makes them for whom the directory belongs to.
fn owner(directory: &OwnedFd) -> Result<Caller, Errno> {
    if !rustix::process::geteuid().is_root() {
        return Ok(own_caller());
    }
    let found = rustix::fs::fstat(directory)?;
    Ok(Caller::of(found.st_uid, found.st_gid))
}

fn on(path: &[u8]) -> impl Fn(Errno) -> FilesError + '_ {
    move |errno| FilesError::Host {
        path: std::ffi::OsStr::from_bytes(path).into(),
        source: errno.into(),
    }
}

const SCRATCH: &[u8] = b"/scratch";

/// What a view of the kernel's has in its directory.
const UPPER: &str = "upper";
