//! Namespaces that are made while the caller goes on with something else, and a child that is then
//! born in them. Making a network namespace alone takes the kernel longer than a caller needs to
//! find out what the child has to do, so the two are done side by side.
//!
//! The work is done by a process that shares this one's memory and descriptors, which is why the
//! child finds everything that the caller laid out. That process runs only the code of this file,
//! touches only its own stack and the [`Shared`] record, and makes no call that sets `errno`, which
//! it shares as well. Never makes a thread.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};
use rustix::thread::{CapabilitySet, CpuSet, futex};

use crate::clone::{
    CLONE_CLEAR_SIGHAND, CLONE_INTO_CGROUP, CLONE_PARENT, CLONE_PIDFD, CloneArguments, Namespaces,
    last_errno, thread_count,
};
use crate::signal::{self, SignalSet};
use crate::stack::Stack;

/// Namespaces in the making, or made and still empty. Dropping it gives them back.
#[derive(Debug)]
pub struct Nursery {
    maker: Pid,
    /// By which it is ended and waited for: in a process that has its children reaped by the kernel,
    /// the id of one that has ended can be another's.
    pidfd: OwnedFd,
    shared: NonNull<Shared>,
    /// Whether the maker is kept off the owner's processor.
    is_apart: bool,
    _stack: Stack,
}

/// What the owner does while the namespaces are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// It works, so the maker is kept off its processor.
    Work,
    /// It sleeps, so the maker takes its processor: another one may be busy with finding out what the
    /// child has to do.
    Sleep,
}

// SAFETY: the record that the pointer leads to must be usable from whichever thread owns the value:
// it is on the heap, its atomics may be used by any, and `birth` is touched in `bear` alone, which
// borrows the value mutably.
unsafe impl Send for Nursery {}

// SAFETY: what takes a shared reference must bear being called by two threads at once: `wait` reads
// atomics and waits on a futex, nothing more.
unsafe impl Sync for Nursery {}

/// A child that was born in a nursery.
#[derive(Debug)]
pub struct Newborn {
    /// Its process id.
    pub pid: Pid,
    /// A handle on it that cannot come to mean another process.
    pub pidfd: OwnedFd,
}

/// What this process and the maker tell each other.
#[derive(Debug)]
#[repr(C)]
struct Shared {
    /// How far the maker is. The kernel sets it to [`GONE`] when the maker ends.
    state: AtomicU32,
    /// Whether the maker may bear the child.
    ordered: AtomicU32,
    /// Why the maker failed.
    errno: AtomicI32,
    /// Whether the maker is where it is to be.
    placed: AtomicU32,
    /// Where the child may run.
    processors: Option<CpuSet>,
    /// What the maker moves itself into.
    namespaces: Namespaces,
    /// Who started the maker.
    parent: Pid,
    /// How the child is made. Written before `ordered`, and by the maker afterwards.
    birth: std::cell::UnsafeCell<Birth>,
}

#[derive(Debug, Default)]
struct Birth {
    arguments: CloneArguments,
    pidfd: i32,
    pid: i32,
    body: Option<NonNull<dyn FnMut()>>,
}

