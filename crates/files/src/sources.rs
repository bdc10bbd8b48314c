//! From what a person names to an open tree.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use credentials::Stores;
use fileserver::control::Task;
use plan::{Access, HostPath, MountedFromError, RemoteStore, WrittenFrom};
use policy::shown::shown;
use rustix::fs::{Mode, OFlags};
use session::Sessions;
use store::{Store, StoreError};
use vfs::{Caller, Engine, Host, HostMode, Limits, ReadOnly};

use crate::address::{Address, Of};
use crate::error::FilesError;
use crate::session_tree;
use crate::tree::{Kept, Purpose, Tree, own_caller};

impl Tree {
    /// Opens what an address names, with the state directory of the user whose sessions are meant.
    ///
    /// # Errors
    /// It is not there, or cannot be had.
    pub fn open(address: &Address, state: &HostPath, purpose: Purpose) -> Result<Self, FilesError> {
        match &address.of {
            Of::Session(id) => Self::of_session(&Sessions::open(state)?, id, purpose),
            Of::Directory(path) => Self::of_directory(path, purpose),
            Of::Store(path) => of_store(path, purpose),
            Of::Remote(store) => of_remote(store, purpose),
        }
    }

    /// What a session has.
    ///
    /// # Errors
    /// There is no such session, or it is being ended.
    pub fn of_session(
        sessions: &Sessions,
        id: &session::SessionId,
        purpose: Purpose,
    ) -> Result<Self, FilesError> {
        session_tree::open(sessions, id, purpose)
    }

    /// A store as a whole, as mounts name it: `store:FILE`, `s3://BUCKET/PREFIX` and the like. None for what is no store.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn of_source(text: &OsStr, purpose: Purpose) -> Result<Option<Self>, FilesError> {
        let Some(text) = text.to_str() else { return Ok(None) };
        match WrittenFrom::parse(text) {
            Ok(WrittenFrom::Store(path)) => of_store(Path::new(path), purpose).map(Some),
            Ok(WrittenFrom::Remote(store)) => of_remote(&store, purpose).map(Some),
            Ok(WrittenFrom::Memory | WrittenFrom::Directory(_) | WrittenFrom::Inside(_))
            | Err(MountedFromError::Unknown) => Ok(None),
            Err(why) => Err(FilesError::Source { text: shown(text).to_string(), why }),
        }
    }

    /// A directory of the host.
    pub(crate) fn of_directory(path: &Path, purpose: Purpose) -> Result<Self, FilesError> {
        let failed = |errno: rustix::io::Errno| FilesError::Host {
            path: path.to_owned(),
            source: errno.into(),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let host = host(opened, purpose).map_err(|error| failed(error.errno))?;
        let title = format!("`{}`", shown(path.display()));
        Ok(Self::of_engine(Arc::new(host), title, own_caller(), Kept::Nothing))
    }
}

/// The engine of a directory of the host, as far as it may be changed.
pub(crate) fn host(directory: OwnedFd, purpose: Purpose) -> vfs::Result<Host> {
    let mode = match purpose {
        Purpose::Read => HostMode::ReadOnly,
        // Root makes files for whom everything there belongs to.
        Purpose::Write if rustix::process::geteuid().is_root() => HostMode::WritableAsCaller,
        Purpose::Write => HostMode::Writable,
    };
    Host::new(directory, mode, &Limits::default())
}

fn of_store(path: &Path, purpose: Purpose) -> Result<Tree, FilesError> {
    let limits = Limits { max_bytes: MOST_OF_A_STORE, ..Limits::default() };
    let store = Arc::new(Store::open(path, limits).map_err(|error: StoreError| error)?);
    let failed =
        |error: vfs::Error| FilesError::Host { path: path.to_owned(), source: error.errno.into() };
    let root = store.attributes(&Caller::root(), store.root()).map_err(failed)?;
    let caller = Caller::of(root.uid, root.gid);
    let engine: Arc<dyn Engine> = match purpose {
        Purpose::Read => Arc::new(ReadOnly::new(Arc::clone(&store) as Arc<dyn Engine>)),
        Purpose::Write => Arc::clone(&store) as Arc<dyn Engine>,
    };
    let title = format!("`store:{}`", shown(path.display()));
    Ok(Tree::of_engine(engine, title, caller, Kept::Store(store)))
}

fn of_remote(store: &RemoteStore, purpose: Purpose) -> Result<Tree, FilesError> {
    let title = format!("`{store}`");
    let failed = |why: String| FilesError::FarAway { tree: title.clone(), why };
    let stores = Stores::of_this_process().map_err(|error| failed(error.to_string()))?;
    let keys = stores.keys(store).map_err(|error| failed(error.to_string()))?;
    let caller = own_caller();
    let task = Task {
        from: stores.source(store),
        access: match purpose {
            Purpose::Read => Access::ReadOnly,
            Purpose::Write => Access::ReadWrite,
        },
        uid: caller.uid,
        gid: caller.gid,
        most_bytes: 0,
    };
    let remote = mounts::ask_directly(&task, keys).map_err(failed)?;
    let engine: Arc<dyn Engine> = match purpose {
        Purpose::Read => Arc::new(ReadOnly::new(Arc::clone(&remote) as Arc<dyn Engine>)),
        Purpose::Write => Arc::clone(&remote) as Arc<dyn Engine>,
    };
    Ok(Tree::of_engine(engine, title, caller, Kept::Remote(remote)))
}

/// A person who copies into a store says by that how much is to be in it.
const MOST_OF_A_STORE: u64 = 1 << 50;
