//! When a run began, by the clocks that files are dated with, and what the dates of a file system are worth.
//! Never writes to a file system that somebody can see.

use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, MemfdFlags, Mode, StatxFlags, StatxTimestamp};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec};

#[cfg(test)]
mod tests;

/// The moment before a run. What changes later has a later date.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    /// By the clock that every local file system reads. It only moves when the kernel's timer ticks, late
    /// when a machine stands still for a moment, so that a file can be changed after a start and have an
    /// earlier date than any other clock told then. By this one it cannot.
    coarse: SystemTime,
    /// By the finer one of file systems that can tell two changes within a tick apart (Linux 6.13); the
    /// same as the other one where the kernel has none.
    fine: SystemTime,
    /// How far the clock is ahead of the machine's start: less of it later means that it was set back.
    since_boot: Duration,
}

/// How the age of a file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dating {
    /// What has this date of change or a later one may have changed during the run.
    Since(SystemTime),
    /// Not at all: another machine's clock dates the files, or programs do.
    Unknown,
}

impl Began {
    /// The moment now.
    pub fn now() -> Self {
        let coarse = system_time(rustix::time::clock_gettime(ClockId::RealtimeCoarse));
        let fine = finest().unwrap_or(coarse);
        Self { coarse, fine, since_boot: since_boot() }
    }

    /// How files are dated on the file system of an open directory.
    pub(super) fn on(&self, directory: &OwnedFd) -> Dating {
        let Ok(file_system) = rustix::fs::fstatfs(directory) else { return Dating::Unknown };
        // Narrower on some architectures, and signed.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let magic = file_system.f_type as u32;
        let began = match magic {
            EXT | XFS | BTRFS | TMPFS => self.fine.max(self.coarse),
            OVERLAY | F2FS | ZFS | BCACHEFS | RAMFS => self.coarse,
            _ => return Dating::Unknown,
        };
        let set_back = self.since_boot.saturating_sub(since_boot());
        // Two clocks are never read in the same moment.
        let set_back = if set_back > READ_TOGETHER { set_back } else { Duration::ZERO };
        let began = began.checked_sub(set_back).unwrap_or(SystemTime::UNIX_EPOCH);
        Dating::Since(if tells_seconds_alone(directory) { whole_seconds(began) } else { began })
    }
}

impl Dating {
    /// Whether something with a date of change may have changed during the run.
    pub(super) fn is_recent(self, date: StatxTimestamp) -> bool {
        let Self::Since(began) = self else { return true };
        // A time before 1970 is not recent.
        let Ok(seconds) = u64::try_from(date.tv_sec) else { return false };
        let since_epoch = Duration::new(seconds, date.tv_nsec);
        SystemTime::UNIX_EPOCH.checked_add(since_epoch).is_none_or(|date| date >= began)
    }
}

/// A date that no later change of a file can precede. A kernel with finer dates gives one to a file that is
/// changed after its date was asked for, and no date that is given afterwards is earlier, whatever
/// the file. The file is one in memory that has no name.
fn finest() -> Result<SystemTime, Errno> {
    let file = rustix::fs::memfd_create(c"stockade-moment", MemfdFlags::CLOEXEC)?;
    rustix::fs::fstat(&file)?;
    rustix::fs::fchmod(&file, Mode::RUSR)?;
    let changed = rustix::fs::statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::CTIME)?.stx_ctime;
    Ok(system_time(Timespec { tv_sec: changed.tv_sec, tv_nsec: changed.tv_nsec.into() }))
}

/// Whether a file system has no parts of a second, as ext4 has none where its inodes are small: one date in
/// a thousand million is that of a full second elsewhere, and then a second too much is looked at.
fn tells_seconds_alone(directory: &OwnedFd) -> bool {
    let times = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::CTIME);
    times.map_or(true, |times| times.stx_ctime.tv_nsec == 0)
}

fn whole_seconds(time: SystemTime) -> SystemTime {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since_epoch.as_secs())
}

/// What the clock tells beyond the time since the machine's start. Both follow the same corrections; only
/// somebody who sets the clock moves one alone.
fn since_boot() -> Duration {
    let [now, running] = [ClockId::Realtime, ClockId::Boottime]
        .map(|clock| duration(rustix::time::clock_gettime(clock)));
    now.saturating_sub(running)
}

fn duration(time: Timespec) -> Duration {
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
}

fn system_time(time: Timespec) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(duration(time)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// How far apart two readings of clocks are at most, unless the machine stands still between them: then a
/// little more is looked at.
const READ_TOGETHER: Duration = Duration::from_millis(1);

// As in statfs(2).
const EXT: u32 = 0xEF53;
const XFS: u32 = 0x5846_5342;
const BTRFS: u32 = 0x9123_683E;
const TMPFS: u32 = 0x0102_1994;
const OVERLAY: u32 = 0x794C_7630;
const F2FS: u32 = 0xF2F5_2010;
const ZFS: u32 = 0x2FC1_2FC1;
const BCACHEFS: u32 = 0xCA45_1A4E;
const RAMFS: u32 = 0x8584_58F6;