impl Nursery {
    /// Begins to make the namespaces, with loopback up if there is a network among them and nothing in
    /// the bounding set of capabilities if there is a user namespace.
    ///
    /// Refused with `EBUSY` in a process with more than one thread, like every fork here.
    pub fn open(namespaces: Namespaces, meanwhile: Meanwhile) -> Result<Self, Errno> {
        if thread_count()? != 1 {
            return Err(Errno::BUSY);
        }
        make_room_for_descriptors();
        let stack = Stack::new(STACK)?;
        let shared = Box::new(Shared {
            state: AtomicU32::new(MAKING),
            ordered: AtomicU32::new(0),
            errno: AtomicI32::new(0),
            placed: AtomicU32::new(0),
            processors: rustix::thread::sched_getaffinity(None).ok(),
            namespaces,
            parent: rustix::process::getpid(),
            birth: std::cell::UnsafeCell::default(),
        });
        let shared = NonNull::from(Box::leak(shared));
        const _: () = assert!(std::mem::offset_of!(Shared, state) == 0);
        let cleared_at_end = shared.as_ptr().cast::<libc::pid_t>();
        // The maker must not be ended by what a user sends to the whole group, and its child starts
        // with the same signals blocked.
        let mask = signal::set_mask(&SignalSet::full())?;
        let mut pidfd: libc::c_int = -1;
        // SAFETY: the maker needs a stack of its own, aligned to 16 bytes at its top, and a record
        // that outlives it, whose first word the kernel may clear at its end: `stack` and `shared`
        // are owned by the returned value, whose drop waits for the maker's end before it frees them.
        // The kernel stores a descriptor in `pidfd`, which outlives the call.
        let pid = unsafe {
            libc::clone(
                make,
                stack.top(),
                MAKER,
                shared.as_ptr().cast(),
                &raw mut pidfd,
                std::ptr::null_mut::<libc::c_void>(),
                cleared_at_end,
            )
        };
        let failed = if pid == -1 { Some(last_errno()) } else { None };
        signal::set_mask(&mask)?;
        match (failed, Pid::from_raw(pid)) {
            (None, Some(maker)) => {
                // SAFETY: the descriptor must be open and owned by nobody else: CLONE_PIDFD made the
                // kernel store a fresh one in `pidfd`, and the maker, who shares it, closes none.
                let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
                let is_apart = false;
                let mut nursery = Self { maker, pidfd, shared, is_apart, _stack: stack };
                if meanwhile == Meanwhile::Work {
                    nursery.move_off_this_processor();
                }
                nursery.shared().placed.store(1, Ordering::Release);
                let _woken = futex::wake(&nursery.shared().placed, futex::Flags::empty(), 1);
                Ok(nursery)
            }
            (errno, _) => {
                // SAFETY: the record must have no other user: no process was made to share it.
                drop(unsafe { Box::from_raw(shared.as_ptr()) });
                Err(errno.unwrap_or(Errno::RANGE))
            }
        }
    }

    /// Waits until the namespaces exist. `/proc/PID` of the process it returns leads to them, and
    /// its user namespace has no ids mapped yet.
    pub fn wait(&self) -> Result<Pid, Errno> {
        match self.wait_while(MAKING) {
            MADE => Ok(self.maker),
            _ => Err(self.failure()),
        }
    }

    /// Whether [`Self::wait`] would not wait.
    pub fn is_ready(&self) -> bool {
        self.shared().state.load(Ordering::Acquire) != MAKING
    }

    /// Bears a child of this process in the namespaces and in a process id and cgroup namespace of
    /// its own, once. `body` is its whole life, on a copy of this process's memory; all its signals
    /// are blocked.
    pub fn bear(
        &mut self,
        cgroup: Option<BorrowedFd<'_>>,
        body: &mut dyn FnMut(),
    ) -> Result<Newborn, Errno> {
        self.wait()?;
        let shared = self.shared();
        if shared.ordered.load(Ordering::Acquire) != 0 {
            return Err(Errno::ALREADY);
        }
        // The exit signal is the maker's own with CLONE_PARENT, as clone(2) has it.
        let mut arguments = CloneArguments {
            flags: CLONE_PIDFD
                | CLONE_CLEAR_SIGHAND
                | CLONE_PARENT
                | Namespaces::PID.and(Namespaces::CGROUP).bits(),
            ..CloneArguments::default()
        };
        if let Some(cgroup) = cgroup {
            arguments.flags |= CLONE_INTO_CGROUP;
            arguments.cgroup = u64::try_from(cgroup.as_raw_fd()).unwrap_or(u64::MAX);
        }
        // The lifetime of `body` ends after this function, which does not return before the maker
        // has made its copy of everything.
        let body = NonNull::from(body);
        // SAFETY: the target type differs in the lifetime alone, and the pointer is used by the
        // child only, whose copy of what it borrows is made while this function still runs.
        let body: NonNull<dyn FnMut() + 'static> = unsafe { std::mem::transmute(body) };
        // SAFETY: the record must not be in use elsewhere: the maker reads it only after `ordered`
        // is set below.
        unsafe { *shared.birth.get() = Birth { arguments, pidfd: -1, pid: 0, body: Some(body) } };
        if !self.is_apart {
            // From here on the owner is awake.
            self.move_off_this_processor();
        }
        let shared = self.shared();
        shared.ordered.store(1, Ordering::Release);
        futex::wake(&shared.ordered, futex::Flags::empty(), 1)?;
        self.wait_while(MADE);
        // SAFETY: as above: the maker has written its last word, or is gone.
        let birth = unsafe { &*shared.birth.get() };
        let Some(pid) = Pid::from_raw(birth.pid) else { return Err(self.failure()) };
        // SAFETY: the descriptor must be open and owned by nobody else: CLONE_PIDFD made the
        // kernel store a fresh one in the shared table, and nothing has copied it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(birth.pidfd) };
        Ok(Newborn { pid, pidfd })
    }

