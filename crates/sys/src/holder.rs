//! A process that makes namespaces and holds them open while its owner goes on with something else, and
//! children that are started in them. It shares its owner's memory, so it only touches its own stack and the
//! record that it shares, and makes no call that sets `errno`. Never makes a thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use rustix::thread::{ThreadNameSpaceType, futex};

use crate::clone::{
    self, CLONE_PARENT, Forked, Namespaces, last_errno, run_sharing_memory, thread_count,
};
use crate::signal::{self, SignalSet};
use crate::stack::Stack;

/// The process. Dropping it ends it; namespaces that nobody else uses go with it.
#[derive(Debug)]
pub struct NamespaceHolder {
    pid: Pid,
    /// By which it is ended and waited for: in a process that has its children reaped by the kernel,
    /// the id of one that has ended can be another's.
    pidfd: OwnedFd,
    shared: Arc<Shared>,
    _stack: Stack,
}

/// What the holder and its owner both see.
#[derive(Debug)]
#[repr(C)]
struct Shared {
    /// [`MAKING`], [`MADE`], or the error number of a failure. The kernel sets it to [`GONE`] when the
    /// holder ends.
    state: AtomicU32,
    namespaces: Namespaces,
    owner: Pid,
}

impl NamespaceHolder {
    /// Starts the holder, which begins to make the namespaces. It ends with the thread that called this.
    pub fn start(namespaces: Namespaces) -> Result<Self, Errno> {
        let stack = Stack::new(HOLDER_STACK)?;
        let (state, owner) = (AtomicU32::new(MAKING), rustix::process::getpid());
        let shared = Arc::new(Shared { state, namespaces, owner });
        let address = Arc::as_ptr(&shared).cast_mut();
        const _: () = assert!(std::mem::offset_of!(Shared, state) == 0);
        let mut pidfd: libc::c_int = -1;
        // What a user sends to the whole group must not end it.
        let mask = signal::set_mask(&SignalSet::full())?;
        // SAFETY: the holder needs a stack of its own, aligned to 16 bytes at its top, and a record that
        // outlives it, whose first word the kernel may clear at its end: `stack` and `shared` are kept in
        // the returned value, whose drop waits for the holder's end. The kernel stores a descriptor in
        // `pidfd`, which outlives the call.
        let pid = unsafe {
            libc::clone(
                hold,
                stack.top(),
                libc::CLONE_VM | libc::CLONE_PIDFD | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD,
                address.cast(),
                &raw mut pidfd,
                std::ptr::null_mut::<libc::c_void>(),
                address.cast::<libc::pid_t>(),
            )
        };
        let failed = if pid == -1 { Some(last_errno()) } else { None };
        signal::set_mask(&mask)?;
        if let Some(errno) = failed {
            return Err(errno);
        }
        // SAFETY: the descriptor must be open and owned by nobody else: CLONE_PIDFD made the kernel
        // store a fresh one in `pidfd`, and nothing has copied it.
        let pidfd = unsafe { std::os::fd::FromRawFd::from_raw_fd(pidfd) };
        let pid = Pid::from_raw(pid).ok_or(Errno::RANGE)?;
        Ok(Self { pid, pidfd, shared, _stack: stack })
    }

    /// The holder's process id, for `/proc/PID/uid_map` and `/proc/PID/ns/user`.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until the namespaces exist.
    pub fn wait(&self) -> Result<(), Errno> {
        let state = &self.shared.state;
        loop {
            match state.load(Ordering::Acquire) {
                // Woken too early or interrupted: the state tells. Not a private futex, because the
                // kernel wakes it as a shared one when the holder ends.
                MAKING => {
                    let _woken = futex::wait(state, futex::Flags::empty(), MAKING, None);
                }
                MADE => return Ok(()),
                GONE => return Err(Errno::SRCH),
                errno => return Err(Errno::from_raw_os_error(errno.cast_signed())),
            }
        }
    }

