//! Closing what a child must not have. Never closes a descriptor that an owner in the same process
//! still uses: see each function's condition.

use rustix::io::Errno;

use crate::clone::last_errno;

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

/// Gives this thread a file descriptor table of its own, with nothing in it but `keep`, which must be sorted. The
/// other threads keep all of theirs.
///
/// For a thread that owns no other descriptor: what it was given stands in its new table under the same number.
pub fn own_table_with(keep: &[u32]) -> Result<(), Errno> {
    // SAFETY: unshare takes an integer and touches no memory; that no other owner in this thread goes on is the
    // condition of this function, and other threads keep the old table.
    if unsafe { libc::unshare(libc::CLONE_FILES) } == -1 {
        return Err(last_errno());
    }
    close_all_but(keep)
}

fn close_range(first: u32, last: u32, flags: u32) -> Result<(), Errno> {
    // SAFETY: close_range takes integers and touches no memory; that no owner of a closed descriptor
    // goes on is the condition of each public function above.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}
