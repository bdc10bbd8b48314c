//! An engine that is mounted for the length of a test.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use fileserver::{Access, Fuse, Kernel, Mounted, Others, Settings, Sharing, mount};
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;
use vfs::{Caller, Engine, Host, HostMode, Limits, Memory, Mounts, Overlay};

pub(crate) struct Served {
    place: TempDir,
    mounted: Option<Mounted>,
    server: Option<JoinHandle<std::io::Result<()>>>,
    pub(crate) kernel: Kernel,
}

/// Whether this test can mount at all.
pub(crate) fn can_mount() -> bool {
    if !testing::is_root() {
        testing::skip("only root can mount, and have its root elsewhere");
        return false;
    }
    if !Path::new("/dev/fuse").exists() {
        testing::skip("this kernel has no FUSE");
        return false;
    }
    true
}

impl Served {
    pub(crate) fn new(engine: Arc<dyn Engine>, settings: Settings) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (mounted, device) = mount(place.path(), "test", Access::Write, Others::Served).unwrap();
        let fuse = Fuse::begin(engine, device, settings).unwrap();
        let kernel = fuse.kernel();
        let server = std::thread::spawn(move || fuse.serve());
        Self { place, mounted: Some(mounted), server: Some(server), kernel }
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.mounted.take());
        let served = self.server.take().unwrap().join();
        if !std::thread::panicking() {
            served.unwrap().unwrap();
        }
    }
}

/// Each way to keep and to share.
pub(crate) fn alone() -> Settings {
    Settings { sharing: Sharing::Alone, threads: 3, ..Settings::default() }
}

pub(crate) fn gathering() -> Settings {
    Settings { gather_writes: true, ..alone() }
}

pub(crate) fn shared() -> Settings {
    Settings { sharing: Sharing::Shared, ..alone() }
}

pub(crate) fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(&Caller::root(), 0o755, Limits::default()))
}

pub(crate) fn overlay() -> Arc<dyn Engine> {
    Arc::new(Overlay::new(Vec::new(), memory(), &Limits::default()).unwrap())
}

pub(crate) fn mounts() -> Arc<dyn Engine> {
    Mounts::new(memory())
}

/// A directory of the host, which goes with the first value.
pub(crate) fn host() -> (TempDir, Arc<dyn Engine>) {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    rustix::fs::chmod(place.path(), Mode::from_raw_mode(0o755)).unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
    let host = Host::new(directory, HostMode::WritableAsCaller, &Limits::default()).unwrap();
    (place, Arc::new(host))
}
