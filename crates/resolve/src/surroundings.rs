//! What a resolution depends on beside the policy, as a value: so that a caller with many clients,
//! or a test, can resolve for a process other than itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use plan::HostPath;

/// Where and for whom a policy is resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The project's root, as the rules of the policy begin with it.
    pub project: HostPath,
    /// Where the program should start.
    pub working_directory: HostPath,
    /// What the caller calls its home.
    pub home: Option<HostPath>,
    /// The caller's environment, of which a policy can pass on variables.
    pub environment: Arc<[(OsString, OsString)]>,
    /// The caller's file mode creation mask.
    pub umask: u32,
    /// The supervisor's own state and configuration directories: never granted, hidden inside
    /// wider grants.
    pub own_state: Vec<HostPath>,
    /// Which of these is the file with a daemon's token. A directory in its place would be of no use.
    pub token: Option<HostPath>,
    /// Files that the policy was read from: read-only inside read-write grants.
    pub policy_files: Vec<HostPath>,
    /// The program that starts cages: read-only inside read-write grants, or the next cage would be one of the
    /// program in this one.
    pub executable: Option<HostPath>,
    /// Directories of the user's own that outlive the run.
    pub kept: KeptPlaces,
}

/// Where the directories are that a cage writes to and that are there after it. Whoever keeps them has made them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptPlaces {
    /// The one behind `/scratch`, used where the policy's state is `scratch`.
    pub scratch: Option<HostPath>,
    /// The cage's home, used where the policy's home is `kept`.
    pub home: Option<HostPath>,
    /// Areas with layers, by the real path of the directory that each lies above.
    pub layers: BTreeMap<HostPath, HostPath>,
}

/// Why a process's surroundings cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum SurroundingsError {
    /// The working directory was removed, or cannot be reached.
    #[error("the working directory cannot be told")]
    WorkingDirectory(#[source] std::io::Error),
    /// The kernel does not tell about this process.
    #[error("/proc/self/status cannot be read; is /proc mounted?")]
    Status(#[source] std::io::Error),
}
