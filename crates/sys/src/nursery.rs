//! Namespaces that are made while the caller goes on with something else, and a child that is then
//! born in them. Making a network namespace alone takes the kernel longer than a caller needs to
//! find out what the child has to do, so the two are done side by side.
//!
//! The work is done by a process that shares this one's memory and descriptors, which is why the
//! child finds everything that the caller laid out. That process runs only the code of `maker`,
//! touches only its own stack and the record that it shares with its owner, and makes no call that sets `errno`, which
//! it shares as well. Never makes a thread.

#[cfg(target_arch = "x86_64")]
mod early;
mod maker;
mod shelf;
mod slate;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, WaitId, WaitIdOptions};
use rustix::thread::futex;

use crate::clone::{
    CLONE_CLEAR_SIGHAND, CLONE_INTO_CGROUP, CLONE_PARENT, CLONE_PIDFD, CloneArguments, Namespaces,
    last_errno, thread_count,
};
use crate::signal::{self, SignalSet};
use crate::stack::Stack;

use maker::{MAKER, make};
use slate::{ASSIGNED, BIRTH, Birth, GONE, MADE, MAKING, NOTHING, Setting, Slate};

pub use shelf::Furniture;
pub use slate::Assignment;

/// Namespaces in the making, or made and still empty. Dropping it gives them back.
#[derive(Debug)]
pub struct Nursery {
    maker: Pid,
    /// By which it is ended and waited for: in a process that has its children reaped by the kernel,
    /// the id of one that has ended can be another's.
    pidfd: OwnedFd,
    shared: NonNull<Slate>,
    /// Whether the record is this value's to give back.
    is_boxed: bool,
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
// it is on the heap or static, its atomics may be used by any, `setting` is written before there is a
// value, and `birth` is touched in `bear` alone, which borrows the value mutably.
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

impl Nursery {
    /// Begins to make the namespaces, with loopback up if there is a network among them and nothing in
    /// the bounding set of capabilities if there is a user namespace.
    ///
    /// Refused with `EBUSY` in a process with more than one thread, like every fork here.
    pub fn open(namespaces: Namespaces, meanwhile: Meanwhile) -> Result<Self, Errno> {
        if thread_count()? != 1 {
            return Err(Errno::BUSY);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(nursery) = early::adopt(namespaces, meanwhile) {
            return Ok(nursery);
        }
        make_room_for_descriptors();
        let stack = Stack::new(STACK)?;
        let mut shared = Box::new(Slate::new());
        *shared.setting.get_mut() = Setting {
            processors: rustix::thread::sched_getaffinity(None).ok(),
            namespaces,
            parent: Some(rustix::process::getpid()),
        };
        let shared = NonNull::from(Box::leak(shared));
        const _: () = assert!(std::mem::offset_of!(Slate, state) == 0);
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
                let is_boxed = true;
                let mut nursery = Self { maker, pidfd, shared, is_boxed, is_apart, _stack: stack };
                nursery.place(meanwhile);
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

    /// The process whose user namespace can be mapped already, while the others are still being made;
    /// none if it has to be waited for, with [`Self::wait`].
    pub fn mappable(&self) -> Option<Pid> {
        (self.shared().mappable.load(Ordering::Acquire) != 0).then_some(self.maker)
    }

    /// Tells the maker who the child will be, once those ids are mapped. It makes what it can for it until
    /// the child is to be born.
    pub fn assign(&mut self, assignment: Assignment) {
        let shared = self.shared();
        if shared.wanted.load(Ordering::Acquire) != NOTHING {
            return;
        }
        // SAFETY: the record must not be in use elsewhere: the maker reads it only when it is wanted to
        // know it, below, and nobody comes here twice.
        unsafe { *shared.assignment.get() = Some(assignment) };
        self.want(ASSIGNED);
    }

    fn want(&self, what: u32) {
        let wanted = &self.shared().wanted;
        wanted.store(what, Ordering::Release);
        let _woken = futex::wake(wanted, futex::Flags::empty(), 1);
    }

    /// Bears a child of this process in the namespaces and in a process id and cgroup namespace of
    /// its own, once. `body` is its whole life, on a copy of this process's memory; all its signals
    /// are blocked.
    pub fn bear(
        &mut self,
        cgroup: Option<BorrowedFd<'_>>,
        body: &mut dyn FnMut(Furniture),
    ) -> Result<Newborn, Errno> {
        self.wait()?;
        let shared = self.shared();
        if shared.wanted.load(Ordering::Acquire) == BIRTH {
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
        let body: NonNull<dyn FnMut(Furniture) + 'static> = unsafe { std::mem::transmute(body) };
        // SAFETY: the record must not be in use elsewhere: the maker reads it only when a birth
        // is wanted, below.
        unsafe { *shared.birth.get() = Some(Birth { arguments, pidfd: -1, pid: 0, body }) };
        if !self.is_apart {
            // From here on the owner is awake.
            self.move_off_this_processor();
        }
        let shared = self.shared();
        shared.shelf.call();
        self.want(BIRTH);
        self.wait_while(MADE);
        // SAFETY: as above: the maker has written its last word, or is gone.
        let birth = unsafe { (*shared.birth.get()).as_ref() };
        let born = birth.and_then(|birth| Some((Pid::from_raw(birth.pid)?, birth.pidfd)));
        // The child has its own.
        drop(shared.shelf.take());
        let Some((pid, pidfd)) = born else { return Err(self.failure()) };
        // SAFETY: the descriptor must be open and owned by nobody else: CLONE_PIDFD made the
        // kernel store a fresh one in the shared table, and nothing has copied it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        Ok(Newborn { pid, pidfd })
    }

    /// Puts the maker where it is to be.
    fn place(&mut self, meanwhile: Meanwhile) {
        if meanwhile == Meanwhile::Work {
            self.move_off_this_processor();
        }
        self.shared().placed.store(1, Ordering::Release);
        let _woken = futex::wake(&self.shared().placed, futex::Flags::empty(), 1);
    }

    /// Keeps the maker from waiting behind its owner.
    fn move_off_this_processor(&mut self) {
        crate::processors::keep_off_this_one(self.maker);
        self.is_apart = true;
    }

    fn shared(&self) -> &Slate {
        // SAFETY: the pointer must be to a live `Slate`: it was leaked in `open` and is freed in
        // `drop` alone, or it is static.
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
        if self.shared().wanted.load(Ordering::Acquire) != BIRTH {
            let _gone = signal::send_by_handle(self.pidfd.as_fd(), libc::SIGKILL);
        }
        let ended = WaitId::PidFd(self.pidfd.as_fd());
        // `ECHILD` where the kernel has reaped it.
        while let Err(Errno::INTR) = rustix::process::waitid(ended.clone(), WaitIdOptions::EXITED) {
        }
        drop(self.shared().shelf.take());
        if self.is_boxed {
            // SAFETY: the record must have no other user and come from a box: the maker has ended, and
            // `open` leaked it.
            drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
        }
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

/// How often the state is looked at before sleeping: for a quarter of a millisecond, which is what a
/// birth with a thousand grants in memory takes.
const SPINS: u32 = 12_000;

/// Descriptors for the longest list of rules that a policy can have, or for half of it twice.
const ROOM: u64 = 4096;

/// The child builds a whole cage on it.
const STACK: usize = 1024 * 1024;
