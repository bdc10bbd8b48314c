//! Keys that the kernel keeps for a session: whoever is started in it has them, whatever its user and its
//! namespaces. Made on the host as bait, looked for from inside.

use std::ffi::CStr;

use rustix::io::Errno;

use crate::clone::last_errno;

/// A key in the session of this thread and of what it starts; gone on drop, and by itself after a while.
#[derive(Debug)]
pub struct SessionKey {
    id: libc::c_long,
}

impl SessionKey {
    /// Makes the key `name` that holds `contents`. A thread without a session of keys begins one.
    pub fn new(name: &CStr, contents: &[u8]) -> Result<Self, Errno> {
        // SAFETY: the kernel reads two NUL-terminated texts and as many bytes as the slice has: all three
        // outlive the call.
        let id = unsafe {
            libc::syscall(
                libc::SYS_add_key,
                KIND.as_ptr(),
                name.as_ptr(),
                contents.as_ptr(),
                contents.len(),
                SESSION,
            )
        };
        if id == -1 {
            return Err(last_errno());
        }
        let key = Self { id };
        // SAFETY: this operation takes two integers and touches no memory of the caller.
        let result = unsafe { libc::syscall(libc::SYS_keyctl, SET_TIMEOUT, id, LONGEST_SECONDS) };
        if result == -1 { Err(last_errno()) } else { Ok(key) }
    }
}

impl Drop for SessionKey {
    fn drop(&mut self) {
        // SAFETY: this operation takes an integer and touches no memory of the caller.
        unsafe { libc::syscall(libc::SYS_keyctl, INVALIDATE, self.id) };
    }
}

/// What the key `name` in the session of this thread holds.
pub fn read_session_key(name: &CStr) -> Result<Vec<u8>, Errno> {
    // SAFETY: this operation reads two NUL-terminated texts, which outlive the call.
    let id = unsafe {
        libc::syscall(libc::SYS_keyctl, SEARCH, SESSION, KIND.as_ptr(), name.as_ptr(), 0)
    };
    if id == -1 {
        return Err(last_errno());
    }
    let mut bytes = vec![0_u8; MOST_BYTES];
    // SAFETY: the kernel writes at most as many bytes as given: `bytes` has that many.
    let length =
        unsafe { libc::syscall(libc::SYS_keyctl, READ, id, bytes.as_mut_ptr(), bytes.len()) };
    bytes.truncate(usize::try_from(length).map_err(|_| last_errno())?);
    Ok(bytes)
}

const KIND: &CStr = c"user";
/// `KEY_SPEC_SESSION_KEYRING`.
const SESSION: libc::c_long = -3;
const SEARCH: libc::c_long = 10;
const READ: libc::c_long = 11;
const SET_TIMEOUT: libc::c_long = 15;
const INVALIDATE: libc::c_long = 21;
const LONGEST_SECONDS: libc::c_long = 900;
const MOST_BYTES: usize = 4096;
