//! What a daemon that was killed could leave behind, looked for from outside.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::serving::{Place, eventually_within};

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) name: String,
    pub(crate) words: String,
    /// Whether it is the first one of a process namespace.
    pub(crate) is_first: bool,
    began: String,
}

impl Process {
    /// All of them but those that nobody has collected.
    pub(crate) fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::of).collect()
    }

    pub(crate) fn of(pid: u32) -> Option<Self> {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let words = fs::read(directory.join("cmdline")).ok()?;
        let status = fs::read_to_string(directory.join("status")).ok()?;
        let stat = fs::read_to_string(directory.join("stat")).ok()?;
        let (_, numbers) = stat.rsplit_once(')')?;
        let numbers: Vec<&str> = numbers.split_whitespace().collect();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
        };
        if ["Z", "X"].contains(numbers.first()?) {
            return None;
        }
        let inside: Vec<String> = field("NSpid:")?.split_whitespace().map(str::to_owned).collect();
        Some(Self {
            pid,
            parent: field("PPid:")?.parse().ok()?,
            name: field("Name:")?,
            words: String::from_utf8_lossy(&words).replace('\0', " "),
            is_first: inside.len() > 1 && inside.last().is_some_and(|number| number == "1"),
            // `starttime` of proc_pid_stat(5).
            began: (*numbers.get(19)?).to_owned(),
        })
    }

    /// The children of a process, whichever of its threads started them.
    pub(crate) fn children(parent: u32) -> Vec<Self> {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let pids: Vec<u32> = texts
            .flat_map(|text| {
                text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
            })
            .collect();
        pids.into_iter().filter_map(Self::of).collect()
    }

    fn is_gone(&self) -> bool {
        Self::of(self.pid).is_none_or(|now| now.began != self.began)
    }
}

/// No process of a dead daemon lives: neither its helpers, which have its words, nor a first process
/// of a cage, which has none, nor a program with this mark.
#[track_caller]
pub(crate) fn no_process_is_left(place: &Place, mark: &str) {
    let path = place.home.display().to_string();
    let with = |text: &str| -> Vec<Process> {
        Process::all().into_iter().filter(|process| process.words.contains(text)).collect()
    };
    eventually_within(SOON, "the daemon's helpers end", || with(&path).is_empty());
    // Nobody starts cages here any more. Those of other daemons have a parent, or end as well.
    let all = Process::all();
    let of_daemons: HashSet<u32> = all
        .iter()
        .filter(|process| process.name == "stockade")
        .map(|process| process.pid)
        .collect();
    let orphans: Vec<&Process> = all
        .iter()
        .filter(|process| process.is_first && process.name == "stockade")
        .filter(|process| !of_daemons.contains(&process.parent))
        .collect();
    eventually_within(SOON, "cages end", || orphans.iter().all(|process| process.is_gone()));
    eventually_within(SOON, "programs end", || with(mark).is_empty());
}

/// What a dead daemon left on the host, after the next one has started.
#[track_caller]
pub(crate) fn nothing_is_left(place: &Place, dead: &[u32], mounts: &BTreeSet<String>) {
    let groups = control_groups_of(dead);
    assert!(groups.is_empty(), "{groups:?}");
    let files = unexpected_files(place);
    assert!(files.is_empty(), "{files:?}");
    eventually_within(SOON, "no mount is left", || mount_table().is_subset(mounts));
    let path = place.home.display().to_string();
    let sockets = || {
        let all = fs::read_to_string("/proc/net/unix").unwrap();
        all.lines().filter(|line| line.contains(&path)).count()
    };
    eventually_within(SOON, "one socket listens and no other is left", || sockets() == 1);
}

/// The mounts of this namespace.
pub(crate) fn mount_table() -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().map(str::to_owned).collect()
}

/// Control groups that processes with these numbers have made.
fn control_groups_of(dead: &[u32]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if dead.iter().any(|pid| name.starts_with(&format!("stockade-{pid}-"))) {
                found.push(entry.path());
            }
            directories.push(entry.path());
        }
    }
    found
}

/// Files of a place that no daemon should have there, when no cage runs.
fn unexpected_files(place: &Place) -> Vec<PathBuf> {
    let state = place.state().join("stockade");
    let mut found = Vec::new();
    let mut look = |directory: &Path, expected: &dyn Fn(&str) -> bool| {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !expected(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
    };
    look(place.root(), &|name| name == "home");
    look(&place.home, &|name| ["project", ".local", "run"].contains(&name));
    look(&place.home.join("run"), &|name| ["daemon.sock", "daemon.sock.lock"].contains(&name));
    look(&state, &|name| ["audit", "sessions"].contains(&name));
    look(&state.join("audit"), &|name| {
        let is_record = name.ends_with(".jsonl") || name.starts_with("noted-");
        is_record || ["key", "lock", "head"].contains(&name)
    });
    look(&state.join("sessions"), &|name| [".lock", KEPT_SESSION].contains(&name));
    look(&state.join("sessions").join(KEPT_SESSION).join("users"), &|_| false);
    found
}

/// How many objects of these kinds the kernel has, whether a process holds them or not. Only root is
/// told, and only by some kernels.
pub(crate) fn kernel_objects() -> HashMap<String, usize> {
    for _ in 0..2 {
        // The kernel frees the memory of a network namespace when it takes down the next.
        let mut command = std::process::Command::new("unshare");
        let _unable = command.args(["--net", "true"]).stderr(std::process::Stdio::null()).status();
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut counted = HashMap::new();
    for kind in ["net_namespace", "user_namespace", "pid_namespace", "mnt_cache"] {
        // Free memory that a processor keeps for itself counts as used until it is asked for.
        let _as_it_is = fs::write(format!("/sys/kernel/slab/{kind}/shrink"), "1");
        let caches = fs::read_to_string("/proc/slabinfo").unwrap_or_default();
        let line = caches.lines().find_map(|line| line.strip_prefix(&format!("{kind} ")));
        let count = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        counted.extend(count.map(|count| (kind.to_owned(), count)));
    }
    counted
}

/// The one session that outlives daemons.
pub(crate) const KEPT_SESSION: &str = "kept";

const SOON: Duration = Duration::from_secs(20);
