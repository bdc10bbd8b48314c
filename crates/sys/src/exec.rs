//! Starting a program in this process: arguments laid out beforehand, so that the call itself
//! allocates nothing. Never searches PATH by itself.

use std::ffi::{CStr, CString};

use rustix::io::Errno;

use crate::clone::last_errno;

/// A NULL-terminated array of C strings, kept with its owners.
#[derive(Debug)]
pub struct CStringArray {
    pointers: Vec<*const libc::c_char>,
    _owners: Vec<CString>,
}

impl CStringArray {
    /// Lays out the array.
    pub fn new(strings: Vec<CString>) -> Self {
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr())
            .chain(std::iter::once(std::ptr::null()))
            .collect();
        Self { pointers, _owners: strings }
    }

    /// The array, for as long as this value lives.
    pub(crate) fn as_pointers(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// Replaces this process's program; returns only on failure.
pub fn execute(program: &CStr, arguments: &CStringArray, environment: &CStringArray) -> Errno {
    // SAFETY: execve reads a C string and two NULL-terminated arrays of C strings: `CStringArray`
    // ends its array with NULL and owns every string in it for as long as it lives.
    unsafe {
        libc::execve(program.as_ptr(), arguments.pointers.as_ptr(), environment.pointers.as_ptr())
    };
    last_errno()
}

/// Ends this process at once, without running any exit handler that belongs to the process it was
/// forked from.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: _exit takes an integer and does not return.
    unsafe { libc::_exit(status) }
}
