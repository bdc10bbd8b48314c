//! The names of control groups. A name says who made the group and for what, so that whoever comes
//! after a supervisor that was killed can tell what is left over without a journal.

use std::fmt;

use crate::LimitsError;

#[cfg(test)]
mod tests;

/// `stockade-<supervisor's pid>-<its start time in ticks>-<its pid namespace>-<invocation>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupName {
    /// The supervisor's process id.
    pub(crate) supervisor: u32,
    /// When it started, in clock ticks after the machine did: a process id is used again, the two
    /// together are not.
    pub(crate) started: u64,
    /// The namespace that its process id is of; 0 if that is not known.
    pub(crate) namespace: u64,
    /// The cage's invocation.
    pub(crate) invocation: String,
}

impl GroupName {
    /// The name of a group of this very process.
    pub(crate) fn of_this_process(invocation: &str) -> Result<Self, LimitsError> {
        if !is_plain(invocation) {
            return Err(LimitsError::Invocation(invocation.to_owned()));
        }
        let supervisor = std::process::id();
        // Without /proc there is no start time, and nobody could compare it either.
        let started = start_time(supervisor).unwrap_or_default();
        let (namespace, invocation) = (own_namespace(), invocation.to_owned());
        Ok(Self { supervisor, started, namespace, invocation })
    }

    /// Reads a name; none for any that is not of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.splitn(4, '-');
        let supervisor = decimal(parts.next()?)?;
        let started = decimal(parts.next()?)?;
        let namespace = decimal(parts.next()?)?;
        let invocation = parts.next()?;
        let supervisor = u32::try_from(supervisor).ok()?;
        let is_ours = is_plain(invocation);
        is_ours.then(|| Self { supervisor, started, namespace, invocation: invocation.to_owned() })
    }

    /// Whether the process that made the group is gone. Of one in another process id namespace, as
    /// in a container, nobody here can tell, and its cages may well be alive.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.namespace != 0
            && self.namespace == own_namespace()
            && start_time(self.supervisor) != Some(self.started)
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { supervisor, started, namespace, invocation } = self;
        write!(formatter, "{PREFIX}{supervisor}-{started}-{namespace}-{invocation}")
    }
}

/// The process id namespace that `/proc` shows; 0 if it cannot be found out, as where `/proc` is
/// that of another one.
fn own_namespace() -> u64 {
    let status = std::fs::metadata("/proc/self/ns/pid");
    status.map_or(0, |status| std::os::unix::fs::MetadataExt::ino(&status))
}

/// When a process started, in clock ticks after the machine did; none if it is gone.
fn start_time(process: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    start_time_in(&String::from_utf8_lossy(&stat))
}

/// The 22nd field. The second is the program's name in parentheses, which may itself have spaces
/// and parentheses in it; a zombie counts as gone.
fn start_time_in(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Digits only: no sign, no space.
fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Whether it cannot mean anything but itself in a path, and in the name of a unit of systemd.
fn is_plain(invocation: &str) -> bool {
    (1..=MOST_INVOCATION).contains(&invocation.len())
        && invocation.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// How every name begins.
pub(crate) const PREFIX: &str = "stockade-";

const MOST_INVOCATION: usize = 64;
