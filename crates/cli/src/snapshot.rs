//! `stockade snapshot`: keeps what sessions and stores have, and brings it back.
//!
//! Snapshots of sessions lie in one store of the user's state directory. What comes from an archive is put into a
//! session's scratch alone: a workspace names a path of the host that its changes are applied to, and nobody else may
//! choose that.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use cage::session::{Before, Contents, SessionError, Sessions};
use cage::state::{Directory, Locations, StateError};
use policy::shown::shown;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use snapshot::{Bounds, Library, SnapshotError};
use store::{Snapshot, StoreError};

use crate::arguments::snapshots::{InStore, Of, SnapshotArguments, SnapshotCommand};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::session::parse;

mod list;

/// The command.
pub(crate) fn snapshot(arguments: &SnapshotArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        SnapshotCommand::Save { name, of } => save(checked(name)?, of)?,
        SnapshotCommand::Restore { name, of } => restore(checked(name)?, of)?,
        SnapshotCommand::Fork { name, session: Some(id), .. } => {
            fill(checked(name)?, id, Before::None)?;
        }
        SnapshotCommand::Fork { name, store: Some(store), to: Some(to), .. } => {
            let mut library = Library::open_store(store).map_err(failed)?;
            library.store().fork(checked(name)?.as_bytes(), to).map_err(failed_store)?;
        }
        // The parser wants one of them.
        SnapshotCommand::Fork { .. } => {
            return Err(Failure::new(Exit::Usage, "name a session or a store"));
        }
        SnapshotCommand::List { store, json } => list::list(&opened(store)?, store, *json)?,
        SnapshotCommand::Rm { name, store } => {
            let library = opened(store)?;
            library.remove(&find(&library, store, checked(name)?)?).map_err(failed)?;
        }
        SnapshotCommand::Export { name, file, store } => export(checked(name)?, file, store)?,
        SnapshotCommand::Import { file, name, store } => import(file, checked(name)?, store)?,
    }
    Ok(Exit::Success)
}

fn save(name: &str, of: &Of) -> Result<(), Failure> {
    let Some(id) = &of.session else {
        let mut library =
            Library::open_store(of.store.as_deref().unwrap_or(Path::new(""))).map_err(failed)?;
        return library.store().save(name.as_bytes()).map_err(failed_store);
    };
    let id = parse(id)?;
    let (library, sessions) = (opened(&InStore { store: None })?, sessions()?);
    if find_kind(&library, name)?.is_some() {
        return Err(taken(name));
    }
    let contents = sessions.contents(&id).map_err(crate::session::failed)?;
    let directory = contents.as_fd().try_clone_to_owned();
    let directory =
        directory.map_err(|error| Failure::new(Exit::CannotBuild, error.to_string()))?;
    let leave_out = |path: &[u8]| {
        let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
        !Contents::NAMES.iter().any(|name| name.as_bytes() == first) || Contents::is_work(path)
    };
    let saved = library.save_directory(&format!("{OF_SESSION}{name}"), directory, &leave_out);
    saved.map_err(failed)
}

fn restore(name: &str, of: &Of) -> Result<(), Failure> {
    match (&of.session, &of.store) {
        (Some(id), _) => fill(name, id, Before::Replaced),
        (None, Some(store)) => {
            let mut library = Library::open_store(store).map_err(failed)?;
            library.store().restore(name.as_bytes()).map_err(failed_store)
        }
        (None, None) => Err(Failure::new(Exit::Usage, "name a session or a store")),
    }
}

/// Makes a session with what a snapshot has.
fn fill(name: &str, id: &str, before: Before) -> Result<(), Failure> {
    let id = parse(id)?;
    let (library, sessions) = (opened(&InStore { store: None })?, sessions()?);
    let kind = find_kind(&library, name)?.ok_or_else(|| missing(name))?;
    let whole = format!("{kind}{name}");
    let filled: Result<(), Filling> = sessions.make_with(&id, before, |directory| {
        let directory = if kind == OF_ARCHIVE { scratch(&directory)? } else { directory };
        Ok(library.restore_directory(&whole, directory)?)
    });
    filled.map_err(|error| match error {
        Filling::Session(error) => crate::session::failed(error),
        Filling::Snapshot(error) => failed(error),
    })
}

/// Why a session could not be made with a snapshot.
enum Filling {
    Session(SessionError),
    Snapshot(SnapshotError),
}

impl From<SessionError> for Filling {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<SnapshotError> for Filling {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

fn scratch(directory: &OwnedFd) -> Result<OwnedFd, SnapshotError> {
    let failed = |call: &'static str| {
        move |source: Errno| SnapshotError::Host { call, path: SCRATCH.to_owned(), source }
    };
    rustix::fs::mkdirat(directory, SCRATCH, Mode::RWXU).map_err(failed("mkdir"))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, SCRATCH, flags, Mode::empty()).map_err(failed("open"))
}

