//! The directories that a module begins with in this root. Reads nothing in them.

use std::collections::BTreeSet;

use engines::{Preopen, World};
use vfs::Error;

/// The root, what is mounted below its directories, and the working directory.
///
/// The C library takes `/tmp/x` and `tmp/x` for the same: it looks for the longest name that either begins with, without its
/// slash, and for the last one among equals. So what is named from here begins here, and a name that is a path of two words
/// or more is hardly meant in another way.
pub(crate) fn preopens(world: &World) -> Result<Vec<Preopen>, Error> {
    let here = &world.working_directory;
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut deep: BTreeSet<Vec<u8>> =
        mount_points(&mounts).filter(|point| is_meant(point)).collect();
    deep.extend(is_meant(here).then(|| here.clone()));
    let open = |path: &[u8], name| Preopen::open(&world.files, &world.caller, path, name);
    let mut all = vec![open(b"/", b"/")?];
    all.extend(deep.iter().filter_map(|path| open(path, path).ok()).take(MOST));
    all.extend(open(here, b".").ok());
    Ok(all)
}

/// Where something is mounted (proc_pid_mountinfo(5)), but for paths with blanks.
fn mount_points(mounts: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let lines = mounts.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.filter(|point| !point.contains(&b'\\')).map(<[u8]>::to_vec)
}

fn is_meant(path: &[u8]) -> bool {
    let is_of_system = OF_SYSTEM.iter().any(|part| path.starts_with(part));
    !is_of_system && path.iter().filter(|byte| **byte == b'/').count() >= 2
}

/// What is mounted there is there for programs of the processor.
const OF_SYSTEM: &[&[u8]] = &[b"/dev/", b"/etc/", b"/proc/", b"/sys/", b"/usr/"];
/// Each of them takes a descriptor of the module.
const MOST: usize = 64;

#[cfg(test)]
mod tests;
