//! The time that a program may take: a timer that rings when it is over, and once more when the
//! program has had its chance to end by itself. Only tells; whoever polls it acts.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use session::GRACE;

#[cfg(test)]
mod tests;

/// An armed timer. Dropping it disarms it.
#[derive(Debug)]
pub struct Watchdog {
    timer: OwnedFd,
    stage: Stage,
}

/// What is to be done about a program whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Ask it to end.
    Terminate,
    /// End everything in its cage.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    Grace,
    Over,
}

impl Watchdog {
    /// Arms a timer. It stands still while the machine sleeps, as the program does.
    pub fn arm(after: Duration) -> Result<Self, Errno> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        set(&timer, after)?;
        Ok(Self { timer, stage: Stage::Running })
    }

    /// A timer for a program that has just been asked to end.
    pub fn in_grace() -> Result<Self, Errno> {
        Ok(Self { stage: Stage::Grace, ..Self::arm(GRACE)? })
    }

    /// Readable when [`Self::listen`] has something to say.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// What is to be done now; nothing if the timer has not rung. From the first ring on the
    /// program has [`GRACE`].
    pub fn listen(&mut self) -> Result<Option<Ring>, Errno> {
        let mut count = [0_u8; 8];
        match rustix::io::read(&self.timer, &mut count) {
            Ok(_) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(errno),
        }
        match self.stage {
            Stage::Running => {
                self.stage = Stage::Grace;
                set(&self.timer, GRACE)?;
                Ok(Some(Ring::Terminate))
            }
            Stage::Grace => {
                self.stage = Stage::Over;
                Ok(Some(Ring::Kill))
            }
            Stage::Over => Ok(None),
        }
    }
}

impl AsFd for Watchdog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor()
    }
}

/// A timer that rings again and again. Dropping it disarms it.
#[derive(Debug)]
pub(crate) struct Ticker(OwnedFd);

impl Ticker {
    pub(crate) fn every(time: Duration) -> Result<Self, Errno> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(MOST_SECONDS).min(MOST_SECONDS),
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let again = Itimerspec { it_interval: time, it_value: time };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &again)?;
        Ok(Self(timer))
    }

    /// Takes note of a ring.
    pub(crate) fn heard(&self) {
        let mut count = [0_u8; 8];
        // One that has not rung says so.
        let _again = rustix::io::read(&self.0, &mut count);
    }
}

impl AsFd for Ticker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn set(timer: &OwnedFd, after: Duration) -> Result<(), Errno> {
    // A time of zero would disarm the timer. One beyond the kernel's range is cut there: nobody
    // lives to see it.
    let after = after.max(Duration::from_nanos(1));
    let value = Timespec {
        tv_sec: i64::try_from(after.as_secs()).unwrap_or(MOST_SECONDS).min(MOST_SECONDS),
        tv_nsec: i64::from(after.subsec_nanos()),
    };
    let once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let time = Itimerspec { it_interval: once, it_value: value };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &time).map(drop)
}

/// Thirty years, as the kernel's own bound on how far a clock may be set (`TIME_UPTIME_SEC_MAX`).
const MOST_SECONDS: i64 = 30 * 365 * 24 * 3600;
