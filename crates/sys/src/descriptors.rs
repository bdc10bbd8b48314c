//! Closing what a child must not have. Never closes a descriptor that an owner in the same process
//! still uses: see each function's condition.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use rustix::io::Errno;

use crate::clone::last_errno;

#[cfg(test)]
mod tests;

/// Gives this process a file descriptor table of its own, without anything from `first` up; whoever
/// it shared the table with keeps all of it.
///
/// For a process that shares its table and will not return to code owning any other descriptor.
pub fn leave_all_from(first: u32) -> Result<(), Errno> {
    close_range(first, u32::MAX, libc::CLOSE_RANGE_UNSHARE)
}

/// Keeps everything from `first` up from programs that this process starts; what it is to hand on is made
/// inheritable afterwards.
pub fn hand_on_nothing_from(first: u32) -> Result<(), Errno> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    close_range(first, u32::MAX, flags)
}

/// Closes every descriptor but those in `keep`, which must be sorted.
///
/// For a freshly forked process that will not return to code owning any other descriptor.
pub fn close_all_but(keep: &[u32]) -> Result<(), Errno> {
    let mut next = 0;
    for kept in keep {
        if let Some(last) = kept.checked_sub(1)
            && last >= next
        {
            close_range(next, last, 0)?;
        }
        next = kept.saturating_add(1);
    }
    close_range(next, u32::MAX, 0)
}

/// Closes this process's copies of descriptors, as far as it can.
///
/// For a freshly forked process that will not return to the code that owns them.
pub fn close_copies(descriptors: &[OwnedFd]) {
    for run in descriptors.chunk_by(follow_one_another) {
        let _left_open = close_run(run);
    }
}

/// Closes many descriptors with few calls.
pub fn close_together(mut descriptors: Vec<OwnedFd>) {
    descriptors.sort_unstable_by_key(AsRawFd::as_raw_fd);
    while let Some(length) = descriptors.chunk_by(follow_one_another).next_back().map(<[_]>::len) {
        let run = descriptors.split_off(descriptors.len().saturating_sub(length));
        // What is not closed with the others is closed by itself, when it is dropped.
        if close_run(&run).is_ok() {
            run.into_iter().for_each(|descriptor| _ = descriptor.into_raw_fd());
        }
    }
}

fn follow_one_another(one: &OwnedFd, next: &OwnedFd) -> bool {
    one.as_raw_fd().checked_add(1) == Some(next.as_raw_fd())
}

fn close_run(run: &[OwnedFd]) -> Result<(), Errno> {
    let number = |descriptor: Option<&OwnedFd>| {
        descriptor.and_then(|one| u32::try_from(one.as_raw_fd()).ok()).ok_or(Errno::BADF)
    };
    close_range(number(run.first())?, number(run.last())?, 0)
}

fn close_range(first: u32, last: u32, flags: u32) -> Result<(), Errno> {
    // SAFETY: close_range takes integers and touches no memory; that no owner of a closed descriptor
    // goes on is the condition of each public function above.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}
