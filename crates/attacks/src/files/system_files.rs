//! The kernel's own files: settings, triggers, memory, helpers that it starts. Only opens them; a
//! twin that gets one open closes it again without a byte. T15

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags};

use crate::attack::{Attack, Outcome, Refused, Twin};

macro_rules! opens {
    ($name:literal, $open:ident, $($path:literal),+) => {
        Attack::new("T15", $name, concat!("opens ", $("`", $path, "` "),+), |_| {
            first(&[$($path),+], $open)
        })
        .twin(Twin::Root)
    };
}

pub(crate) const ATTACKS: &[Attack] = &[
    opens!("write-core-pattern", for_writing, "/proc/sys/kernel/core_pattern"),
    opens!(
        "write-modprobe-path",
        for_writing,
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hotplug"
    ),
    opens!("write-sysrq", for_writing, "/proc/sysrq-trigger"),
    opens!("write-overcommit", for_writing, "/proc/sys/vm/overcommit_memory"),
    opens!(
        "write-binfmt",
        for_writing,
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/fs/file-max"
    ),
    opens!("read-kernel-memory", for_reading, "/proc/kcore", "/dev/mem"),
    opens!("read-kernel-log", for_reading, "/proc/kmsg", "/dev/kmsg"),
    opens!(
        "write-uevent-helper",
        for_writing,
        "/sys/kernel/uevent_helper",
        "/sys/kernel/profiling",
        "/sys/kernel/mm/transparent_hugepage/enabled"
    ),
    opens!(
        "write-debug-tree",
        for_writing,
        "/sys/kernel/debug/clear_warn_once",
        "/sys/kernel/uevent_seqnum",
        "/sys/power/state",
        "/sys/kernel/fscaps",
        "/sys/kernel/mm/ksm/run",
        "/sys/module/printk/parameters/time"
    ),
    Attack::new("T15", "write-cgroup-tree", "opens the cgroup tree for writing", |_| cgroup_tree())
        .twin(Twin::Root),
    Attack::new("T15", "see-sysfs", "looks at `/sys`", |_| {
        let count = fs::read_dir("/sys")?.count();
        match count {
            0 => Ok(Outcome::Failed("empty".to_owned())),
            count => Ok(Outcome::Succeeded(format!("{count} entries"))),
        }
    }),
    Attack::new("T15", "write-own-network-settings", "changes settings of its network", |_| {
        first(
            &["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/ping_group_range"],
            for_writing,
        )
    })
    .twin(Twin::Namespaces),
    opens!("write-own-host-name", for_writing, "/proc/sys/kernel/hostname"),
];

/// Success if one of the paths opens. Where the first refusal came from is what is told.
fn first(paths: &[&str], open: fn(&str) -> std::io::Result<fs::File>) -> Result<Outcome, Refused> {
    let mut refusals = Vec::new();
    for path in paths {
        match open(path) {
            Ok(_) => return Ok(Outcome::Succeeded(format!("opened {path}"))),
            Err(error) => refusals.push(Refused::from(error).0),
        }
    }
    Err(Refused(refusals.join(", ")))
}

fn for_writing(path: &str) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().write(true).open(path)
}

/// Opens a kernel file without reading a byte: some forget what was read. An empty file that was
/// put over it lies on another file system.
fn for_reading(path: &str) -> std::io::Result<fs::File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let directory = std::path::Path::new(path).parent().unwrap_or(std::path::Path::new("/"));
    match file.metadata()?.dev() == fs::metadata(directory)?.dev() {
        true => Ok(file),
        false => Err(rustix::io::Errno::NOENT.into()),
    }
}

/// Version 2 has its control files at the root; version 1 below one directory for each controller.
fn cgroup_tree() -> Result<Outcome, Refused> {
    let root = std::path::Path::new("/sys/fs/cgroup");
    let mut candidates = vec![root.join("cgroup.procs"), root.join("unified/cgroup.procs")];
    let controllers = fs::read_dir(root)?.flatten();
    candidates.extend(controllers.map(|entry| entry.path().join("cgroup.procs")));
    for file in &candidates {
        if fs::OpenOptions::new().write(true).open(file).is_ok() {
            return Ok(Outcome::Succeeded(format!("opened {}", file.display())));
        }
    }
    Ok(Outcome::Failed(format!("{} candidates, none writable", candidates.len())))
}
