//! Rules into ports, and the rules that cannot be held.

use super::*;

fn plan(allow: &[&str], host_ports: &[u16]) -> GatekeeperPlan {
    GatekeeperPlan {
        allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
        host_ports: host_ports.to_vec(),
        ..GatekeeperPlan::default()
    }
}

#[test]
fn each_port_is_listened_on_once() {
    let rules = ["a.example:443", "b.example:443", "c.example:80-82", "192.0.2.0/24:22"];
    assert_eq!(listened(&plan(&rules, &[5432])), Ok(vec![22, 80, 81, 82, 443]));
    assert_eq!(listened(&plan(&[], &[])), Ok(vec![]));
    assert_eq!(listened(&plan(&["a.example:1000-1063"], &[])).map(|ports| ports.len()), Ok(64));
}

/// K181
#[test]
fn a_rule_that_cannot_be_held_names_its_fix() {
    let table: &[(&[&str], &[u16], &str)] = &[
        (&["a.example"], &[], "`a.example:443`"),
        (&["**.a.example"], &[], "`**.a.example:443`"),
        (&["a.example:1-65"], &[], "`a.example:443`"),
        (&["2001:db8::/32"], &[], "`[2001:db8::/32]:443`"),
        (&["192.0.2.1"], &[], "`192.0.2.1:443`"),
        (&["a.example:3128"], &[], "port 3128"),
        (&["a.example:5432"], &[5432], "port 5432"),
        (&["a.example:2000-2060", "a.example:3000-3060"], &[], "122 ports"),
    ];
    for (allow, host_ports, expected) in table {
        let reason = listened(&plan(allow, host_ports)).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }
}
