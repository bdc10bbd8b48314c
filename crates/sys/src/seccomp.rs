//! Installing a system call filter and answering its notifications. Never builds a filter: the
//! bytes come from a Plan.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

use crate::clone::last_errno;

/// One instruction as the kernel reads it (`struct sock_filter`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// How many instructions to skip if true.
    pub jt: u8,
    /// How many instructions to skip if false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

const _: () = assert!(size_of::<Instruction>() == 8);

/// A system call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Notification {
    /// Names this very call.
    pub id: u64,
    /// The calling thread, as seen from the reader's pid namespace.
    pub thread: u32,
    /// Number of the call.
    pub number: i32,
    /// Its architecture (`AUDIT_ARCH_*`).
    pub architecture: u32,
    /// Its arguments; pointers among them must never be followed to decide anything.
    pub arguments: [u64; 6],
}

/// Puts this thread, and all it starts, under the filter for good.
pub fn install(filter: &[Instruction]) -> Result<(), Errno> {
    load(filter, 0).map(drop)
}

/// Puts this thread under the filter and returns the descriptor on which the calls arrive that the
/// filter wants to have answered.
///
/// A signal that does not kill waits until a call that was received is answered, where the kernel can do
/// that (since Linux 5.19): a call would fail otherwise that no signal interrupts without a filter.
pub fn install_with_listener(filter: &[Instruction]) -> Result<OwnedFd, Errno> {
    let descriptor = match load(filter, FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE) {
        Err(Errno::INVAL) => load(filter, FLAG_NEW_LISTENER)?,
        loaded => loaded?,
    };
    // SAFETY: the descriptor must be open and owned by nobody else: with FLAG_NEW_LISTENER the
    // kernel returns a fresh one.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Waits for a call to answer. `ENOENT` means that the caller was gone before it could be read.
pub fn receive(listener: BorrowedFd<'_>) -> Result<Notification, Errno> {
    let mut raw = RawNotification::default();
    // SAFETY: the kernel writes a zeroed `seccomp_notif`, whose size the request number carries:
    // `raw` is one, and lives across the call.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_RECEIVE, &raw mut raw) };
    if result == -1 {
        return Err(last_errno());
    }
    Ok(Notification {
        id: raw.id,
        thread: raw.pid,
        number: raw.number,
        architecture: raw.architecture,
        arguments: raw.arguments,
    })
}

/// Answers a call with an error.
pub fn refuse(listener: BorrowedFd<'_>, id: u64, errno: Errno) -> Result<(), Errno> {
    respond(listener, RawResponse { id, value: 0, error: -errno.raw_os_error(), flags: 0 })
}

/// Lets a call go on as it was made, for one that is allowed whatever it is about: what it points to can
/// change between a look and the call.
pub fn let_go_on(listener: BorrowedFd<'_>, id: u64) -> Result<(), Errno> {
    respond(listener, RawResponse { id, value: 0, error: 0, flags: GO_ON })
}

fn respond(listener: BorrowedFd<'_>, mut raw: RawResponse) -> Result<(), Errno> {
    // SAFETY: the kernel reads a `seccomp_notif_resp`, whose size the request number carries: `raw`
    // is one, and lives across the call.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), IOCTL_SEND, &raw mut raw) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

fn load(filter: &[Instruction], flags: libc::c_ulong) -> Result<i32, Errno> {
    let program = Program {
        length: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr(),
    };
    // SAFETY: the kernel reads a `sock_fprog` and as many instructions as it says: `program` points
    // at `filter` with its own length, and both live across the call.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) };
    i32::try_from(result).ok().filter(|value| *value >= 0).ok_or_else(last_errno)
}

#[repr(C)]
struct Program {
    length: u16,
    filter: *const Instruction,
}

#[repr(C)]
#[derive(Default)]
struct RawNotification {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction_pointer: u64,
    arguments: [u64; 6],
}

#[repr(C)]
struct RawResponse {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const _: () = assert!(size_of::<RawNotification>() == 80);
const _: () = assert!(size_of::<RawResponse>() == 24);

const SET_MODE_FILTER: libc::c_ulong = 1;
const FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;
const FLAG_WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`.
const GO_ON: u32 = 1;
const IOCTL_RECEIVE: libc::c_ulong = 0xc050_2100;
const IOCTL_SEND: libc::c_ulong = 0xc018_2101;
