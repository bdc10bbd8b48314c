//! Who asks for a cage and from where, as a value: so that a program that starts cages for others
//! resolves their policies as they would themselves. Reads nothing but what the kernel and the
//! environment say of this process.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use plan::HostPath;
use resolve::{KeptPlaces, Surroundings, SurroundingsError};
use rustix::io::Errno;
use state::Locations;

use crate::project::PROJECT_FILE_NAME;

#[cfg(test)]
mod tests;

/// A caller's surroundings before its project is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Where it stands; relative paths begin there.
    pub working_directory: HostPath,
    /// Its environment, of which a policy can pass on variables.
    pub environment: Arc<[(OsString, OsString)]>,
    /// Its file mode creation mask.
    pub umask: u32,
    /// Where its configuration and state are.
    pub locations: Locations,
}

impl Caller {
    /// This process as the caller.
    pub fn of_this_process() -> Result<Self, SurroundingsError> {
        let working_directory = std::env::current_dir()
            .map_err(SurroundingsError::WorkingDirectory)
            .and_then(|path| {
                HostPath::new(path.into_os_string())
                    .map_err(|_| SurroundingsError::WorkingDirectory(Errno::NAMETOOLONG.into()))
            })?;
        Ok(Self {
            working_directory,
            environment: std::env::vars_os().collect(),
            umask: umask()?,
            locations: Locations::of_this_process(),
        })
    }

    /// A variable of its environment.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut set = self.environment.iter();
        set.find(|(set, _)| set.as_bytes() == name.as_bytes()).map(|(_, value)| value.as_os_str())
    }

    /// What it calls its home.
    pub fn home(&self) -> Option<HostPath> {
        self.variable("HOME").and_then(|home| HostPath::new(home.to_owned()).ok())
    }

    /// Where and for whom a policy of a project is resolved when this caller asks.
    pub fn surroundings(&self, project: HostPath) -> Surroundings {
        let project_file = project.join(PROJECT_FILE_NAME).ok();
        let configuration = self.locations.configuration.clone();
        Surroundings {
            home: self.home(),
            environment: Arc::clone(&self.environment),
            umask: self.umask,
            own_state: self.locations.own_state(),
            token: self.locations.token.clone(),
            policy_files: project_file.into_iter().chain(configuration).collect(),
            executable: own_executable(),
            kept: KeptPlaces::default(),
            working_directory: self.working_directory.clone(),
            project,
        }
    }
}

/// Where the program of this process is, or was: whatever is there now is what is started next.
fn own_executable() -> Option<HostPath> {
    let path = std::env::current_exe().ok()?.into_os_string();
    let path = path.as_bytes();
    HostPath::new(path.strip_suffix(b" (deleted)").unwrap_or(path)).ok()
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
