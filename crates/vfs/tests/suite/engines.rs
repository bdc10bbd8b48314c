//! The engines that the suite runs against, each empty.

use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use vfs::{
    Caller, Engine, FileSystem, Grant, Host, HostMode, Limits, Memory, Mounts, Overlay, ReadOnly,
    Scoped,
};

/// An engine, with what it lies in on the host.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) files: FileSystem,
    _directory: Option<tempfile::TempDir>,
}

pub(crate) fn memory(limits: Limits) -> Arc<dyn Engine> {
    Arc::new(Memory::new(&Caller::root(), 0o755, limits))
}

pub(crate) fn host(directory: &std::path::Path, mode: HostMode) -> Arc<dyn Engine> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty()).unwrap();
    Arc::new(Host::new(opened, mode, &Limits::default()).unwrap())
}

/// All of them. Only root can let a directory of the host belong to several users.
pub(crate) fn all() -> Vec<Subject> {
    let limits = Limits::default();
    let subject =
        |name, engine| Subject { name, files: FileSystem::new(engine, &limits), _directory: None };
    let lower: Arc<dyn Engine> = Arc::new(ReadOnly::new(memory(limits)));
    let overlay = Overlay::new(vec![lower], memory(limits), &limits).unwrap();
    let tree = Mounts::new(memory(limits));
    let scoped = Scoped::new(memory(limits), &[(b"/", Grant::Write)]).unwrap();
    let mut all = vec![
        subject("memory", memory(limits)),
        subject("overlay", Arc::new(overlay)),
        subject("mounts", tree),
        subject("scoped", Arc::new(scoped)),
    ];
    if rustix::process::geteuid().is_root() {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        std::os::unix::fs::chown(directory.path(), Some(0), Some(0)).unwrap();
        rustix::fs::chmod(directory.path(), Mode::from_raw_mode(0o755)).unwrap();
        let engine = host(directory.path(), HostMode::WritableAsCaller);
        all.push(Subject { _directory: Some(directory), ..subject("host", engine) });
    }
    all
}

/// How deep a tree is made.
pub(crate) const DEEPEST: u32 = 100_000;