    /// Keeps the maker from waiting behind its owner.
    fn move_off_this_processor(&mut self) {
        crate::processors::keep_off_this_one(self.maker);
        self.is_apart = true;
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the pointer must be to a live `Shared`: it was leaked in `open` and is freed in
        // `drop` alone.
        unsafe { self.shared.as_ref() }
    }

    /// Waits until the state is another one and returns that.
    fn wait_while(&self, known: u32) -> u32 {
        let state = &self.shared().state;
        for turn in 0_u32.. {
            let now = state.load(Ordering::Acquire);
            if now != known {
                return now;
            }
            // A birth takes the kernel some hundred microseconds. Whoever sleeps through them is
            // woken on the processor that the child has been given meanwhile, and both then share
            // it while the maker's falls idle. Namespaces take longer, and nobody is born by then.
            if known == MADE && turn < SPINS {
                std::hint::spin_loop();
                continue;
            }
            // Woken too early, interrupted or late: the state tells. Not a private futex, because
            // the kernel wakes it as a shared one when the maker ends.
            let _woken = futex::wait(state, futex::Flags::empty(), known, None);
        }
        GONE
    }

    fn failure(&self) -> Errno {
        match self.shared().errno.load(Ordering::Acquire) {
            0 => Errno::SRCH,
            errno => Errno::from_raw_os_error(errno),
        }
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        // The maker ends by itself after a birth; one that still waits is not needed any more.
        if self.shared().ordered.load(Ordering::Acquire) == 0 {
            let _gone = signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
        }
        let ended = WaitId::PidFd(self.pidfd.as_fd());
        // `ECHILD` where the kernel has reaped it.
        while let Err(Errno::INTR) = rustix::process::waitid(ended.clone(), WaitIdOptions::EXITED) {
        }
        // SAFETY: the record must have no other user and come from a box: the maker has ended, and
        // `open` leaked it.
        drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
    }
}

/// Lets the table of descriptors grow now, while it is this process's alone. To let a shared one
/// grow the kernel waits until no processor can still be reading the old one (`synchronize_rcu`),
/// which takes up to ten milliseconds for each doubling, and every grant of a cage is a descriptor.
fn make_room_for_descriptors() {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let room = before.maximum.map_or(ROOM, |most| most.min(ROOM));
    let raised = Rlimit { current: Some(room), maximum: before.maximum };
    let is_low = before.current.is_some_and(|soft| soft < room);
    if is_low && rustix::process::setrlimit(Resource::Nofile, raised).is_err() {
        return;
    }
    // The table reaches as far as the highest number that was ever in use. Where this fails, a
    // start with many grants is slower and nothing else.
    if let Ok(highest) = i32::try_from(room.saturating_sub(1)) {
        let _closed = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), highest);
    }
    if is_low {
        // Lowering a soft limit to what it was cannot be refused.
        let _restored = rustix::process::setrlimit(Resource::Nofile, before);
    }
}

