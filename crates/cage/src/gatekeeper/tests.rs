//! What the supervisor reads for the gatekeeper.

use super::resolvers::listed;
use crate::NetworkOutcome;

/// K69: what the C library would ask.
#[test]
fn resolvers_are_read_as_the_c_library_reads_them() {
    let cases: [(&str, &[&str]); 5] = [
        ("", &["127.0.0.1:53"]),
        ("# nameserver 10.0.0.1\noptions edns0\n", &["127.0.0.1:53"]),
        ("nameserver 10.0.0.1\nsearch corp\nnameserver ::1\n", &["10.0.0.1:53", "[::1]:53"]),
        ("nameserver fe80::1%eth0\nnameserver\t10.0.0.2 # x\n", &["10.0.0.2:53"]),
        (
            "nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\nnameserver 10.0.0.4",
            &["10.0.0.1:53", "10.0.0.2:53", "10.0.0.3:53"],
        ),
    ];
    for (text, expected) in cases {
        let found: Vec<String> = listed(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// K49: pid 1 lives in the cage, so what it says of look-ups is bounded, whatever it says.
#[test]
fn look_ups_that_pid_one_tells_are_bounded() {
    assert_eq!(NetworkOutcome::of_lookups(&[]), None);
    let name = |number: u64| jail::Lookup { name: Some(format!("n{number}")), count: u64::MAX };
    let lookups: Vec<jail::Lookup> = (0..1000).map(name).collect();
    let outcome = NetworkOutcome::of_lookups(&lookups).unwrap();
    assert_eq!(outcome.account.denials.len(), gate::limits::DENIED_TARGETS);
    assert_eq!(outcome.account.counters.dns_denied, u64::MAX);
    assert_eq!(outcome.account.unlisted_denials, u64::MAX);
}
