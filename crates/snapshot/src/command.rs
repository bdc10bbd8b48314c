//! `stockade snapshot`: keeps what sessions and stores have, and brings it back. Prints nothing itself but an archive.
//!
//! Snapshots of sessions lie in one store of the user's state directory. What comes from an archive is put into a
//! session's scratch alone: a workspace names a path of the host that its changes are applied to, and nobody else may
//! choose that.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use plan::HostPath;
use policy::shown::shown;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use session::{Before, Contents, SessionId, Sessions};
use store::Snapshot;

use crate::{Bounds, Library, SnapshotError};

mod arguments;
mod error;
mod list;

pub use arguments::{InStore, Of, SnapshotArguments, SnapshotCommand};
pub use error::CommandError;

/// Does what was asked, with the state directory of a user. Returns what is to be printed.
///
/// # Errors
/// What stands in the way; then nothing has changed.
pub fn run(arguments: &SnapshotArguments, state: &HostPath) -> Result<String, CommandError> {
    let place = Place { state };
    match &arguments.command {
        SnapshotCommand::Save { name, of } => place.save(checked(name)?, of)?,
        SnapshotCommand::Restore { name, of } => place.restore(checked(name)?, of)?,
        SnapshotCommand::Fork { name, session: Some(id), .. } => {
            place.fill(checked(name)?, id, Before::None)?;
        }
        SnapshotCommand::Fork { name, store: Some(store), to: Some(to), .. } => {
            let mut library = Library::open_store(store)?;
            library.store().fork(checked(name)?.as_bytes(), to)?;
        }
        SnapshotCommand::Fork { .. } => return Err(CommandError::Nothing),
        SnapshotCommand::List { store, json } => {
            return Ok(list::list(&place.library(store)?, store, *json)?);
        }
        SnapshotCommand::Rm { name, store } => {
            let library = place.library(store)?;
            library.remove(&find(&library, store, checked(name)?)?)?;
        }
        SnapshotCommand::Export { name, file, store } => {
            let library = place.library(store)?;
            let name = find(&library, store, checked(name)?)?;
            export(&library, &name, file)?;
        }
        SnapshotCommand::Import { file, name, store } => {
            place.import(file, checked(name)?, store)?;
        }
    }
    Ok(String::new())
}

/// Where a user's sessions and snapshots are.
struct Place<'a> {
    state: &'a HostPath,
}

impl Place<'_> {
    fn library(&self, store: &InStore) -> Result<Library, CommandError> {
        Ok(match &store.store {
            Some(path) => Library::open_store(path)?,
            None => Library::open(&self.state.as_path().join(LIBRARY))?,
        })
    }

    fn of_sessions(&self) -> Result<Library, CommandError> {
        self.library(&InStore { store: None })
    }

    fn save(&self, name: &str, of: &Of) -> Result<(), CommandError> {
        if let Some(store) = &of.store {
            return Ok(Library::open_store(store)?.store().save(name.as_bytes())?);
        }
        let id = parse(of.session.as_deref().ok_or(CommandError::Nothing)?)?;
        let library = self.of_sessions()?;
        if find_kind(&library, name)?.is_some() {
            return Err(CommandError::Taken(name.to_owned()));
        }
        let contents = Sessions::open(self.state)?.contents(&id)?;
        let directory = open_below(contents.as_fd(), ".")?;
        let leave_out = |path: &[u8]| {
            let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
            let is_kept = Contents::NAMES.iter().any(|name| name.as_bytes() == first);
            !is_kept || Contents::is_work(path)
        };
        Ok(library.save_directory(&format!("{OF_SESSION}{name}"), directory, &leave_out)?)
    }

    fn restore(&self, name: &str, of: &Of) -> Result<(), CommandError> {
        match (&of.session, &of.store) {
            (Some(id), _) => self.fill(name, id, Before::Replaced),
            (None, Some(store)) => {
                Ok(Library::open_store(store)?.store().restore(name.as_bytes())?)
            }
            (None, None) => Err(CommandError::Nothing),
        }
    }

    /// Makes a session with what a snapshot has.
    fn fill(&self, name: &str, id: &str, before: Before) -> Result<(), CommandError> {
        let id = parse(id)?;
        let library = self.of_sessions()?;
        let missing = || CommandError::Missing(name.to_owned());
        let kind = find_kind(&library, name)?.ok_or_else(missing)?;
        let whole = format!("{kind}{name}");
        Sessions::open(self.state)?.make_with(&id, before, |directory| {
            if kind != OF_ARCHIVE {
                return Ok(library.restore_directory(&whole, directory)?);
            }
            rustix::fs::mkdirat(&directory, SCRATCH, Mode::RWXU).map_err(on_scratch("mkdir"))?;
            let scratch = open_below(directory.as_fd(), SCRATCH)?;
            Ok(library.restore_directory(&whole, scratch)?)
        })
    }

    fn import(&self, file: &Path, name: &str, store: &InStore) -> Result<(), CommandError> {
        let library = self.library(store)?;
        let mut archive: Box<dyn Read> = if file == Path::new(STANDARD) {
            Box::new(std::io::stdin().lock())
        } else {
            Box::new(std::io::BufReader::new(File::open(file).map_err(on_file("read", file))?))
        };
        let name = if store.store.is_some() {
            name.to_owned()
        } else if find_kind(&library, name)?.is_some() {
            return Err(CommandError::Taken(name.to_owned()));
        } else {
            format!("{OF_ARCHIVE}{name}")
        };
        Ok(library.import(&name, &mut archive, &Bounds::default())?)
    }
}

