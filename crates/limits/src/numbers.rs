//! What a Plan's limits are in the kernel's units. Pure.

use std::fmt;

use plan::LimitsPlan;
use walls::Wall;

#[cfg(test)]
mod tests;

/// One thing that a control group can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Memory, with what lies in memory file systems and without any swap.
    Memory,
    /// Processes and threads.
    Pids,
    /// Processor time: the weight, the quota or both.
    Cpu,
}

impl Limit {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// The kernel's name for the controller, in both versions.
    pub(crate) fn controller(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.controller())
    }
}

/// Limits in the kernel's units; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Bytes.
    pub(crate) memory: Option<u64>,
    /// Tasks, ours included.
    pub(crate) pids: Option<u64>,
    /// On the scale of version 2, 1 to 10000.
    pub(crate) weight: Option<u32>,
    /// Microseconds of processor time in each [`PERIOD`].
    pub(crate) quota: Option<u64>,
}

impl Numbers {
    pub(crate) fn of(plan: &LimitsPlan) -> Self {
        Self {
            memory: plan
                .memory_mb
                .filter(|_| walls::stands(Wall::MemoryLimit))
                .map(|mebibytes| mebibytes.saturating_mul(MEBIBYTE)),
            // Pid 1 of the cage is ours and is in the group as well. It makes no other process than
            // the program, so whoever asks for ten gets ten.
            pids: plan
                .pids
                .filter(|_| walls::stands(Wall::ProcessLimit))
                .map(|pids| u64::from(pids).saturating_add(OWN_TASKS)),
            weight: plan.cpu_weight.map(|weight| weight.clamp(1, 10_000)),
            quota: plan.cpu_millis.map(|millis| quota(millis, PERIOD)),
        }
    }

    /// The quota as microseconds of processor time in each second.
    pub(crate) fn quota_per_second(&self) -> Option<u64> {
        self.quota.map(|quota| quota.saturating_mul(1_000_000 / PERIOD))
    }

    /// Which controllers are needed.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let wanted = |limit: &Limit| match limit {
            Limit::Memory => self.memory.is_some(),
            Limit::Pids => self.pids.is_some(),
            Limit::Cpu => self.weight.is_some() || self.quota.is_some(),
        };
        Limit::ALL.into_iter().filter(wanted).collect()
    }

    /// Only what these limits stand for.
    pub(crate) fn only(&self, limits: &[Limit]) -> Self {
        let cpu = limits.contains(&Limit::Cpu);
        Self {
            memory: self.memory.filter(|_| limits.contains(&Limit::Memory)),
            pids: self.pids.filter(|_| limits.contains(&Limit::Pids)),
            weight: self.weight.filter(|_| cpu),
            quota: self.quota.filter(|_| cpu),
        }
    }
}

/// The kernel accepts no quota below a millisecond.
fn quota(millis: u32, period: u64) -> u64 {
    (u64::from(millis).saturating_mul(period) / 1000).max(LEAST_QUOTA)
}

/// A weight of version 2 (1 to 10000) as shares of version 1 (2 to 262144): the least number of
/// shares that the documented formula, `1 + (shares - 2) * 9999 / 262142`, takes to this weight.
pub(crate) fn shares_of_weight(weight: u32) -> u64 {
    let above_least = u64::from(weight.clamp(1, 10_000)).saturating_sub(1);
    above_least.saturating_mul(262_142).div_ceil(9999).saturating_add(2)
}

/// Several limits in a sentence.
pub(crate) fn listed(limits: &[Limit]) -> String {
    let words: Vec<&str> = limits.iter().map(|limit| limit.controller()).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Microseconds after which a quota is given anew: what the kernel and systemd use by default.
pub(crate) const PERIOD: u64 = 100_000;

/// Tasks of ours in every cage.
pub(crate) const OWN_TASKS: u64 = 1;

const LEAST_QUOTA: u64 = 1000;
const MEBIBYTE: u64 = 1 << 20;
