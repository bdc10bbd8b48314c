//! Bringing a network namespace's loopback interface up. Touches no other interface.

use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::clone::last_errno;

/// Brings `lo` of the current network namespace up.
pub fn bring_up() -> Result<(), Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let mut request = InterfaceRequest { name: [0; 16], flags: 0, rest: [0; 22] };
    let [first, second, ..] = &mut request.name;
    (*first, *second) = (b'l', b'o');
    request.flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(|_| Errno::INVAL)?;
    // SAFETY: SIOCSIFFLAGS reads a whole `ifreq`: `request` has its size and layout.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// `struct ifreq` with its flags member.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());
