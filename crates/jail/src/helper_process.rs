//! A jail for a process of our own that serves cages from outside, as the gatekeeper does: it keeps
//! its network namespace and the descriptors that it has, and loses files, privileges, other
//! processes and nearly all system calls. Nothing undoes it.

use std::os::fd::AsFd;

use plan::{GuestPath, HostIds, Identity, IdentityMap, LandlockPlan, TmpfsSize};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MoveMountFlags;
use rustix::process::{DumpableBehavior, Gid, Pid, Resource, Rlimit, Uid};
use rustix::thread::CapabilitySets;
use sys::clone::Namespaces;
use sys::mount::{Depth, MountAttributes};

use crate::seccomp::Filter;
use crate::{LandlockState, SetupFailure, Step, identity, landlock, privileges, tree};

/// How a helper is jailed.
#[derive(Clone, Copy, Debug)]
pub struct HelperJail {
    /// Whom it dies with: the process that forked it.
    pub parent: Pid,
    /// How many descriptors it wants to have open at once.
    pub descriptors: u64,
}

/// What its jail rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The second wall around files.
    pub landlock: LandlockState,
    /// How many descriptors it may have open at once.
    pub descriptors: u64,
}

/// Puts this process, which must be freshly forked and have a single thread, into its jail. A
/// failure leaves it half jailed: the only thing to do then is to end it.
///
/// A helper of root keeps nothing of root: it becomes an id that owns nothing.
pub fn confine(jail: &HelperJail) -> Result<Confined, SetupFailure> {
    let descriptors = raise_descriptor_limit(jail.descriptors)?;
    // The filter is built while this process still has more than its memory.
    let filter = Filter::new(&plan::seccomp::gatekeeper());
    let (identity, ids) = own_identity()?;
    enter_namespaces(&identity, ids)?;
    identity::assume(&identity)?;
    die_with(jail.parent)?;
    enter_empty_root()?;
    privileges::refuse_core_dumps()?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| SetupFailure::kernel(Step::Settings, HELPER, errno))?;
    privileges::drop_all()?;
    let landlock = landlock::restrict(&LandlockPlan { rules: Vec::new() })?;
    check_files(landlock)?;
    filter.install().map_err(|errno| SetupFailure::kernel(Step::Seccomp, HELPER, errno))?;
    check_calls()?;
    Ok(Confined { landlock, descriptors })
}

/// As far as the hard limit goes, and beyond it where this process may.
fn raise_descriptor_limit(wanted: u64) -> Result<u64, SetupFailure> {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let hard = before.maximum.unwrap_or(u64::MAX);
    let set = |soft: u64, hard: u64| {
        let limit = Rlimit { current: Some(soft), maximum: Some(hard) };
        rustix::process::setrlimit(Resource::Nofile, limit)
    };
    if before.current.is_none_or(|soft| soft >= wanted) {
        return Ok(before.current.unwrap_or(wanted));
    }
    if wanted > hard && set(wanted, wanted).is_ok() {
        return Ok(wanted);
    }
    let reached = wanted.min(hard);
    set(reached, hard)
        .map_err(|errno| SetupFailure::kernel(Step::Settings, "the descriptor limit", errno))?;
    Ok(reached)
}

/// A user keeps its id, which is all that it can map; root becomes one that owns nothing and is, by
/// its process id, no other helper's. Either way the id is this process's own when it is mapped.
fn own_identity() -> Result<(Identity, HostIds), SetupFailure> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let ids = if uid.is_root() {
        let number = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        let id = FIRST_UNOWNED + number % UNOWNED;
        let ids = HostIds { uid: id, gid: id };
        become_unowned(ids).map_err(|errno| SetupFailure::kernel(Step::Identity, HELPER, errno))?;
        ids
    } else {
        HostIds { uid: uid.as_raw(), gid: gid.as_raw() }
    };
    let home = GuestPath::root();
    let (user, map) = (HELPER.to_owned(), IdentityMap::Caller(ids));
    Ok((Identity { uid: INSIDE, gid: INSIDE, user, home, map }, ids))
}

/// Gives up root's ids and groups, and keeps its capabilities for the namespaces that come next. Ids
/// that are not one's own could only be mapped by another process.
fn become_unowned(ids: HostIds) -> Result<(), Errno> {
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_keep_capabilities(true)?;
    let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    let kept = rustix::thread::capabilities(None)?;
    let effective = CapabilitySets { effective: kept.permitted, ..kept };
    rustix::thread::set_capabilities(None, effective)?;
    // The kernel lets nobody write the maps of a process whose ids have changed, itself included.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
}

/// New namespaces of every kind but those that the helper works in: the network, from where it
/// dials, and process ids, by which it dies with its parent.
fn enter_namespaces(identity: &Identity, ids: HostIds) -> Result<(), SetupFailure> {
    let namespaces = Namespaces::USER
        .and(Namespaces::MOUNT)
        .and(Namespaces::IPC)
        .and(Namespaces::UTS)
        .and(Namespaces::CGROUP);
    sys::clone::enter_new(namespaces)
        .map_err(|errno| SetupFailure::kernel(Step::Namespaces, HELPER, errno))?;
    identity::map(rustix::process::getpid(), identity, ids)
}

fn die_with(parent: Pid) -> Result<(), SetupFailure> {
    privileges::die_with_parent()?;
    if rustix::process::getppid() == Some(parent) {
        return Ok(());
    }
    Err(SetupFailure::found(Step::Control, "the supervisor", "it is gone"))
}

/// A root without a single name in it, which nothing can be added to.
fn enter_empty_root() -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Pivot, "/", errno);
    let enter = || -> Result<(), Errno> {
        let attributes = sys::mount::NOSUID | sys::mount::NODEV | sys::mount::NOEXEC;
        let size = TmpfsSize { bytes: 4096, inodes: 1 };
        let root = tree::tmpfs(0o555, size, attributes)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(&root, c"", CWD, c"/", flags)?;
        let change = MountAttributes { set: sys::mount::RDONLY, make_private: true, idmap: None };
        sys::mount::set_attributes(root.as_fd(), change, Depth::Single)?;
        tree::leave_for(root.as_fd())
    };
    enter().map_err(failed)
}

/// The root is empty and cannot be written to; where there is landlock, it cannot even be listed.
fn check_files(landlock: LandlockState) -> Result<(), SetupFailure> {
    let found = |detail: &str| Err(SetupFailure::found(Step::Verify, HELPER, detail));
    let open = |path: &std::ffi::CStr, flags| {
        rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))
    };
    if open(c"/new", OFlags::WRONLY | OFlags::CREATE).is_ok() {
        return found("it can still write");
    }
    if open(c"/proc", OFlags::PATH).err() != Some(Errno::NOENT) {
        return found("it still sees files");
    }
    match open(c"/", OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(_) if landlock != LandlockState::Absent => found("it can still read directories"),
        _ => Ok(()),
    }
}

/// The filter holds.
fn check_calls() -> Result<(), SetupFailure> {
    let opened = rustix::fs::openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    if opened.err() != Some(Errno::PERM) {
        return Err(SetupFailure::found(Step::Verify, HELPER, "the call filter is not in force"));
    }
    Ok(())
}

const HELPER: &str = "gatekeeper";
/// The helper's id in its own user namespace.
const INSIDE: u32 = 1000;
/// Ids that are given to nobody; cages of root are named from the same range.
const FIRST_UNOWNED: u32 = 1_900_000_000;
const UNOWNED: u32 = 100_000_000;
