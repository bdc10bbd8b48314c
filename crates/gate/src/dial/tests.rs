//! Addresses that are tried, and those that never are.

use std::net::{IpAddr, Ipv4Addr};

use plan::network::GatekeeperPlan;

use super::{DialFailure, is_own, vet_all};
use crate::rules::Rules;

fn rules(allow: &[&str]) -> Rules {
    let allow = allow.iter().map(|entry| entry.parse().unwrap()).collect();
    Rules::new(&GatekeeperPlan { allow, ..GatekeeperPlan::default() })
}

#[test]
fn the_host_knows_its_own_addresses() {
    assert!(is_own(Ipv4Addr::LOCALHOST.into()).unwrap());
    assert!(!is_own("192.0.2.1".parse().unwrap()).unwrap());
    assert!(!is_own("2001:db8::1".parse().unwrap()).unwrap());
}

/// T42: of several answers, only those that nothing stands against are dialled.
#[test]
fn only_vetted_addresses_are_left() {
    let addresses: Vec<IpAddr> =
        ["169.254.169.254", "192.0.2.7", "10.0.0.1", "::ffff:127.0.0.1", "192.0.2.8"]
            .map(|address| address.parse().unwrap())
            .to_vec();
    let vetted = vet_all(&rules(&["a.test"]), &addresses, 443).unwrap();
    let left: Vec<String> =
        vetted.iter().map(|vetted| vetted.socket_address().to_string()).collect();
    assert_eq!(left, ["192.0.2.7:443", "192.0.2.8:443"]);
    let private = ["10.0.0.1".parse().unwrap()];
    let refused = vet_all(&rules(&["a.test"]), &private, 443);
    assert!(matches!(refused, Err(DialFailure::Denied(_))));
    assert!(vet_all(&rules(&["10.0.0.0/8:443"]), &private, 443).is_ok());
}
