//! What the supervisor reads for the gatekeeper.

use super::resolvers::listed;

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