    /// Starts a child of this process in the namespaces and in further new ones, and returns its id and a
    /// handle on it. `body` is its whole life, on a copy of this process's memory; all its signals are
    /// blocked.
    ///
    /// Refused with `EBUSY` in a process with more than one thread, like every fork here.
    pub fn start_child(
        &self,
        further: Namespaces,
        cgroup: Option<BorrowedFd<'_>>,
        body: &mut dyn FnMut(),
    ) -> Result<(Pid, OwnedFd), Errno> {
        if thread_count()? != 1 {
            return Err(Errno::BUSY);
        }
        self.wait()?;
        let mut stack = Stack::new(CHILD_STACK)?;
        let mut started = Err(Errno::CHILD);
        // A process in between joins the namespaces, because this one must stay where it is.
        let mut join_and_fork = || {
            started =
                self.join().and_then(|()| match clone::fork_with(CLONE_PARENT, further, cgroup)? {
                    Forked::Parent { pid, pidfd } => Ok((pid, pidfd)),
                    Forked::Child => {
                        body();
                        crate::exec::exit_now(0)
                    }
                });
            0
        };
        let mask = signal::set_mask(&SignalSet::full())?;
        let between = run_sharing_memory(&mut stack, &mut join_and_fork);
        signal::set_mask(&mask)?;
        // It has ended already; `ECHILD` where the kernel has reaped it.
        let _reaped = rustix::process::waitpid(Some(between?), WaitOptions::empty());
        started
    }

    /// Moves this process into the namespaces.
    fn join(&self) -> Result<(), Errno> {
        let types = u32::try_from(self.shared.namespaces.bits()).map_err(|_| Errno::INVAL)?;
        let types = ThreadNameSpaceType::from_bits_retain(types);
        rustix::thread::move_into_thread_name_spaces(self.pidfd.as_fd(), types)
    }

    /// Ends the process without waiting for it: whoever holds a descriptor of a namespace, or lives in
    /// one, keeps it open from now on.
    pub fn end(&self) {
        // Already gone is what was wanted.
        let _gone = signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
    }
}

impl Drop for NamespaceHolder {
    fn drop(&mut self) {
        self.end();
        let ended = WaitId::PidFd(self.pidfd.as_fd());
        // `ECHILD` where the kernel has reaped it.
        while let Err(Errno::INTR) = rustix::process::waitid(ended.clone(), WaitIdOptions::EXITED) {
        }
    }
}

/// The holder's life. It stays after a failure too, because the kernel clears what it has said at its end.
extern "C" fn hold(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the pointer must be to a `Shared` that outlives this process: it is that of
    // `NamespaceHolder::start`, which is freed after this process was waited for.
    let shared = unsafe { &*argument.cast::<Shared>() };
    let state = match make(shared) {
        Ok(()) => MADE,
        Err(errno) => errno.raw_os_error().cast_unsigned(),
    };
    shared.state.store(state, Ordering::Release);
    let _woken = futex::wake(&shared.state, futex::Flags::empty(), 1);
    loop {
        // SAFETY: pause takes no argument and touches no memory. It returns on no signal, because all are
        // blocked, and so sets no `errno`.
        unsafe { libc::pause() };
    }
}

fn make(shared: &Shared) -> Result<(), Errno> {
    die_with(shared.owner)?;
    shared.namespaces.enter()?;
    if shared.namespaces.contains(Namespaces::NET) {
        // Who lives there does so again, and says what is wrong.
        let _up_later = crate::loopback::bring_up();
    }
    Ok(())
}

/// An owner that is killed must not leave this process behind: it asks to be killed too, and looks whether
/// that came too late.
fn die_with(owner: Pid) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(owner) {
        crate::exec::exit_now(1);
    }
    Ok(())
}

const GONE: u32 = 0;
const MAKING: u32 = u32::MAX;
const MADE: u32 = u32::MAX - 1;

const HOLDER_STACK: usize = 16 * 1024;

/// The child builds a whole cage on it.
const CHILD_STACK: usize = 1024 * 1024;
