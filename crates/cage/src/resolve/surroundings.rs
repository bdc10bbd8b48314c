//! What a resolution depends on beside the policy, as a value: so that a caller with many clients,
//! or a test, can resolve for a process other than itself.

use std::ffi::OsString;

use plan::HostPath;
use rustix::io::Errno;

use crate::project::{Locations, PROJECT_FILE_NAME};

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
    pub environment: Vec<(OsString, OsString)>,
    /// The caller's file mode creation mask.
    pub umask: u32,
    /// The supervisor's own state and configuration directories: never granted, hidden inside
    /// wider grants.
    pub own_state: Vec<HostPath>,
    /// Files that the policy was read from: read-only inside read-write grants.
    pub policy_files: Vec<HostPath>,
    /// The kept directory behind `/scratch`, used where the policy's state is `scratch`.
    pub scratch: Option<HostPath>,
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

impl Surroundings {
    /// This process's own, for the project at `project`.
    pub fn of_this_process(project: HostPath) -> Result<Self, SurroundingsError> {
        let working_directory = std::env::current_dir()
            .map_err(SurroundingsError::WorkingDirectory)
            .and_then(|path| {
                HostPath::new(path.into_os_string())
                    .map_err(|_| SurroundingsError::WorkingDirectory(Errno::NAMETOOLONG.into()))
            })?;
        let locations = Locations::of_this_process();
        let project_file = project.join(PROJECT_FILE_NAME).ok();
        Ok(Self {
            home: home_variable(),
            environment: std::env::vars_os().collect(),
            umask: umask()?,
            own_state: locations.own_state(),
            policy_files: project_file.into_iter().chain(locations.configuration).collect(),
            scratch: None,
            working_directory,
            project,
        })
    }
}

fn home_variable() -> Option<HostPath> {
    std::env::var_os("HOME").and_then(|home| HostPath::new(home).ok())
}

/// Asked for and not set and reset, which is the only way by `umask` and would be seen by the other
/// threads of a program that uses this library.
fn umask() -> Result<u32, SurroundingsError> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(SurroundingsError::Status)?;
    let field = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    field
        .and_then(|value| u32::from_str_radix(value.trim(), 8).ok())
        .ok_or_else(|| SurroundingsError::Status(Errno::NODATA.into()))
}
