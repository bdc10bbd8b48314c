//! Who is at the other end of a unix socket, as the kernel says it (unix(7), `SO_PEERCRED`).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use rustix::process::Pid;

#[cfg(test)]
mod tests;

/// The process that listens there, or that made the pair. None if it is in a process id namespace in
/// which this process cannot see it; rustix has no value for that.
pub fn process_of_peer(socket: impl AsFd) -> io::Result<Option<Pid>> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes at the first pointer, which `peer` has, and their
    // number at the second; both outlive the call, and any bytes make a `ucred`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            ptr::from_mut(&mut peer).cast(),
            &raw mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(peer.pid)) }
}
