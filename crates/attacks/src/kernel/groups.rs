//! The control groups in which a cage's limits are kept: leaving one's own, and raising its limits.
//! T15, T28
//!
//! A file that can be opened for writing could be written to; nothing ever is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::attack::{Attack, Outcome, Refused, Twin};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T28", "leave-control-group", "moves to another control group", |_| {
        open_one_of(&["cgroup.procs"])
    })
    .twin(Twin::Root),
    Attack::new("T15", "raise-own-limits", "raises the limits of its control group", |_| {
        open_one_of(&["memory.limit_in_bytes", "memory.max", "pids.max", "cpu.max", "cpu.shares"])
    })
    .twin(Twin::Root),
];

/// Looks for these files in every group that is in sight.
fn open_one_of(files: &[&str]) -> Result<Outcome, Refused> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let hierarchies = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let points = hierarchies.filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    let mut directories: Vec<PathBuf> = points.chain(usual_places()).collect();
    let mut looked_at = 0;
    while let Some(directory) = directories.pop() {
        looked_at += 1;
        for file in files {
            let path = directory.join(file);
            if fs::OpenOptions::new().write(true).open(&path).is_ok() {
                return Ok(Outcome::Succeeded(format!("{} is open", path.display())));
            }
        }
        if looked_at < MOST_DIRECTORIES {
            let below = fs::read_dir(&directory).into_iter().flatten().flatten();
            let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            directories.extend(below.map(|entry| entry.path()));
        }
    }
    Ok(Outcome::Failed(format!("none of {looked_at} directories has one")))
}

fn usual_places() -> impl Iterator<Item = PathBuf> {
    ["/sys/fs/cgroup", "/cgroup", "/dev/cgroup", "/proc/1/root/sys/fs/cgroup"]
        .into_iter()
        .map(Path::new)
        .map(Path::to_path_buf)
}

const MOST_DIRECTORIES: usize = 500;
