//! The directories that a module begins with in this root. Opens none of them for long, and reads nothing in them.

use std::collections::BTreeSet;

use engines::{Preopen, World};
use vfs::{At, OpenFlags};

/// The root, what is mounted below its directories, and the working directory.
///
/// The C library takes `/tmp/x` and `tmp/x` for the same: it looks for the longest name that either begins with, without its
/// slash, and for the last one among equals. So what is named from here begins here, and a name that is a path of two words
/// or more is hardly meant in another way.
pub(crate) fn preopens(world: &World) -> Vec<Preopen> {
    let here = &world.working_directory;
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut deep: BTreeSet<Vec<u8>> =
        mount_points(&mounts).filter(|point| is_meant(point)).collect();
    deep.extend(is_meant(here).then(|| here.clone()));
    let named = |path: Vec<u8>| Preopen { name: path.clone(), path };
    let deep = deep.into_iter().filter(|path| is_directory(world, path)).take(MOST).map(named);
    let mut all = vec![named(b"/".to_vec())];
    all.extend(deep);
    all.push(Preopen { name: b".".to_vec(), path: here.clone() });
    all
}

/// Forgets those that have gone since they were found.
pub(crate) fn drop_missing(world: &mut World) {
    let mut all = std::mem::take(&mut world.preopens);
    all.retain(|preopen| preopen.path == b"/" || is_directory(world, &preopen.path));
    world.preopens = all;
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

fn is_directory(world: &World, path: &[u8]) -> bool {
    let flags = OpenFlags { directory: true, ..OpenFlags::READ };
    world.files.open(&world.caller, At::Root, path, flags, 0).is_ok()
}

/// What is mounted there is there for programs of the processor.
const OF_SYSTEM: &[&[u8]] = &[b"/dev/", b"/etc/", b"/proc/", b"/sys/", b"/usr/"];
/// Each of them takes a descriptor of the module.
const MOST: usize = 64;

#[cfg(test)]
mod tests;
