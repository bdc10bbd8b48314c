//! What a cage has used, as the kernel counted it.

use std::time::Duration;

#[cfg(test)]
mod tests;

/// The kernel's counters of one cage. What was not limited may not have been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Most memory that was in use at once, in bytes.
    pub memory_peak: Option<u64>,
    /// The limit on memory, in bytes.
    pub memory_limit: Option<u64>,
    /// Whether that limit was met.
    pub memory_limit_met: bool,
    /// Processes that the kernel has killed or is about to kill for want of memory. If the limit was
    /// not met, it was the machine that had no more.
    pub oom_kills: u64,
    /// How often a process or thread was refused because of the limit.
    pub pids_refused: u64,
    /// How long the cage had to wait because its processor time was used up.
    pub throttled: Duration,
    /// Processor time.
    pub cpu: Option<Duration>,
}

impl Usage {
    /// Whether the cage has met its own limit on memory in such a way that processes had to die.
    pub fn is_out_of_memory(&self) -> bool {
        self.oom_kills > 0 && self.memory_limit_met
    }

    /// What is known after these counters were read from a group that may have gone in between: none of
    /// them ever falls, so one that could not be read any more is what it was.
    pub(crate) fn after(self, earlier: Self) -> Self {
        Self {
            memory_peak: self.memory_peak.max(earlier.memory_peak),
            memory_limit: self.memory_limit.or(earlier.memory_limit),
            memory_limit_met: self.memory_limit_met || earlier.memory_limit_met,
            oom_kills: self.oom_kills.max(earlier.oom_kills),
            pids_refused: self.pids_refused.max(earlier.pids_refused),
            throttled: self.throttled.max(earlier.throttled),
            cpu: self.cpu.max(earlier.cpu),
        }
    }
}

/// The number behind a word in a file of `word number` lines.
pub(crate) fn counter(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        if name == word { value.trim().parse().ok() } else { None }
    })
}

/// A file with a single number; none for `max`.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}
