//! Opening files by what they are instead of by where they are (`open_by_handle_at`): the way out
//! of every mount namespace for who may use it. Opens for reading alone.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use crate::clone::last_errno;

/// What a file system calls one of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHandle {
    /// How to read the bytes; each file system has its own.
    pub kind: i32,
    /// At most 128.
    pub bytes: Vec<u8>,
}

/// The handle of the file at `path`.
pub fn name_to_handle(path: &CStr) -> Result<FileHandle, Errno> {
    let mut raw = RawHandle { length: MAX_HANDLE as u32, kind: 0, bytes: [0; MAX_HANDLE] };
    let mut mount = 0_i32;
    // SAFETY: the kernel reads a NUL-terminated path, writes at most `length` bytes after the head
    // of a `file_handle`, and writes an int: `path`, `raw` and `mount` are these and outlive the
    // call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw mut raw,
            &raw mut mount,
            0,
        )
    };
    if result == -1 {
        return Err(last_errno());
    }
    let bytes = raw.bytes.iter().take(raw.length as usize).copied().collect();
    Ok(FileHandle { kind: raw.kind, bytes })
}

/// Opens the file that a handle names, on the file system that `anchor` is on.
pub fn open_by_handle(anchor: BorrowedFd<'_>, handle: &FileHandle) -> Result<OwnedFd, Errno> {
    let mut raw = RawHandle { length: 0, kind: handle.kind, bytes: [0; MAX_HANDLE] };
    for (slot, byte) in raw.bytes.iter_mut().zip(&handle.bytes) {
        *slot = *byte;
        raw.length += 1;
    }
    // SAFETY: the kernel reads a `file_handle` with `length` bytes after its head: `raw` has room
    // for the most that there can be, and outlives the call.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            anchor.as_raw_fd(),
            &raw mut raw,
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    let descriptor = i32::try_from(descriptor).ok().filter(|number| *number >= 0);
    let descriptor = descriptor.ok_or_else(last_errno)?;
    // SAFETY: the descriptor must be open and owned by nobody else: the kernel just made it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

const MAX_HANDLE: usize = 128;

#[repr(C)]
struct RawHandle {
    length: u32,
    kind: i32,
    bytes: [u8; MAX_HANDLE],
}

const _: () = assert!(size_of::<RawHandle>() == 8 + MAX_HANDLE);
