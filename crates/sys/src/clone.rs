//! Making processes: a fork into new namespaces, and a child that borrows this process's memory
//! until it has started its program. Never makes a thread.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::Pid;

use crate::stack::Stack;

/// New namespaces for a child. libc's constants for the newer flags overflow an `int`, so all of
/// them are spelled here as the kernel's 64-bit values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces(u64);

impl Namespaces {
    /// No new namespace.
    pub const NONE: Self = Self(0);
    /// A cgroup namespace.
    pub const CGROUP: Self = Self(0x0200_0000);
    /// A mount namespace.
    pub const MOUNT: Self = Self(0x0002_0000);
    /// A host name namespace.
    pub const UTS: Self = Self(0x0400_0000);
    /// A System V and POSIX message queue namespace.
    pub const IPC: Self = Self(0x0800_0000);
    /// A user namespace.
    pub const USER: Self = Self(0x1000_0000);
    /// A process id namespace.
    pub const PID: Self = Self(0x2000_0000);
    /// A network namespace.
    pub const NET: Self = Self(0x4000_0000);
    /// What can be made before the process that will live in it.
    pub const AHEAD: Self =
        Self(Self::MOUNT.0 | Self::UTS.0 | Self::IPC.0 | Self::USER.0 | Self::NET.0);
    /// Everything that a cage has of its own.
    pub const ALL: Self = Self(Self::AHEAD.0 | Self::PID.0 | Self::CGROUP.0);

    /// Both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These but for the others.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Moves this process, which must have a single thread, into new ones. Sets no `errno`.
    pub(crate) fn enter(self) -> Result<(), Errno> {
        let flags = u32::try_from(self.0).map_err(|_| Errno::INVAL)?;
        let flags = rustix::thread::UnshareFlags::from_bits_retain(flags);
        // SAFETY: unsharing must not pull memory or descriptors from under code that relies on
        // sharing them: only namespace flags can be in a `Namespaces`.
        unsafe { rustix::thread::unshare_unsafe(flags) }
    }
}

/// Moves this process into new namespaces. Its children would be the first to be in a new process
/// id namespace, so there must be none among them.
///
/// Refused with `EBUSY` in a process with more than one thread: the others would stay behind.
pub fn enter_new(namespaces: Namespaces) -> Result<(), Errno> {
    if namespaces.contains(Namespaces::PID) {
        return Err(Errno::INVAL);
    }
    if thread_count()? != 1 {
        return Err(Errno::BUSY);
    }
    namespaces.enter()
}

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Forked {
    /// The calling process.
    Parent {
        /// The child's process id.
        pid: Pid,
        /// A handle on the child that cannot come to mean another process.
        pidfd: OwnedFd,
    },
    /// The new process.
    Child,
}

/// Forks this process into new namespaces.
///
/// Refused with `EBUSY` in a process with more than one thread: the child would inherit locks that
/// nobody is left to release, and only the calling thread's credentials.
pub fn fork_into(namespaces: Namespaces, cgroup: Option<BorrowedFd<'_>>) -> Result<Forked, Errno> {
    if thread_count()? != 1 {
        return Err(Errno::BUSY);
    }
    fork_with(0, namespaces, cgroup)
}

/// Forks this process as it is, by the C library, whose allocator the child can go on with. None in the child.
///
/// Refused with `EBUSY` in a process with more than one thread.
pub fn fork_alike() -> Result<Option<Pid>, Errno> {
    if thread_count()? != 1 {
        return Err(Errno::BUSY);
    }
    // SAFETY: the child may only go on if no other thread held a lock or changed memory at that moment: there is no other
    // one.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// The same for a caller that has a single thread, with more of clone's flags.
pub(crate) fn fork_with(
    flags: u64,
    namespaces: Namespaces,
    cgroup: Option<BorrowedFd<'_>>,
) -> Result<Forked, Errno> {
    let mut pidfd: i32 = -1;
    // With CLONE_PARENT the exit signal is the caller's own, as clone(2) has it.
    let exit_signal = if flags & CLONE_PARENT == 0 { libc::SIGCHLD as u64 } else { 0 };
    let mut arguments = CloneArguments {
        flags: CLONE_PIDFD | CLONE_CLEAR_SIGHAND | flags | namespaces.0,
        pidfd: (&raw mut pidfd) as u64,
        exit_signal,
        ..CloneArguments::default()
    };
    if let Some(cgroup) = cgroup {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::try_from(cgroup.as_raw_fd()).unwrap_or(u64::MAX);
    }
    // SAFETY: clone3 without CLONE_VM must see a readable `clone_args` of the given size, and the
    // child may only go on if no other thread held a lock: `arguments` is that struct, it lives
    // across the call, and the caller has a single thread.
    let result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<CloneArguments>()) };
    match result {
        -1 => Err(last_errno()),
        0 => Ok(Forked::Child),
        pid => {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::RANGE)?;
            // SAFETY: the descriptor must be open and owned by nobody else: CLONE_PIDFD made the
            // kernel store a fresh one in `pidfd`, and nothing has copied it.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Forked::Parent { pid, pidfd })
        }
    }
}

/// Runs `body` in a child that shares this process's memory and file descriptors, and returns when
/// the child has started a program or ended. Until then the caller is suspended, as with `vfork`.
///
/// What `body` returns is the exit status of a child that started no program. `body` must not
/// panic (the workspace aborts on panic, which ends both processes) and should not allocate.
pub fn run_sharing_memory(stack: &mut Stack, body: &mut dyn FnMut() -> i32) -> Result<Pid, Errno> {
    struct Call<'a>(&'a mut dyn FnMut() -> i32);
    extern "C" fn enter(argument: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the pointer must be to a live `Call` that nobody else uses: it is the `call`
        // below, whose owner is suspended by CLONE_VFORK while this function runs.
        let call = unsafe { &mut *argument.cast::<Call<'_>>() };
        (call.0)()
    }
    let mut call = Call(body);
    // SAFETY: the child needs a stack of its own, aligned to 16 bytes at its top, and everything it
    // touches must outlive it: `stack` and `call` are borrowed until CLONE_VFORK resumes this
    // process, which is when the child has executed a program or exited.
    let pid = unsafe {
        libc::clone(
            enter,
            stack.top(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD,
            (&raw mut call).cast(),
        )
    };
    if pid == -1 {
        return Err(last_errno());
    }
    Pid::from_raw(pid).ok_or(Errno::RANGE)
}

/// How many threads this process has.
pub fn thread_count() -> Result<u64, Errno> {
    let directory = rustix::fs::openat(
        rustix::fs::CWD,
        c"/proc/self/task",
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    // The link count of `task` is the number of threads plus the two links of every directory, and
    // asking for it is cheaper than reading `status`.
    let links = rustix::fs::fstat(directory)?.st_nlink;
    #[allow(clippy::useless_conversion, reason = "it is narrower on other processors")]
    Ok(u64::from(links).saturating_sub(2))
}

pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The kernel's `struct clone_args`, version 2.
#[repr(C)]
#[derive(Debug, Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const _: () = assert!(size_of::<CloneArguments>() == 88);

const CLONE_PIDFD: u64 = 0x1000;
pub(crate) const CLONE_PARENT: u64 = 0x8000;
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
