//! System V and POSIX objects that processes of one user share by name: made on the host as bait,
//! looked for from inside. Removed when their maker drops them.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use crate::clone::last_errno;

/// A shared memory segment, removed on drop.
#[derive(Debug)]
pub struct SharedMemory {
    id: i32,
}

impl SharedMemory {
    /// Makes a segment under `key` with these contents.
    pub fn new(key: i32, contents: &[u8]) -> Result<Self, Errno> {
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        // SAFETY: shmget takes three integers and touches no memory of the caller.
        let id = unsafe { libc::shmget(key, SEGMENT_BYTES, flags) };
        if id == -1 {
            return Err(last_errno());
        }
        let segment = Self { id };
        with_segment(id, 0, |memory| {
            let length = contents.len().min(SEGMENT_BYTES);
            // SAFETY: both ranges must be valid for `length` bytes and apart: the segment was just
            // mapped with more, and `contents` is a slice of this process's older memory.
            unsafe { std::ptr::copy_nonoverlapping(contents.as_ptr(), memory, length) };
        })?;
        Ok(segment)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID reads no buffer; the id is this value's own segment.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// What the segment under `key` holds.
pub fn read_shared_memory(key: i32) -> Result<Vec<u8>, Errno> {
    // SAFETY: shmget takes three integers and touches no memory of the caller.
    let id = unsafe { libc::shmget(key, SEGMENT_BYTES, 0) };
    if id == -1 {
        return Err(last_errno());
    }
    with_segment(id, libc::SHM_RDONLY, |memory| {
        let mut bytes = vec![0_u8; SEGMENT_BYTES];
        // SAFETY: both ranges must be valid for SEGMENT_BYTES and apart: shmget compared that size
        // with the segment's, and `bytes` is a fresh allocation of it.
        unsafe { std::ptr::copy_nonoverlapping(memory, bytes.as_mut_ptr(), SEGMENT_BYTES) };
        bytes.into_iter().take_while(|byte| *byte != 0).collect()
    })
}

fn with_segment<T>(id: i32, flags: i32, body: impl FnOnce(*mut u8) -> T) -> Result<T, Errno> {
    // SAFETY: with a null address the kernel chooses a free range, so nothing is covered.
    let memory = unsafe { libc::shmat(id, std::ptr::null(), flags) };
    if memory.addr() == usize::MAX {
        return Err(last_errno());
    }
    let result = body(memory.cast());
    // SAFETY: nothing may use the range afterwards: `body` has returned, and it was given a raw
    // pointer that it could not have turned into a longer borrow.
    unsafe { libc::shmdt(memory) };
    Ok(result)
}

/// A System V message queue with one message, removed on drop.
#[derive(Debug)]
pub struct MessageQueue {
    id: i32,
}

#[repr(C)]
struct Message {
    kind: libc::c_long,
    text: [u8; MESSAGE_BYTES],
}

impl MessageQueue {
    /// Makes a queue under `key` that holds `contents`.
    pub fn new(key: i32, contents: &[u8]) -> Result<Self, Errno> {
        // SAFETY: msgget takes two integers and touches no memory of the caller.
        let id = unsafe { libc::msgget(key, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        if id == -1 {
            return Err(last_errno());
        }
        let queue = Self { id };
        let mut message = Message { kind: 1, text: [0; MESSAGE_BYTES] };
        for (slot, byte) in message.text.iter_mut().zip(contents) {
            *slot = *byte;
        }
        // SAFETY: the kernel reads a long and as many bytes as given: `message` is these, and
        // outlives the call.
        let result = unsafe {
            libc::msgsnd(id, (&raw const message).cast(), MESSAGE_BYTES, libc::IPC_NOWAIT)
        };
        if result == -1 { Err(last_errno()) } else { Ok(queue) }
    }
}

impl Drop for MessageQueue {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID reads no buffer; the id is this value's own queue.
        unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Takes the first message from the System V queue under `key`.
pub fn read_message_queue(key: i32) -> Result<Vec<u8>, Errno> {
    // SAFETY: msgget takes two integers and touches no memory of the caller.
    let id = unsafe { libc::msgget(key, 0) };
    if id == -1 {
        return Err(last_errno());
    }
    let mut message = Message { kind: 0, text: [0; MESSAGE_BYTES] };
    // SAFETY: the kernel writes a long and at most as many bytes as given: `message` has room for
    // these, and outlives the call.
    let count =
        unsafe { libc::msgrcv(id, (&raw mut message).cast(), MESSAGE_BYTES, 0, libc::IPC_NOWAIT) };
    let count = usize::try_from(count).map_err(|_| last_errno())?;
    Ok(message.text.iter().take(count).copied().take_while(|byte| *byte != 0).collect())
}

/// A POSIX message queue with one message, removed on drop.
#[derive(Debug)]
pub struct PosixQueue {
    name: CString,
    _descriptor: OwnedFd,
}

impl PosixQueue {
    /// Makes the queue `name` (one slash, at its start) that holds `contents`.
    pub fn new(name: &CStr, contents: &[u8]) -> Result<Self, Errno> {
        // SAFETY: an all-zero `mq_attr` is a valid value: it consists of integers alone.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = 1;
        attributes.mq_msgsize = MESSAGE_BYTES as libc::c_long;
        let flags =
            libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let mode: libc::mode_t = 0o600;
        // SAFETY: mq_open reads a NUL-terminated name and an `mq_attr`: both outlive the call.
        let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
        if queue == -1 {
            return Err(last_errno());
        }
        // SAFETY: the descriptor must be open and owned by nobody else: mq_open returned a fresh
        // one, which on Linux is a file descriptor.
        let descriptor = unsafe { OwnedFd::from_raw_fd(queue) };
        let queue = Self { name: name.to_owned(), _descriptor: descriptor };
        let number = queue._descriptor.as_raw_fd();
        // SAFETY: the kernel reads as many bytes as the slice has: it outlives the call.
        let result = unsafe { libc::mq_send(number, contents.as_ptr().cast(), contents.len(), 0) };
        if result == -1 { Err(last_errno()) } else { Ok(queue) }
    }
}

impl Drop for PosixQueue {
    fn drop(&mut self) {
        // SAFETY: mq_unlink reads a NUL-terminated name, which this value owns.
        unsafe { libc::mq_unlink(self.name.as_ptr()) };
    }
}

/// Takes the first message from the POSIX queue `name`.
pub fn read_posix_queue(name: &CStr) -> Result<Vec<u8>, Errno> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: mq_open without O_CREAT reads a NUL-terminated name alone.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags) };
    if queue == -1 {
        return Err(last_errno());
    }
    // SAFETY: the descriptor must be open and owned by nobody else: mq_open returned a fresh one.
    let descriptor = unsafe { OwnedFd::from_raw_fd(queue) };
    let mut bytes = vec![0_u8; MESSAGE_BYTES];
    // SAFETY: the kernel writes at most as many bytes as given: `bytes` has that many.
    let count = unsafe {
        libc::mq_receive(
            descriptor.as_raw_fd(),
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            std::ptr::null_mut(),
        )
    };
    let count = usize::try_from(count).map_err(|_| last_errno())?;
    bytes.truncate(count);
    Ok(bytes)
}

const SEGMENT_BYTES: usize = 4096;
const MESSAGE_BYTES: usize = 256;