fn export(name: &str, file: &Path, store: &InStore) -> Result<(), Failure> {
    let library = opened(store)?;
    let name = find(&library, store, name)?;
    if file == Path::new("-") {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        return library.export(&name, &mut out).map_err(failed);
    }
    let of_file = |error: std::io::Error| {
        let file = shown(file.display());
        Failure::new(Exit::Refused, format!("cannot write `{file}`: {error}"))
    };
    let new = File::options().write(true).create_new(true).open(file).map_err(of_file)?;
    let mut out = std::io::BufWriter::new(&new);
    let exported = library.export(&name, &mut out).map_err(failed);
    let exported =
        exported.and_then(|()| out.flush().and_then(|()| new.sync_all()).map_err(of_file));
    if exported.is_err() {
        let _gone = std::fs::remove_file(file);
    }
    exported
}

fn import(file: &Path, name: &str, store: &InStore) -> Result<(), Failure> {
    let library = opened(store)?;
    let mut archive: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|error| {
            let file = shown(file.display());
            Failure::new(Exit::Refused, format!("cannot read `{file}`: {error}"))
        })?;
        Box::new(std::io::BufReader::new(opened))
    };
    let name = if store.store.is_some() {
        name.to_owned()
    } else if find_kind(&library, name)?.is_some() {
        return Err(taken(name));
    } else {
        format!("{OF_ARCHIVE}{name}")
    };
    library.import(&name, &mut archive, &Bounds::default()).map_err(failed)
}

fn opened(store: &InStore) -> Result<Library, Failure> {
    if let Some(path) = &store.store {
        return Library::open_store(path).map_err(failed);
    }
    let locations = Locations::of_this_process();
    let state = Directory::open(locations.state.as_ref().ok_or(StateError::NoPlace)?)?;
    let path: PathBuf = state.path().as_path().join(LIBRARY);
    Library::open(&path).map_err(failed)
}

fn sessions() -> Result<Sessions, Failure> {
    crate::session::open(&Locations::of_this_process())
}

/// The whole name of a snapshot.
fn find(library: &Library, store: &InStore, name: &str) -> Result<String, Failure> {
    if store.store.is_some() {
        return Ok(name.to_owned());
    }
    let kind = find_kind(library, name)?.ok_or_else(|| missing(name))?;
    Ok(format!("{kind}{name}"))
}

/// What a snapshot of this name came from.
fn find_kind(library: &Library, name: &str) -> Result<Option<&'static str>, Failure> {
    let all = library.list().map_err(failed)?;
    let has = |kind: &str| {
        let is_it = |one: &Snapshot| one.name == format!("{kind}{name}").as_bytes();
        all.iter().any(is_it)
    };
    Ok([OF_SESSION, OF_ARCHIVE].into_iter().find(|kind| has(kind)))
}

fn checked(name: &str) -> Result<&str, Failure> {
    let is_fine = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_');
    if (1..=LONGEST).contains(&name.len()) && name.chars().all(is_fine) {
        return Ok(name);
    }
    let message = format!("`{}` cannot be the name of a snapshot", shown(name));
    let help = format!("letters, digits, `.`, `-` and `_`, at most {LONGEST}");
    Err(Failure::new(Exit::Usage, message).help(help))
}

fn taken(name: &str) -> Failure {
    let help = format!("choose another name, or remove it: `stockade snapshot rm {name}`");
    Failure::new(Exit::Refused, format!("there is a snapshot `{name}` already")).help(help)
}

fn missing(name: &str) -> Failure {
    Failure::new(Exit::No, format!("there is no snapshot `{name}`"))
        .help("`stockade snapshot list` shows those there are")
}

fn failed_store(error: StoreError) -> Failure {
    failed(error.into())
}

fn failed(error: SnapshotError) -> Failure {
    let errno = match &error {
        SnapshotError::Store(StoreError::Operation { source, .. }) => Some(source.errno),
        _ => None,
    };
    let exit = match (&error, errno) {
        (_, Some(Errno::NOENT)) => Exit::No,
        (_, Some(Errno::EXIST | Errno::BUSY)) => Exit::Refused,
        (SnapshotError::Store(StoreError::Missing(_)), _) => Exit::No,
        (
            SnapshotError::Store(StoreError::InUse(_) | StoreError::Exists(_))
            | SnapshotError::Invalid { .. }
            | SnapshotError::Refused { .. }
            | SnapshotError::TooMuch { .. },
            _,
        ) => Exit::Refused,
        _ => Exit::CannotBuild,
    };
    Failure::new(exit, with_causes(&error))
}

/// What the names in the library begin with: no name that is given has a colon.
const OF_SESSION: &str = "session:";
const OF_ARCHIVE: &str = "archive:";
const SCRATCH: &str = "scratch";
const LIBRARY: &str = "snapshots.store";
const LONGEST: usize = 128;
