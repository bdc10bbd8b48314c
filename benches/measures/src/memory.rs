//! How much memory the processes that guard a cage need. Reads `/proc`; counts pages that are
//! shared with other processes in proportion (PSS).

use rustix::process::Pid;
use serde::Serialize;

/// Memory of one or several processes, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// Pages in memory.
    pub rss_kib: u64,
    /// The same, shared ones in proportion.
    pub pss_kib: u64,
    /// How many processes were counted.
    pub processes: u64,
    /// How many were not: a cage's pid 1 lets nobody but root look into it.
    pub unreadable: u64,
}

impl Memory {
    /// Memory of these processes together.
    pub fn of(processes: impl IntoIterator<Item = Pid>) -> Self {
        let mut total = Self::default();
        for process in processes {
            let path = format!("/proc/{}/smaps_rollup", process.as_raw_nonzero());
            let Ok(text) = std::fs::read_to_string(path) else {
                total.unreadable += 1;
                continue;
            };
            total.rss_kib += field(&text, "Rss:");
            total.pss_kib += field(&text, "Pss:");
            total.processes += 1;
        }
        total
    }
}

/// All descendants of a process, nearest first.
pub fn descendants(of: Pid) -> Vec<Pid> {
    let mut found: Vec<Pid> = Vec::new();
    let mut open = vec![of];
    while let Some(parent) = open.pop() {
        // A child is listed with the thread that made it.
        let threads = std::fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
        for thread in threads.into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
            let children: Vec<Pid> = numbers.filter_map(Pid::from_raw).collect();
            found.extend(&children);
            open.extend(children);
        }
    }
    found
}

/// The program that a process runs, by its short name.
pub fn short_name(process: Pid) -> String {
    let path = format!("/proc/{}/comm", process.as_raw_nonzero());
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
