//! Bringing a network namespace's loopback interface up. Touches no other interface, and never sets
//! `errno`: it may run beside another process with the same memory.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

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
    // SAFETY: the operation must read no more than the given type: SIOCSIFFLAGS reads one `ifreq`,
    // and `InterfaceRequest` has its size and layout.
    let set_flags = unsafe { rustix::ioctl::Setter::<SET_FLAGS, InterfaceRequest>::new(request) };
    // SAFETY: the descriptor must be one that the operation is for: `socket` is an inet socket.
    unsafe { rustix::ioctl::ioctl(&socket, set_flags) }
}

/// `struct ifreq` with its flags member.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

const SET_FLAGS: rustix::ioctl::Opcode = libc::SIOCSIFFLAGS as rustix::ioctl::Opcode;
const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());
