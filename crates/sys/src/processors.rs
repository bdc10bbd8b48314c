//! Where a new task runs. The scheduler may queue it behind the one that made it because the other
//! processors are busy at that moment, and leaves it there when one of them falls idle. What cannot be
//! done here costs time alone, so nothing fails. Never moves the caller.

use rustix::process::Pid;
use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

#[cfg(test)]
mod tests;

/// Keeps a task off the caller's processor, if there is another one that it may have.
pub fn keep_off_this_one(task: Pid) {
    let Ok(mut others) = sched_getaffinity(Some(task)) else { return };
    others.unset(sched_getcpu());
    if others.count() > 0 {
        let _moved = sched_setaffinity(Some(task), &others);
    }
}
