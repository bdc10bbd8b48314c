//! What the fields of events hold beside texts and numbers.

use serde::{Deserialize, Serialize};

use crate::schema::{Described, Kind, declare_words};
use crate::text::Name;

declare_words! {
    /// Why a program ended.
    Reason {
        /// By itself.
        Exited = "exited",
        /// By a signal that nobody else here sent.
        Signalled = "signalled",
        /// Its time was up.
        WalltimeExceeded = "walltime_exceeded",
        /// It used more memory than it may.
        Oom = "oom",
        /// It wrote more to layers than it may.
        WorkspaceFull = "workspace_full",
        /// It made a system call that kills.
        Seccomp = "seccomp",
        /// Its session was ended.
        SessionEnded = "session_ended",
        /// Somebody asked for it.
        Cancelled = "cancelled",
        /// Its supervisor died.
        SupervisorLost = "supervisor_lost",
    }
}

declare_words! {
    /// Who let a program run without a cage.
    UncagedReason {
        /// The policy says so.
        DslDisabled = "dsl_disabled",
        /// The supervisor was started with `--no-sandbox`.
        DaemonNoSandbox = "daemon_no_sandbox",
    }
}

declare_words! {
    /// What a program may run against.
    Limit {
        /// Bytes of memory.
        Memory = "memory",
        /// Processes and threads.
        Pids = "pids",
        /// Seconds of life.
        Walltime = "walltime",
        /// Bytes of layers and of a kept home.
        Workspace = "workspace",
        /// System calls.
        Seccomp = "seccomp",
    }
}

declare_words! {
    /// Whom a supervisor serves.
    DaemonMode {
        /// One user.
        User = "user",
        /// The system.
        System = "system",
    }
}

/// The value of a [`Limit`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LimitValue {
    /// A bound.
    Number(u64),
    /// A name.
    Name(Name),
}

impl Described for LimitValue {
    const KIND: Kind = Kind::CountOrName;
}

/// Declares the counts of [`Usage`] and their names.
macro_rules! counts {
    ($($(#[doc = $meaning:literal])+ $name:ident,)+) => {
        /// What a program used. A field that nobody counted is absent.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Usage {
            $(
                $(#[doc = $meaning])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<u64>,
            )+
        }

        /// The names of these counts.
        pub(crate) const USAGE: &[&str] = &[$(stringify!($name)),+];
    };
}

counts! {
    /// The most memory at once, in bytes.
    memory_peak,
    /// How much it might have had, in bytes.
    memory_limit,
    /// Processes that were killed for want of memory.
    oom_kills,
    /// Processes and threads that were refused.
    pids_refused,
    /// Processor time, in microseconds.
    cpu_us,
    /// How long it waited for the processor because it had used its share, in microseconds.
    throttled_us,
}

impl Described for Usage {
    const KIND: Kind = Kind::Usage;
}
