//! A jail for a process of our own that serves cages from outside, as the gatekeeper does: it keeps
//! the descriptors that it has, and loses privileges, other processes, nearly all system calls and, but for what its
//! [`HelperJail`] says, files and the network. Nothing undoes it.

mod root;

use plan::seccomp::Helper;
use plan::{Access, GuestPath, HostIds, Identity, IdentityMap, LandlockPlan, LandlockRule};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Gid, Pid, Resource, Rlimit, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};
use sys::clone::Namespaces;

use crate::seccomp::Filter;
use crate::{LandlockState, SetupFailure, Step, identity, landlock, privileges};
use root::Detached;
pub use root::{COPIES, DESCRIPTORS, DIRECTORY, HelperFiles, HostDirectory, LOWER};

/// How a helper is jailed.
#[derive(Clone, Copy, Debug)]
pub struct HelperJail<'a> {
    /// What it is, by which it has its system calls.
    pub kind: Helper,
    /// When it ends.
    pub life: HelperLife,
    /// Where it can dial from.
    pub network: HelperNetwork,
    /// What it has of files.
    pub files: HelperFiles<'a>,
    /// How many descriptors it wants to have open at once.
    pub descriptors: u64,
}

/// When a helper ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperLife {
    /// With its parent, the process that forked it.
    With(Pid),
    /// When it sees fit: for one whose parent may be a thread that ends.
    Own,
}

/// Which network a helper is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperNetwork {
    /// That of whoever started it.
    Kept,
    /// One of its own, in which there is nothing.
    None,
}

/// What its jail rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The second wall around files.
    pub landlock: LandlockState,
    /// How many descriptors it may have open at once.
    pub descriptors: u64,
}

/// Puts this process, which must be freshly started and have a single thread, into its jail. A
/// failure leaves it half jailed: the only thing to do then is to end it.
///
/// A helper of root keeps nothing of root: it becomes an id that owns nothing.
pub fn confine(jail: &HelperJail<'_>) -> Result<Confined, SetupFailure> {
    let helper = jail.kind.name();
    let descriptors = raise_descriptor_limit(jail.descriptors)?;
    // The filter is built while this process still has more than its memory.
    let filter = Filter::new(&jail.kind.filter());
    let is_root = rustix::process::geteuid().is_root();
    let ids = own_ids();
    let mut detached = Detached::new();
    if is_root {
        detached = jail.files.detach_as(ids)?;
        become_unowned(ids).map_err(|errno| SetupFailure::kernel(Step::Identity, helper, errno))?;
    }
    let identity = own_identity(helper, ids);
    enter_namespaces(&identity, ids, jail.network)?;
    let detached = jail.files.detach(detached)?;
    identity::assume(&identity)?;
    if let HelperLife::With(parent) = jail.life {
        die_with(parent)?;
    }
    jail.files.enter(detached)?;
    privileges::refuse_core_dumps()?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| SetupFailure::kernel(Step::Settings, helper, errno))?;
    match jail.files {
        HelperFiles::None | HelperFiles::Copies(_) | HelperFiles::Directory(_) => {
            privileges::drop_all()?;
        }
        // Over its own files alone, because only its own ids mean something in its namespace: an owner is kept from
        // none of them by a mode, which a program in the cage can set.
        HelperFiles::Layers { .. } => privileges::drop_all_but(CapabilitySet::DAC_OVERRIDE)?,
    }
    let landlock = landlock::restrict(&LandlockPlan { rules: rules(jail.files) }, &[])?;
    check_files(helper, jail.files, landlock)?;
    filter.install().map_err(|errno| SetupFailure::kernel(Step::Seccomp, helper, errno))?;
    check_calls(helper)?;
    Ok(Confined { landlock, descriptors })
}

