//! The life of a maker: a process that shares its owner's memory and descriptors, makes namespaces and bears
//! a child in them. Touches only its own stack and the record that it shares, allocates nothing, and makes
//! no call that sets `errno` while its owner is at work.

use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, futex};

use super::slate::{ASSIGNED, Assignment, BIRTH, BORN, FAILED, MADE, NOTHING, Slate};
use crate::clone::{CloneArguments, Namespaces, last_errno};

/// The maker's life.
pub(super) extern "C" fn make(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the pointer must be to a `Slate` that outlives this process: it is `Nursery::open`'s,
    // which is freed after this process was reaped.
    let shared = unsafe { &*argument.cast::<Slate>() };
    make_in(shared, enter(shared))
}

/// The life of a maker that was in its namespaces, or was refused them, before it was adopted.
#[cfg(target_arch = "x86_64")]
pub(super) extern "C" fn make_early(shared: &'static Slate) -> libc::c_int {
    let entered = match shared.beginning.outcome.load(Ordering::Acquire) {
        0.. => Ok(()),
        refused => Err(Errno::from_raw_os_error(-refused)),
    };
    make_in(shared, entered)
}

fn make_in(shared: &Slate, entered: Result<(), Errno>) -> libc::c_int {
    let say = |state: u32| {
        shared.state.store(state, Ordering::Release);
        let _woken = futex::wake(&shared.state, futex::Flags::empty(), 1);
    };
    // The owner maps the ids while the rest is done.
    let made = entered.map(|()| say(MADE)).and_then(|()| furnish(shared));
    if let Err(errno) = made.and_then(|()| serve_until_birth(shared)) {
        shared.errno.store(errno.raw_os_error(), Ordering::Release);
        say(FAILED);
        return 1;
    }
    // SAFETY: the record must not be in use elsewhere: its owner waits for the state to change.
    let Some(birth) = (unsafe { (*shared.birth.get()).as_mut() }) else { return 1 };
    birth.arguments.pidfd = (&raw mut birth.pidfd) as u64;
    // SAFETY: clone3 without CLONE_VM must see a readable `clone_args` of the given size; the child
    // goes on with a copy of a process whose only thread waits for this one.
    let result = unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut birth.arguments, size_of::<CloneArguments>())
    };
    match result {
        0 => {
            if give_processors_back(shared).is_ok() {
                // SAFETY: the closure must be live and unshared: this is the child's own copy of
                // it, made while the caller of `bear` was waiting inside that function.
                let body = unsafe { birth.body.as_mut() };
                body(shared.shelf.take());
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
fn enter(shared: &Slate) -> Result<(), Errno> {
    die_with_owner(shared)?;
    let setting = shared.setting();
    // The ids can be mapped before the rest is there, which takes longer.
    let user = if setting.namespaces.contains(Namespaces::USER) {
        Namespaces::USER
    } else {
        Namespaces::NONE
    };
    user.enter()?;
    shared.mappable.store(u32::from(user == Namespaces::USER), Ordering::Release);
    setting.namespaces.without(user).enter()
}

/// Does what is left to do in the namespaces before a child is born in them.
fn furnish(shared: &Slate) -> Result<(), Errno> {
    // Whoever has not been moved by now has an owner that is about to.
    while shared.placed.load(Ordering::Acquire) == 0 {
        let _woken = futex::wait(&shared.placed, futex::Flags::empty(), 0, None);
    }
    let namespaces = shared.setting().namespaces;
    if namespaces.contains(Namespaces::USER) {
        empty_bounding_set()?;
    }
    if namespaces.contains(Namespaces::NET) {
        bring_loopback_up()?;
    }
    Ok(())
}

/// Does what the owner wants until that is a birth.
fn serve_until_birth(shared: &Slate) -> Result<(), Errno> {
    let mut served = NOTHING;
    loop {
        let wanted = shared.wanted.load(Ordering::Acquire);
        match wanted {
            BIRTH => return Ok(()),
            ASSIGNED if served != ASSIGNED => {
                // SAFETY: nobody must write it meanwhile: the owner did, once, before it said so.
                if let Some(assignment) = unsafe { *shared.assignment.get() } {
                    become_child_to_be(shared, assignment)?;
                    if has_descriptors_to_spare() {
                        shared.shelf.fill(assignment.furniture);
                    }
                }
                served = ASSIGNED;
            }
            _ => {
                let _woken = futex::wait(&shared.wanted, futex::Flags::empty(), wanted, None);
            }
        }
    }
}

/// Whether the owner, whose table it is, misses none of those that the furniture takes.
fn has_descriptors_to_spare() -> bool {
    rustix::process::getrlimit(Resource::Nofile).current.is_none_or(|most| most >= FEW_DESCRIPTORS)
}

/// Takes the child's ids, which its files are to belong to. The kernel forgets with the old ones that the
/// maker is to die with its owner.
fn become_child_to_be(shared: &Slate, assignment: Assignment) -> Result<(), Errno> {
    let Assignment { uid, gid, .. } = assignment;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    die_with_owner(shared)
}

fn die_with_owner(shared: &Slate) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let is_orphan = rustix::process::getppid() != shared.setting().parent;
    if is_orphan { Err(Errno::SRCH) } else { Ok(()) }
}

/// Lets the child run wherever the owner may. Only now: a child is given an idle processor, and the one
/// that is idle is the owner's, who waits for the birth. Both would share it from there on, while the
/// maker's falls idle.
fn give_processors_back(shared: &Slate) -> Result<(), Errno> {
    match &shared.setting().processors {
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
pub(super) const MAKER: libc::c_int = libc::CLONE_VM
    | libc::CLONE_FILES
    | libc::CLONE_PIDFD
    | libc::CLONE_CHILD_CLEARTID
    | libc::SIGCHLD;

/// With fewer than these every one may be needed for a grant.
const FEW_DESCRIPTORS: u64 = 256;
