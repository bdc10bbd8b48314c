//! What stands behind the imports of one component: its world, its handles, its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use vfs::OpenFile;
use wasmtime::component::{Resource, ResourceTable};

use super::super::WasmError;
use super::super::host::{Ending, Held};
use super::budget::Budget;
use crate::limits::Limit;
use crate::world::World;

/// What stands behind the imports of one component.
pub(super) struct Host {
    pub(super) world: World,
    pub(super) table: ResourceTable,
    pub(super) held: Held,
    /// The directories that it begins with, and what it calls them.
    pub(super) preopens: Vec<(File, String)>,
    /// What is held for it outside of its memory: as much again, at most.
    pub(super) budget: Budget,
    open: Arc<AtomicU32>,
}

/// An open file or directory, with the descriptor that it counts as.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) open: Arc<OpenFile>,
    /// Whether each write to it is to last.
    pub(super) is_synchronous: bool,
    _place: Arc<Place>,
}

/// One descriptor of those that a component may have; it is given back when this goes.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicU32>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsMut<Held> for Host {
    fn as_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

impl Host {
    /// With the directories that the component begins with.
    pub(super) fn new(world: World) -> Result<Self, WasmError> {
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(world.limits.max_handles).unwrap_or(usize::MAX));
        let held = Held::to(&world.limits);
        // The three streams count, as they do for a module.
        let open = Arc::new(AtomicU32::new(3));
        let budget = Budget::new(world.limits.max_memory);
        let mut host = Self { world, table, held, preopens: Vec::new(), budget, open };
        for preopen in host.world.preopens.clone() {
            let name = String::from_utf8_lossy(&preopen.name).into_owned();
            let refused = WasmError::Preopen { name: preopen.name };
            let place = host.place().ok_or(refused)?;
            host.preopens.push((File::new(preopen.directory, place), name));
        }
        Ok(host)
    }

    /// One descriptor more, if there may be one. A component that fails of that is told why.
    pub(super) fn place(&mut self) -> Option<Place> {
        if self.open.load(Ordering::Relaxed) >= self.world.limits.max_descriptors {
            self.held.limiter.refused = Some(Limit::Descriptors);
            return None;
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(Place(Arc::clone(&self.open)))
    }

    /// A handle for something. One too many ends the component.
    pub(super) fn push<T: Send + 'static>(&mut self, value: T) -> wasmtime::Result<Resource<T>> {
        self.table.push(value).map_err(|_| Ending::Reached(Limit::Handles).into())
    }
}

impl File {
    pub(super) fn new(open: Arc<OpenFile>, place: Place) -> Self {
        Self { open, is_synchronous: false, _place: Arc::new(place) }
    }

    /// The same, each write to which lasts.
    pub(super) fn synchronous(self, is_synchronous: bool) -> Self {
        Self { is_synchronous, ..self }
    }

    pub(super) fn sync_if_asked(&self) -> vfs::Result<()> {
        if self.is_synchronous { self.open.sync() } else { Ok(()) }
    }
}
