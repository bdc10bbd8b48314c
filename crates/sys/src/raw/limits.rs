//! Limits and priorities by every call that sets them, the ones that the C library has long replaced
//! included. Changes the calling process or, where a function says so, all of a user.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Uid};

use super::UpperBits;
use crate::clone::last_errno;

/// A way to set a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitCall {
    /// `setrlimit`, the system call.
    Setrlimit,
    /// `prlimit64`, with bits beyond those of the resource's number.
    Prlimit,
    /// `prlimit64`, with the new limit where half of its address is 0: a filter that compares the other
    /// half takes it for none.
    PrlimitFarAway,
}

/// Sets this process's own limit on the size of core dumps, without the hard one.
pub fn set_core_limit(call: LimitCall, bytes: u64) -> Result<(), Errno> {
    let hard = rustix::process::getrlimit(Resource::Core).maximum.unwrap_or(libc::RLIM64_INFINITY);
    let limit = libc::rlimit64 { rlim_cur: bytes, rlim_max: hard };
    let core = u64::from(libc::RLIMIT_CORE);
    match call {
        LimitCall::Setrlimit => {
            // SAFETY: the kernel reads one `rlimit`, which has the layout of `limit` where longs have 64
            // bits, and `limit` outlives the call.
            done(unsafe { libc::syscall(SYS_SETRLIMIT, core, &raw const limit) })
        }
        LimitCall::Prlimit => prlimit(core | UpperBits::Set.bits(), &raw const limit),
        LimitCall::PrlimitFarAway => {
            let place = FarPage::new()?;
            // SAFETY: the page must be writable, aligned and large enough: it was just mapped for that, and
            // nobody else knows of it.
            unsafe { place.0.cast::<libc::rlimit64>().write(limit) };
            prlimit(core, place.0.cast())
        }
    }
}

fn prlimit(resource: u64, limit: *const libc::rlimit64) -> Result<(), Errno> {
    let nothing = std::ptr::null_mut::<libc::rlimit64>();
    // SAFETY: the kernel reads one `rlimit64`, which both callers point to, and writes nothing: the last
    // argument is null.
    done(unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, limit, nothing) })
}

/// Puts every process of a user in reach into the class of those that wait for all others.
pub fn idle_io_of_user(user: Uid) -> Result<(), Errno> {
    // SAFETY: ioprio_set takes three integers and touches no memory of the caller.
    done(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_USER, user.as_raw(), IDLE_IO) })
}

/// The lowest class of input and output: `IOPRIO_CLASS_IDLE`, shifted to its place.
pub const IDLE_IO: i64 = 3 << 13;

/// The class and priority of a process's input and output.
pub fn io_priority(process: Pid) -> Result<i64, Errno> {
    let pid = process.as_raw_nonzero().get();
    // SAFETY: ioprio_get takes two integers and touches no memory of the caller.
    let found = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, pid) };
    done(found).map(|()| found)
}

fn done(result: libc::c_long) -> Result<(), Errno> {
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// A page of this process at an address whose lower half is 0; unmapped on drop.
struct FarPage(*mut libc::c_void);

impl FarPage {
    fn new() -> Result<Self, Errno> {
        for number in 1..MOST_PLACES {
            let place = std::ptr::without_provenance_mut(number << 32);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            // SAFETY: nothing that is mapped may be covered: the last flag makes the kernel refuse that, and
            // older kernels, which do not know it, take the address as a wish.
            let page = unsafe { libc::mmap(place, PAGE, access, flags, -1, 0) };
            if page == libc::MAP_FAILED {
                continue;
            }
            let page = Self(page);
            if page.0 == place {
                return Ok(page);
            }
        }
        Err(Errno::NOMEM)
    }
}

impl Drop for FarPage {
    fn drop(&mut self) {
        // SAFETY: nothing may use the page afterwards: its pointer never leaves the call that mapped it.
        unsafe { libc::munmap(self.0, PAGE) };
    }
}

#[cfg(target_arch = "x86_64")]
const SYS_SETRLIMIT: libc::c_long = 160;
#[cfg(target_arch = "aarch64")]
const SYS_SETRLIMIT: libc::c_long = 164;
const WHO_PROCESS: i32 = 1;
const WHO_USER: i32 = 3;
const PAGE: usize = 4096;
const MOST_PLACES: usize = 16;
