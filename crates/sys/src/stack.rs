//! A stack for a process that shares this one's memory. Mapped and not allocated: an allocator may
//! clear it, and only pages that are used should ever be made. Never grows.

use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// A stack. Dropping it gives its memory back, so it must outlive whoever runs on it.
#[derive(Debug)]
pub struct Stack {
    base: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: memory that a value owns may be given back by any thread if no thread has a reference into
// it: nothing here hands one out, and `top` is an address that only the kernel is told.
unsafe impl Send for Stack {}

// SAFETY: sharing a value must not let two threads change it: its fields are written in `new` alone.
unsafe impl Sync for Stack {}

impl Stack {
    /// Reserves a stack of this many bytes, rounded down to whole kilobytes.
    pub fn new(length: usize) -> Result<Self, Errno> {
        let length = length & !0x3ff;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a mapping must not replace one that is in use: without MAP_FIXED the kernel
        // chooses an address that is free.
        let base =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, protection, flags) }?;
        Ok(Self { base: NonNull::new(base).ok_or(Errno::NOMEM)?, length })
    }

    /// One past its highest address, which is aligned to 16 bytes.
    pub(crate) fn top(&self) -> *mut libc::c_void {
        self.base.as_ptr().wrapping_byte_add(self.length)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping must be this value's own and unused: `new` made it, nobody else unmaps
        // it, and its users have ended by contract.
        let _unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr(), self.length) };
    }
}
