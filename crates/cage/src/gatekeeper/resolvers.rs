//! Which resolvers the host uses, and when that changes. The gatekeeper itself has no files, so the
//! supervisor reads them for it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// The resolvers to ask.
#[derive(Debug)]
pub(super) struct Resolvers {
    current: Mutex<Vec<SocketAddr>>,
    /// Tells when to look again. None where they are configured, and where the kernel has no timer to
    /// give. Not a watch of the file: closing one takes the kernel longer than a whole run.
    timer: Option<OwnedFd>,
}

impl Resolvers {
    /// Those of the configuration, or the host's where it has none.
    pub(super) fn new(configured: &[SocketAddr]) -> Self {
        if configured.is_empty() {
            let timer = timer().ok();
            return Self { current: Mutex::new(of_host()), timer };
        }
        Self { current: Mutex::new(configured.to_vec()), timer: None }
    }

    /// In the order of asking.
    pub(super) fn current(&self) -> Vec<SocketAddr> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Readable when something may have changed.
    pub(super) fn changes(&self) -> Option<BorrowedFd<'_>> {
        self.timer.as_ref().map(AsFd::as_fd)
    }

    /// Looks again, if it is time, and says whether there are others now.
    pub(super) fn have_changed(&self) -> bool {
        let Some(timer) = &self.timer else { return false };
        let mut expirations = [0; 8];
        let is_time = matches!(rustix::io::read(timer, &mut expirations), Ok(1..));
        let now = if is_time { of_host() } else { return false };
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *current != now;
        *current = now;
        changed
    }
}

/// A timer that expires every so often.
fn timer() -> Result<OwnedFd, Errno> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let often = Timespec { tv_sec: SECONDS_BETWEEN_LOOKS, tv_nsec: 0 };
    let times = Itimerspec { it_interval: often, it_value: often };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
    Ok(timer)
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
/// A change of network is seen within this time.
const SECONDS_BETWEEN_LOOKS: i64 = 2;
/// As many as the C library asks.
const MOST: usize = 3;
