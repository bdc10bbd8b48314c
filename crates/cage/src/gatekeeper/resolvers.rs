//! Which resolvers the host uses, and when that changes. The gatekeeper itself has no files, so the
//! supervisor reads them for it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// The resolvers to ask.
#[derive(Debug)]
pub(super) struct Resolvers {
    current: Mutex<Vec<SocketAddr>>,
    /// Tells that a file beside the list of resolvers changed. None where they are configured, and
    /// where the kernel has no watch to give.
    watch: Option<OwnedFd>,
}

impl Resolvers {
    /// Those of the configuration, or the host's where it has none.
    pub(super) fn new(configured: &[SocketAddr]) -> Self {
        if configured.is_empty() {
            let watch = watch().ok();
            return Self { current: Mutex::new(of_host()), watch };
        }
        Self { current: Mutex::new(configured.to_vec()), watch: None }
    }

    /// In the order of asking.
    pub(super) fn current(&self) -> Vec<SocketAddr> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Readable when something may have changed.
    pub(super) fn changes(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Looks again, if there was a change, and says whether there are others now.
    pub(super) fn have_changed(&self) -> bool {
        let Some(watch) = &self.watch else { return false };
        let mut events = [0; 4096];
        let mut any = false;
        while let Ok(1..) | Err(Errno::INTR) = rustix::io::read(watch, &mut events) {
            any = true;
        }
        let now = if any { of_host() } else { return false };
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *current != now;
        *current = now;
        changed
    }
}

/// Watches the directory of the list, and where the list is a link, the one that it leads to: most
/// that write it put a new file in its place.
fn watch() -> Result<OwnedFd, Errno> {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE;
    let list = Path::new(LIST);
    let real = list.canonicalize().ok();
    for file in [Some(list), real.as_deref()].into_iter().flatten() {
        if let Some(directory) = file.parent() {
            inotify::add_watch(&watch, directory, flags)?;
        }
    }
    Ok(watch)
}

fn of_host() -> Vec<SocketAddr> {
    let text = std::fs::read(LIST).unwrap_or_default();
    listed(&String::from_utf8_lossy(&text))
}

/// The resolvers that resolv.conf(5) lists. Without any it is the host itself.
pub(super) fn listed(text: &str) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            if words.next()? != "nameserver" {
                return None;
            }
            // An address with a zone means something to one interface only and is left out.
            let address: IpAddr = words.next()?.parse().ok()?;
            Some(SocketAddr::new(address, PORT))
        })
        .take(MOST)
        .collect();
    if found.is_empty() {
        found.push(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT));
    }
    found
}

const LIST: &str = "/etc/resolv.conf";
const PORT: u16 = 53;
/// As many as the C library asks.
const MOST: usize = 3;
