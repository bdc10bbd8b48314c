//! Reaching into other processes, leaving one's namespaces, and installing one's own filter: what
//! a program in a cage may try against those around it.

use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::Pid;

use crate::clone::last_errno;

/// Whether an argument carries bits beyond the 32 that the kernel looks at: a filter that compares
/// all 64 takes it for another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpperBits {
    /// As the C library would pass it.
    Clear,
    /// With the lowest of the upper half set.
    Set,
}

impl UpperBits {
    pub(super) fn bits(self) -> u64 {
        match self {
            Self::Clear => 0,
            Self::Set => 1 << 32,
        }
    }
}

/// Copies memory of another process.
pub fn read_memory(process: Pid, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0_u8; length];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: length,
    };
    // SAFETY: the kernel writes at most `length` bytes to the local range, which is all of `bytes`;
    // the remote range is checked by the kernel in the other process.
    let count = unsafe {
        libc::process_vm_readv(
            process.as_raw_nonzero().get(),
            &raw const local,
            1,
            &raw const remote,
            1,
            0,
        )
    };
    let count = usize::try_from(count).map_err(|_| last_errno())?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Overwrites memory of another process.
pub fn write_memory(process: Pid, address: u64, bytes: &[u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address as usize),
        iov_len: bytes.len(),
    };
    if process == rustix::process::getpid() {
        return Err(Errno::INVAL);
    }
    // SAFETY: the kernel only reads the local range, which is all of `bytes`, and the memory that it
    // writes belongs to another process: the check above leaves this one out.
    let count = unsafe {
        libc::process_vm_writev(
            process.as_raw_nonzero().get(),
            &raw const local,
            1,
            &raw const remote,
            1,
            0,
        )
    };
    usize::try_from(count).map_err(|_| last_errno())
}

/// Becomes the tracer of a process without stopping it. The hold ends with the calling process.
pub fn seize(process: Pid) -> Result<(), Errno> {
    // SAFETY: PTRACE_SEIZE takes a process id and options, here none, and touches no memory of the
    // caller.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, process.as_raw_nonzero().get(), 0, 0) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Sends a signal to the first thread of a process (`tgkill`).
pub fn signal_thread(process: Pid, signal: i32) -> Result<(), Errno> {
    let pid = process.as_raw_nonzero().get();
    // SAFETY: tgkill takes three integers and touches no memory of the caller.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, signal) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Sends a signal with a value (`sigqueue`).
pub fn queue_signal(process: Pid, signal: i32) -> Result<(), Errno> {
    let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
    // SAFETY: sigqueue copies its arguments and touches no memory of the caller.
    let result = unsafe { libc::sigqueue(process.as_raw_nonzero().get(), signal, value) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Sends SIGURG, which programs ignore unless they asked for it, to every process in reach.
pub fn signal_everything() -> Result<(), Errno> {
    // SAFETY: kill takes two integers and touches no memory of the caller.
    let result = unsafe { libc::kill(-1, libc::SIGURG) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Moves this process into new user and mount namespaces (`unshare`).
pub fn leave_namespaces() -> Result<(), Errno> {
    // SAFETY: unshare of these two takes an integer, shares no file descriptors or memory anew and
    // touches none.
    let result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Starts a child in a new user namespace by `clone`; the child ends at once.
pub fn start_in_user_namespace(upper: UpperBits) -> Result<(), Errno> {
    let flags = libc::CLONE_NEWUSER as u64 | libc::SIGCHLD as u64 | upper.bits();
    // SAFETY: clone without CLONE_VM and with a null stack is a fork; the child may only call what
    // needs no lock: it does nothing but `_exit`.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        -1 => Err(last_errno()),
        // SAFETY: `_exit` ends the child without running any code of this process.
        0 => unsafe { libc::_exit(0) },
        pid => {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let _status = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty());
            Ok(())
        }
    }
}

/// Installs a filter that allows everything and asks for its listener: with it a program would
/// answer its children's calls in the supervisor's place.
pub fn own_listener() -> Result<OwnedFd, Errno> {
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    rustix::thread::set_no_new_privs(true)?;
    crate::seccomp::install_with_listener(&[crate::seccomp::Instruction {
        code: RETURN,
        jt: 0,
        jf: 0,
        k: ALLOW,
    }])
}

/// Tries to make every capability effective.
pub fn raise_capabilities() -> Result<(), Errno> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    // CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_SYS_ADMIN: a holder of these has the rest in reach.
    let wanted = 1 | 1 << 1 | 1 << 21;
    let data = [
        Data { effective: wanted, permitted: wanted, inheritable: 0 },
        Data { effective: 0, permitted: 0, inheritable: 0 },
    ];
    // SAFETY: the kernel reads a header of version 3 and two data elements: `header` and `data` are
    // these and outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const data) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Makes a socket of any family, type and protocol.
pub fn socket(family: i32, kind: i32, protocol: i32, upper: UpperBits) -> Result<OwnedFd, Errno> {
    let family = u64::from(family.unsigned_abs()) | upper.bits();
    let kind = kind | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes three integers and touches no memory of the caller.
    let descriptor = unsafe { libc::syscall(libc::SYS_socket, family, kind, protocol) };
    let descriptor = i32::try_from(descriptor).ok().filter(|number| *number >= 0);
    let descriptor = descriptor.ok_or_else(last_errno)?;
    // SAFETY: the descriptor must be open and owned by nobody else: the kernel just made it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