/// The maker's life.
extern "C" fn make(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the pointer must be to a `Shared` that outlives this process: it is `Nursery::open`'s,
    // which is freed after this process was reaped.
    let shared = unsafe { &*argument.cast::<Shared>() };
    let say = |state: u32| {
        shared.state.store(state, Ordering::Release);
        let _woken = futex::wake(&shared.state, futex::Flags::empty(), 1);
    };
    // The owner maps the ids while the rest is done.
    if let Err(errno) = enter(shared).map(|()| say(MADE)).and_then(|()| furnish(shared)) {
        shared.errno.store(errno.raw_os_error(), Ordering::Release);
        say(FAILED);
        return 1;
    }
    while shared.ordered.load(Ordering::Acquire) == 0 {
        let _woken = futex::wait(&shared.ordered, futex::Flags::empty(), 0, None);
    }
    // SAFETY: the record must not be in use elsewhere: its owner waits for the state to change.
    let birth = unsafe { &mut *shared.birth.get() };
    birth.arguments.pidfd = (&raw mut birth.pidfd) as u64;
    // SAFETY: clone3 without CLONE_VM must see a readable `clone_args` of the given size; the child
    // goes on with a copy of a process whose only thread waits for this one.
    let result = unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut birth.arguments, size_of::<CloneArguments>())
    };
    match result {
        0 => {
            if let (Ok(()), Some(mut body)) = (give_processors_back(shared), birth.body) {
                // SAFETY: the closure must be live and unshared: this is the child's own copy of
                // it, made while the caller of `bear` was waiting inside that function.
                let body = unsafe { body.as_mut() };
                body();
            }
            crate::exec::exit_now(0)
        }
        // The owner waits, so `errno` is nobody else's now.
        -1 => shared.errno.store(last_errno().raw_os_error(), Ordering::Release),
        pid => birth.pid = i32::try_from(pid).unwrap_or_default(),
    }
    say(BORN);
    0
}

/// Moves the maker into its namespaces and ties it to the process that started it.
fn enter(shared: &Shared) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(shared.parent) {
        return Err(Errno::SRCH);
    }
    shared.namespaces.enter()
}

/// Does what is left to do in the namespaces before a child is born in them.
fn furnish(shared: &Shared) -> Result<(), Errno> {
    // Whoever has not been moved by now has an owner that is about to.
    while shared.placed.load(Ordering::Acquire) == 0 {
        let _woken = futex::wait(&shared.placed, futex::Flags::empty(), 0, None);
    }
    if shared.namespaces.contains(Namespaces::USER) {
        empty_bounding_set()?;
    }
    if shared.namespaces.contains(Namespaces::NET) {
        bring_loopback_up()?;
    }
    Ok(())
}

/// Lets the child run wherever the owner may. Only now: a child is given an idle processor, and the one
/// that is idle is the owner's, who waits for the birth. Both would share it from there on, while the
/// maker's falls idle.
fn give_processors_back(shared: &Shared) -> Result<(), Errno> {
    match &shared.processors {
        Some(processors) => rustix::thread::sched_setaffinity(None, processors),
        None => Ok(()),
    }
}

/// The owner may have filled the table of descriptors meanwhile, beyond the limit that the maker was
/// made with and that its child is to have.
fn bring_loopback_up() -> Result<(), Errno> {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    rustix::process::setrlimit(Resource::Nofile, raised)?;
    crate::loopback::bring_up()?;
    rustix::process::setrlimit(Resource::Nofile, before)
}

/// Keeps the child from gaining a capability of the new user namespace by executing a program. What
/// the maker has already stays, and the child has it too.
fn empty_bounding_set() -> Result<(), Errno> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The kernel knows no more of them.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// How the maker is made.
const MAKER: libc::c_int = libc::CLONE_VM
    | libc::CLONE_FILES
    | libc::CLONE_PIDFD
    | libc::CLONE_CHILD_CLEARTID
    | libc::SIGCHLD;

const GONE: u32 = 0;
const MAKING: u32 = 1;
const MADE: u32 = 2;
const BORN: u32 = 3;
const FAILED: u32 = 4;

// The kernel writes a zero when the maker ends, so no state that means something else may be it.
const _: () = assert!(MAKING != GONE && MADE != GONE && BORN != GONE && FAILED != GONE);

/// How often the state is looked at before sleeping: for a quarter of a millisecond, which is what a
/// birth with a thousand grants in memory takes.
const SPINS: u32 = 12_000;

/// Descriptors for the longest list of rules that a policy can have, or for half of it twice.
const ROOM: u64 = 4096;

/// The child builds a whole cage on it.
const STACK: usize = 1024 * 1024;