fn rules(files: HelperFiles<'_>) -> Vec<LandlockRule> {
    let places: &[(&str, Access)] = match files {
        HelperFiles::None => &[],
        HelperFiles::Copies(_) => &[(COPIES, Access::ReadOnly)],
        HelperFiles::Directory(_) => &[(DIRECTORY, Access::ReadWrite)],
        // What a review notes beside them is none of its business.
        HelperFiles::Layers { .. } => &[
            (LOWER, Access::ReadOnly),
            ("/store/upper", Access::ReadWrite),
            ("/store/work", Access::ReadWrite),
        ],
    };
    let rule = |(place, access): &(&str, Access)| {
        let at = GuestPath::new(*place).ok()?;
        Some(LandlockRule { at, access: *access })
    };
    places.iter().filter_map(rule).collect()
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
fn own_ids() -> HostIds {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    if !uid.is_root() {
        return HostIds { uid: uid.as_raw(), gid: gid.as_raw() };
    }
    let number = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
    let id = FIRST_UNOWNED + number % UNOWNED;
    HostIds { uid: id, gid: id }
}

fn own_identity(helper: &str, ids: HostIds) -> Identity {
    let (user, home) = (helper.to_owned(), GuestPath::root());
    Identity { uid: INSIDE, gid: INSIDE, user, home, map: IdentityMap::Caller(ids) }
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

/// New namespaces of every kind but those that the helper works in: the network, from where one
/// dials, and process ids, by which it dies with its parent.
fn enter_namespaces(
    identity: &Identity,
    ids: HostIds,
    network: HelperNetwork,
) -> Result<(), SetupFailure> {
    let mut namespaces = Namespaces::USER
        .and(Namespaces::MOUNT)
        .and(Namespaces::IPC)
        .and(Namespaces::UTS)
        .and(Namespaces::CGROUP);
    if network == HelperNetwork::None {
        namespaces = namespaces.and(Namespaces::NET);
    }
    sys::clone::enter_new(namespaces)
        .map_err(|errno| SetupFailure::kernel(Step::Namespaces, identity.user.as_str(), errno))?;
    identity::map(rustix::process::getpid(), identity, ids)
}

fn die_with(parent: Pid) -> Result<(), SetupFailure> {
    privileges::die_with_parent()?;
    if rustix::process::getppid() == Some(parent) {
        return Ok(());
    }
    Err(SetupFailure::found(Step::Control, "the supervisor", "it is gone"))
}

/// The root cannot be written to and has nothing of the host's; where there is landlock, it cannot even be listed.
fn check_files(
    helper: &str,
    files: HelperFiles<'_>,
    landlock: LandlockState,
) -> Result<(), SetupFailure> {
    let found = |detail: &str| Err(SetupFailure::found(Step::Verify, helper, detail));
    let open = |path: &std::ffi::CStr, flags| {
        rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))
    };
    if open(c"/new", OFlags::WRONLY | OFlags::CREATE).is_ok() {
        return found("it can still write");
    }
    if open(c"/proc", OFlags::PATH).err() != Some(Errno::NOENT) {
        return found("it still sees files");
    }
    for (place, name) in
        [(DIRECTORY, c"/store"), (LOWER, c"/lower"), (DESCRIPTORS, c"/descriptors")]
    {
        if open(name, OFlags::PATH).is_ok() != files.places().contains(&place) {
            return found("it has a directory that it should not have, or none");
        }
    }
    match open(c"/", OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(_) if landlock != LandlockState::Absent => found("it can still read directories"),
        _ => Ok(()),
    }
}

/// The filter holds: none of them has this call, which else would succeed.
fn check_calls(helper: &str) -> Result<(), SetupFailure> {
    if rustix::process::chdir(c"/").err() != Some(Errno::PERM) {
        return Err(SetupFailure::found(Step::Verify, helper, "the call filter is not in force"));
    }
    Ok(())
}

/// The helper's id in its own user namespace.
const INSIDE: u32 = 1000;
/// Ids that are given to nobody; cages of root are named from the same range.
const FIRST_UNOWNED: u32 = 1_900_000_000;
const UNOWNED: u32 = 100_000_000;
