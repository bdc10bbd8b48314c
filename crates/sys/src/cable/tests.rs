//! What is refused without touching anything; cables themselves are laid by the attacks' worlds.

use std::net::Ipv4Addr;

use super::*;

#[test]
fn a_device_that_is_not_there_is_not_set_up() {
    let address = Ipv4Addr::new(203, 0, 113, 1).into();
    assert_eq!(add_address("stockade-none", address, 24), Err(Errno::NODEV));
}

/// Without the privilege over the namespace nothing is changed.
#[test]
fn nobody_lays_cables_between_namespaces_of_others() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let this = rustix::process::getpid();
    assert_eq!(lay("stockade-near", "stockade-far", this), Err(Errno::PERM));
    assert_eq!(bring_up("lo"), Err(Errno::PERM));
    assert_eq!(add_default_route(Ipv4Addr::LOCALHOST.into()), Err(Errno::PERM));
}
