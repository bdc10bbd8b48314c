//! Tells systemd when the daemon is ready and when it ends (sd_notify(3)); nobody else, and nothing
//! where nobody asked.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::log;

/// The daemon serves.
pub(crate) fn ready() {
    tell("READY=1");
}

/// The daemon drains.
pub(crate) fn stopping() {
    tell("STOPPING=1");
}

fn tell(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    let told = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = told {
        log::warning(&format!("the service manager cannot be told: {error}"));
    }
}
