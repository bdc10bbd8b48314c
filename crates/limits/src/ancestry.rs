//! Which processes are this one's own: itself and whatever it has started, directly or not.

use rustix::process::Pid;

#[cfg(test)]
mod tests;

/// Whether a process is this one or a descendant of it.
pub(crate) fn descends_from_this_process(pid: Pid) -> bool {
    let own = std::process::id();
    let mut process = u32::try_from(pid.as_raw_nonzero().get()).ok();
    for _ in 0..DEEPEST {
        match process {
            Some(process) if process == own => return true,
            Some(other) if other > 1 => process = parent(other),
            _ => return false,
        }
    }
    false
}

fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The program's name in parentheses may have anything in it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Further than this nobody looks: a line of processes that long is not a supervisor's.
const DEEPEST: usize = 64;
