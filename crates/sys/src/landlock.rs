//! One call of landlock that the library for it makes with a look at the file first: where nobody serves a file system yet,
//! that look would wait for good.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::io::Errno;

use crate::clone::last_errno;

/// Adds a rule about all that lies below a directory, which is not asked about. Rights that this kernel does not know are left
/// out, as it has none of them.
pub fn add_rule(
    ruleset: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    rights: u64,
) -> Result<(), Errno> {
    let rule = PathBeneath { allowed_access: rights & known()?, parent_fd: directory.as_raw_fd() };
    // SAFETY: the kernel reads a `landlock_path_beneath_attr`: `PathBeneath` has its layout, and `rule` lives across the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            RULE_PATH_BENEATH,
            &raw const rule,
            0,
        )
    };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// The rights to files that the kernel has.
fn known() -> Result<u64, Errno> {
    let (nothing, size) = (std::ptr::null::<u8>(), 0_usize);
    // SAFETY: the kernel reads nothing where the size is 0: with this flag it answers with a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, size, VERSION) };
    // landlock(7): each version adds bits above those before it.
    let bits = match version {
        -1 => return Err(last_errno()),
        ..=1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    Ok((1 << bits) - 1)
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

const RULE_PATH_BENEATH: u32 = 1;
const VERSION: u32 = 1;
