//! Who the cage is on the host and inside: user namespace maps and the process's own ids.
//! Never maps host id 0.

use std::os::fd::AsFd;

use plan::{HostIds, Identity, IdentityMap};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Gid, Pid, Uid};
use walls::Wall;

use crate::{SetupFailure, StartError, Step};

/// Refuses a Plan that would let the program act as root on the host or inside.
pub(crate) fn check(identity: &Identity, ids: HostIds) -> Result<(), StartError> {
    let has_root = [identity.uid, identity.gid, ids.uid, ids.gid].contains(&0);
    if has_root && walls::stands(Wall::RootUnmapped) {
        return Err(StartError::Unsupported("the plan maps an id to root".to_owned()));
    }
    Ok(())
}

/// Maps the ids of the user namespace that `process` has just made. A privileged caller may name
/// ids that are not its own; for any other the kernel wants `setgroups` off first, so its
/// supplementary groups stay.
pub(crate) fn map(process: Pid, identity: &Identity, host: HostIds) -> Result<(), SetupFailure> {
    let process = format!("/proc/{}", process.as_raw_nonzero());
    if identity.map != IdentityMap::Unowned {
        write_setting(&format!("{process}/setgroups"), "deny")?;
    }
    write_setting(&format!("{process}/uid_map"), &format!("{} {} 1\n", identity.uid, host.uid))?;
    write_setting(&format!("{process}/gid_map"), &format!("{} {} 1\n", identity.gid, host.gid))
}

/// Becomes the mapped user. Capabilities of the new user namespace stay until they are dropped.
pub(crate) fn assume(identity: &Identity) -> Result<(), SetupFailure> {
    let failed = |errno| SetupFailure::kernel(Step::Identity, &identity.user, errno);
    if identity.map == IdentityMap::Unowned && walls::stands(Wall::Groups) {
        rustix::thread::set_thread_groups(&[]).map_err(failed)?;
    }
    let gid = Gid::from_raw(identity.gid);
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(failed)?;
    let uid = Uid::from_raw(identity.uid);
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(failed)
}

fn write_setting(path: &str, value: &str) -> Result<(), SetupFailure> {
    let write = || -> Result<(), Errno> {
        let file = rustix::fs::openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file.as_fd(), value.as_bytes())?;
        Ok(())
    };
    write().map_err(|errno| SetupFailure::kernel(Step::Identity, path, errno))
}
