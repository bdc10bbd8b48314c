//! Bounds on what a cage may use. A field that is absent is unbounded; an enforcer that cannot
//! hold one that is present refuses the Plan.

use serde::{Deserialize, Serialize};

/// Limits in the units of the policy language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsPlan {
    /// Most memory, in MiB.
    pub memory_mb: Option<u64>,
    /// Share of the processor relative to others, as cgroup v2 counts it (1 to 10000).
    pub cpu_weight: Option<u32>,
    /// Most processor time per second of wall time, in thousandths of a processor.
    pub cpu_millis: Option<u32>,
    /// Most processes and threads.
    pub pids: Option<u32>,
    /// Longest life, in seconds.
    pub walltime_sec: Option<u64>,
    /// Most that the layers of its overlays and a home that is kept may take, in MiB. Held by whoever supervises
    /// the program.
    pub workspace_mb: Option<u64>,
}
