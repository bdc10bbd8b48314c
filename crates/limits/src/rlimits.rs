//! What is left without control groups: resource limits of processes, set on the cage's first
//! process while it waits behind the gate, and inherited by everything that it starts.
//!
//! They are a stated degradation. Memory is bounded for each process by itself, as what it can write
//! to privately, and nothing bounds processor time. The number of processes is counted for each
//! user in each user namespace, and a cage has one of its own: there it means the same.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit};

use crate::LimitsError;
use crate::numbers::{Limit, Numbers};

/// Limits that are set on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rlimits {
    memory: Option<u64>,
    pids: Option<u64>,
}

impl Rlimits {
    pub(crate) fn of(numbers: &Numbers) -> Self {
        Self { memory: numbers.memory, pids: numbers.pids }
    }

    /// What is told about each of these limits.
    pub(crate) fn consequences(limits: &[Limit]) -> Vec<String> {
        let consequence = |limit: &Limit| match limit {
            Limit::Memory => {
                "memory is limited for each process instead of all together, and \
                              files in memory are not counted"
            }
            Limit::Pids => "processes are counted by user id",
            Limit::Cpu => "processor time is not limited",
        };
        limits.iter().map(|limit| consequence(limit).to_owned()).collect()
    }

    /// Sets them on a process that has started nothing yet.
    pub(crate) fn set(&self, pid: Pid) -> Result<(), LimitsError> {
        // The data segment, not the address space: runtimes reserve far more addresses than they
        // ever use, and since Linux 4.7 the former counts all private memory that can be written.
        for (resource, value) in [(Resource::Data, self.memory), (Resource::Nproc, self.pids)] {
            if let Some(value) = value {
                lower(pid, resource, value).map_err(|errno| {
                    let subject = format!("the resource limits of process {pid}");
                    LimitsError::kernel("set", std::path::Path::new(&subject), errno)
                })?;
            }
        }
        Ok(())
    }
}

/// Both the soft and the hard limit, so that nothing inside can raise it again. A hard limit that is
/// lower already stays.
fn lower(pid: Pid, resource: Resource, value: u64) -> Result<(), Errno> {
    let wanted = Rlimit { current: Some(value), maximum: Some(value) };
    let before = rustix::process::prlimit(Some(pid), resource, wanted);
    match before {
        Ok(_) => Ok(()),
        // Raising it is what was refused: it is lower than what was asked for.
        Err(Errno::PERM) => {
            let own = rustix::process::getrlimit(resource);
            match own.maximum {
                Some(hard) if hard < value => Ok(()),
                _ => Err(Errno::PERM),
            }
        }
        Err(errno) => Err(errno),
    }
}
