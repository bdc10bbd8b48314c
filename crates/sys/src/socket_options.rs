//! Switches of sockets that rustix does not have. Each is set and never read.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

/// Lets an IPv4 or IPv6 listener take connections that were made to addresses which are not its own.
/// Needs the network namespace's capabilities.
pub fn make_transparent(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd();
    match rustix::net::getsockname(socket)?.address_family() {
        rustix::net::AddressFamily::INET => {
            switch_on(socket, libc::IPPROTO_IP, libc::IP_TRANSPARENT)
        }
        rustix::net::AddressFamily::INET6 => {
            switch_on(socket, libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT)
        }
        _ => Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
    }
}

pub(crate) fn switch_on(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes at the pointer: `on` has just that size and lives on.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(&on).cast(), length)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
