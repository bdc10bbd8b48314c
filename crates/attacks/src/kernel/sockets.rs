//! Socket families that reach past a network namespace or into seldom-used kernel code. T24

use sys::raw::{self, UpperBits};

use crate::attack::{Attack, Outcome, Refused, Twin};

macro_rules! opens {
    ($name:literal, $what:literal, $family:expr, $kind:expr, $protocol:expr) => {
        Attack::new("T24", $name, concat!("opens a socket to ", $what), |_| {
            open($family, $kind, $protocol)
        })
    };
}

pub(crate) const ATTACKS: &[Attack] = &[
    opens!("socket-vsock", "the hypervisor", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
    opens!(
        "socket-audit",
        "the audit system",
        libc::AF_NETLINK,
        libc::SOCK_RAW,
        libc::NETLINK_AUDIT
    ),
    opens!(
        "socket-netfilter",
        "the packet filter",
        libc::AF_NETLINK,
        libc::SOCK_RAW,
        libc::NETLINK_NETFILTER
    ),
    opens!(
        "socket-uevent",
        "the device events",
        libc::AF_NETLINK,
        libc::SOCK_RAW,
        libc::NETLINK_KOBJECT_UEVENT
    ),
    opens!("socket-packet", "a raw device", libc::AF_PACKET, libc::SOCK_RAW, 0)
        .twin(Twin::Namespaces),
    opens!("socket-raw", "raw IP", libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)
        .twin(Twin::Namespaces),
    opens!("socket-crypto", "the kernel's cryptography", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
    opens!("socket-xdp", "a device's queue", libc::AF_XDP, libc::SOCK_RAW, 0)
        .twin(Twin::Namespaces),
    opens!("socket-bluetooth", "bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW, 1),
    opens!("socket-can", "a car", libc::AF_CAN, libc::SOCK_RAW, 1),
    opens!("socket-tipc", "a cluster", libc::AF_TIPC, libc::SOCK_STREAM, 0),
    opens!("socket-rds", "reliable datagrams", libc::AF_RDS, libc::SOCK_SEQPACKET, 0),
];

/// What a kernel without the family answers, a filter may answer as well: the twin tells which it was.
fn open(family: i32, kind: i32, protocol: i32) -> Result<Outcome, Refused> {
    raw::socket(family, kind, protocol, UpperBits::Clear)?;
    Ok(Outcome::Succeeded("got the socket".to_owned()))
}