fn export(library: &Library, name: &str, file: &Path) -> Result<(), CommandError> {
    if file == Path::new(STANDARD) {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        return Ok(library.export(name, &mut out)?);
    }
    let failed = on_file("write", file);
    let new = File::options().write(true).create_new(true).open(file).map_err(&failed)?;
    let mut out = std::io::BufWriter::new(&new);
    let exported = library.export(name, &mut out).map_err(CommandError::from);
    let exported =
        exported.and_then(|()| out.flush().and_then(|()| new.sync_all()).map_err(&failed));
    if exported.is_err() {
        let _gone = std::fs::remove_file(file);
    }
    exported
}

/// The whole name of a snapshot.
fn find(library: &Library, store: &InStore, name: &str) -> Result<String, CommandError> {
    if store.store.is_some() {
        return Ok(name.to_owned());
    }
    let missing = || CommandError::Missing(name.to_owned());
    let kind = find_kind(library, name)?.ok_or_else(missing)?;
    Ok(format!("{kind}{name}"))
}

/// What a snapshot of this name came from.
fn find_kind(library: &Library, name: &str) -> Result<Option<&'static str>, CommandError> {
    let all = library.list()?;
    let has = |kind: &str| {
        let is_it = |one: &Snapshot| one.name == format!("{kind}{name}").as_bytes();
        all.iter().any(is_it)
    };
    Ok([OF_SESSION, OF_ARCHIVE].into_iter().find(|kind| has(kind)))
}

fn checked(name: &str) -> Result<&str, CommandError> {
    let is_fine = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_');
    if (1..=LONGEST).contains(&name.len()) && name.chars().all(is_fine) {
        return Ok(name);
    }
    Err(CommandError::Name(shown(name).to_string()))
}

fn parse(id: &str) -> Result<SessionId, CommandError> {
    Ok(SessionId::parse(id)?)
}

fn open_below(at: std::os::fd::BorrowedFd<'_>, name: &str) -> Result<OwnedFd, SnapshotError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).map_err(on_scratch("open"))
}

fn on_scratch(call: &'static str) -> impl Fn(Errno) -> SnapshotError {
    move |source| SnapshotError::Host { call, path: SCRATCH.to_owned(), source }
}

fn on_file<'a>(
    action: &'static str,
    file: &'a Path,
) -> impl Fn(std::io::Error) -> CommandError + 'a {
    move |source| CommandError::File { action, file: shown(file.display()).to_string(), source }
}

/// What the names in the library begin with: no name that is given has a colon.
const OF_SESSION: &str = "session:";
const OF_ARCHIVE: &str = "archive:";
const SCRATCH: &str = "scratch";
const LIBRARY: &str = "snapshots.store";
/// Standard input or output.
const STANDARD: &str = "-";
const LONGEST: usize = 128;
