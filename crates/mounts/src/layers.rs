//! A directory with a layer above it as an engine: what the kernel's overlayfs would do, in its form, where it cannot. Opens
//! the two directories of the jail and nothing else.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use fileserver::control::Task;
use fileserver::{OneOwner, Settings, Sharing};
use jail::helper_process::{DESCRIPTORS, DIRECTORY, LOWER};
use plan::ByteString;
use rustix::fs::{Mode, OFlags};
use rustix::process::Resource;
use vfs::{Engine, Grant, Host, HostMode, Limits, Overlay, ReadOnly, Scoped};

use crate::engine::{Kept, Ready};

/// Opens both, and checks that the layer can be written to.
pub(crate) fn open(
    task: &Task,
    hidden: &[ByteString],
    read_only: &[ByteString],
) -> Result<Ready, String> {
    vfs::descriptors_are_in(DESCRIPTORS);
    let limits = Limits::default();
    let told = |what: &'static str| move |error: vfs::Error| format!("{what}: {error}");
    let below = Host::new(directory(LOWER)?, HostMode::ReadOnly, &limits)
        .map_err(told("the directory cannot be read"))?;
    let above = Host::new(directory(DIRECTORY)?, HostMode::WritableAsOne, &limits)
        .map_err(told("its changes cannot be opened"))?;
    let lower: Arc<dyn Engine> = Arc::new(ReadOnly::new(Arc::new(below)));
    let upper: Arc<dyn Engine> = Arc::new(above.with_marks_of_kernel());
    let overlay = Overlay::as_the_kernel(vec![lower], upper, &limits).map_err(told(
        "the file system of the state directory does not take what an overlay notes (devices of number 0, attributes \
         of users)",
    ))?;
    let engine = scoped(Arc::new(overlay), hidden, read_only)
        .map_err(told("what is hidden in it cannot be held"))?;
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let settings = Settings {
        sharing: Sharing::Alone,
        most_remembered: most_remembered(),
        one_owner: Some(OneOwner { shown: (task.uid, task.gid), kept: own }),
        ..Settings::default()
    };
    Ok(Ready { engine, settings, kept: Kept::Directories })
}

/// What is hidden in a directory is not there, and what is only read stays as it is, by whatever path one comes.
fn scoped(
    engine: Arc<dyn Engine>,
    hidden: &[ByteString],
    read_only: &[ByteString],
) -> vfs::Result<Arc<dyn Engine>> {
    if hidden.is_empty() && read_only.is_empty() {
        return Ok(engine);
    }
    let absolute = |path: &ByteString| [b"/", path.as_bytes()].concat();
    let hidden = hidden.iter().map(|path| (absolute(path), Grant::Nothing));
    let read_only = read_only.iter().map(|path| (absolute(path), Grant::Read));
    let rules: Vec<(Vec<u8>, Grant)> =
        [(b"/".to_vec(), Grant::Write)].into_iter().chain(hidden).chain(read_only).collect();
    let rules: Vec<(&[u8], Grant)> =
        rules.iter().map(|(path, grant)| (path.as_slice(), *grant)).collect();
    Ok(Arc::new(Scoped::new(engine, &rules)?))
}

fn directory(path: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    opened.map_err(|errno| format!("its jail lacks a directory: {}", std::io::Error::from(errno)))
}

/// A file takes a descriptor in each layer that has it, and one where it is open.
fn most_remembered() -> Option<usize> {
    let most = rustix::process::getrlimit(Resource::Nofile).current?;
    Some(usize::try_from(most / 3).unwrap_or(usize::MAX))
}
