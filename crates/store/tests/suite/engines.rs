//! The engines that the suite runs against here: whatever it calls memory is a store.

use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use store::Store;
use vfs::{Caller, Engine, FileSystem, Host, HostMode, Limits, Memory, Overlay, ReadOnly};

/// An engine, with its name.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) files: FileSystem,
}

/// An empty store. Its file is removed by the next process that asks for one.
pub(crate) fn memory(limits: Limits) -> Arc<dyn Engine> {
    for entry in std::fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !std::path::Path::new("/proc").join(pid).exists()) {
            let _gone = std::fs::remove_dir_all(entry.path());
        }
    }
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let directory = tempfile::Builder::new().prefix(&prefix).tempdir().unwrap().keep();
    let path = directory.join("store");
    Store::create(&path, &Caller::root(), 0o755).unwrap();
    Arc::new(Store::open(&path, limits).unwrap())
}

const PREFIX: &str = "stockade-store-suite-";

pub(crate) fn host(directory: &std::path::Path, mode: HostMode) -> Arc<dyn Engine> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty()).unwrap();
    Arc::new(Host::new(opened, mode, &Limits::default()).unwrap())
}

pub(crate) fn all() -> Vec<Subject> {
    let limits = Limits::default();
    let lower: Arc<dyn Engine> =
        Arc::new(ReadOnly::new(Arc::new(Memory::new(&Caller::root(), 0o755, limits))));
    let overlay = Overlay::new(vec![lower], memory(limits), &limits).unwrap();
    vec![
        Subject { name: "store", files: FileSystem::new(memory(limits), &limits) },
        Subject { name: "overlay", files: FileSystem::new(Arc::new(overlay), &limits) },
    ]
}

/// How deep a tree is made.
pub(crate) const DEEPEST: u32 = 10_000;
