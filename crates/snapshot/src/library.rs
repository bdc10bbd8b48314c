//! The snapshots of a user: one store, in which they share what they have in common. It has no files of its own.

use std::os::fd::OwnedFd;
use std::path::Path;

use store::{Snapshot, Store, StoreError, Unfinished};
use vfs::{Caller, Engine, Limits};

use crate::error::SnapshotError;
use crate::host::{IntoHost, read_host};
use crate::item::Sink;
use crate::{Bounds, IntoArchive, IntoStore, from_archive, from_engine};

/// A store of snapshots, open.
#[derive(Debug)]
pub struct Library {
    store: Store,
}

impl Library {
    /// Opens the one at a path, which is made where there is none.
    ///
    /// # Errors
    /// It cannot be made or opened, or another process has it.
    pub fn open(path: &Path) -> Result<Self, SnapshotError> {
        match Store::create(path, &Caller::root(), 0o700) {
            Ok(()) | Err(StoreError::Exists(_)) => Self::open_store(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a store that has files of its own beside its snapshots.
    ///
    /// # Errors
    /// There is none, or another process has it.
    pub fn open_store(path: &Path) -> Result<Self, SnapshotError> {
        Ok(Self { store: Store::open(path, limits())? })
    }

    /// The store itself.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// All snapshots, by name.
    ///
    /// # Errors
    /// What the database refused.
    pub fn list(&self) -> Result<Vec<Snapshot>, SnapshotError> {
        Ok(self.store.snapshots()?)
    }

    /// Removes one.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn remove(&self, name: &str) -> Result<(), SnapshotError> {
        Ok(self.store.remove_snapshot(name.as_bytes())?)
    }

    /// Keeps everything below a directory of the host as a snapshot, but for what is left out. A16
    ///
    /// # Errors
    /// The name is taken, or what could not be read.
    pub fn save_directory(
        &self,
        name: &str,
        directory: OwnedFd,
        leave_out: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(), SnapshotError> {
        self.save_with(name, |sink| read_host(directory, leave_out, sink))
    }

    /// Keeps what an archive has as a snapshot.
    ///
    /// # Errors
    /// The name is taken, or what is wrong with the archive.
    pub fn import(
        &self,
        name: &str,
        archive: &mut dyn std::io::Read,
        bounds: &Bounds,
    ) -> Result<(), SnapshotError> {
        self.save_with(name, |sink| from_archive(archive, bounds, sink))
    }

    /// Fills an empty directory of the host with a snapshot. A16
    ///
    /// # Errors
    /// There is none of this name, or what could not be written.
    pub fn restore_directory(&self, name: &str, directory: OwnedFd) -> Result<(), SnapshotError> {
        self.read_with(name, &mut IntoHost::new(directory))
    }

    /// Writes a snapshot as an archive.
    ///
    /// # Errors
    /// There is none of this name, or what could not be written.
    pub fn export(&self, name: &str, out: &mut dyn std::io::Write) -> Result<(), SnapshotError> {
        self.read_with(name, &mut IntoArchive::new(out))
    }

    fn read_with(&self, name: &str, sink: &mut dyn Sink) -> Result<(), SnapshotError> {
        let snapshot = self.store.snapshot(name.as_bytes())?;
        let snapshot: &dyn Engine = &snapshot;
        from_engine(snapshot, &|_| false, sink)
    }

    fn save_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn Sink) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let unfinished: Unfinished = self.store.begin_snapshot(name.as_bytes())?;
        let engine = unfinished.engine().map_err(crate::error::on_file("write", b"/"))?;
        fill(&mut IntoStore::new(engine))?;
        Ok(unfinished.finish()?)
    }
}

/// A snapshot was allowed its size when it was made.
fn limits() -> Limits {
    Limits { max_bytes: 1 << 50, max_inodes: 1 << 32, ..Limits::default() }
}
