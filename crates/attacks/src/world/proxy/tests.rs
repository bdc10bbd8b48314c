//! The careless proxies are as careless as attacks count on.

use super::*;

fn check(host: &[u8], expected: &str) {
    let found = loosely(host).map_or_else(|name| name, |address| address.to_string());
    assert_eq!(found, expected, "`{}`", host.escape_ascii());
}

#[test]
fn hosts_are_read_loosely() {
    let table: &[(&[u8], &str)] = &[
        (b"other.example", "other.example"),
        (b"OTHER.Example.", "other.example"),
        (b"other.example\0.wild.example", "other.example"),
        (b"other.example\r\n.wild.example", "other.example"),
        (b"web.example@other.example", "other.example"),
        (b"other%2eexample", "other.example"),
        (b"other.example#.wild.example", "other.example"),
        (b"203.0.113.3", "203.0.113.3"),
        (b"3405803779", "203.0.113.3"),
        (b"0xcb007103", "203.0.113.3"),
        (b"0313.0.0161.3", "203.0.113.3"),
        (b"203.28931", "203.0.113.3"),
        (b"127.1", "127.0.0.1"),
        (b"0", "0.0.0.0"),
        (b"[::ffff:203.0.113.3]", "::ffff:203.0.113.3"),
        (b"[::1%25lo]", "::1"),
        (b"", "127.0.0.1"),
        (b"1.2.3.4.5", "1.2.3.4.5"),
    ];
    for (host, expected) in table {
        check(host, expected);
    }
}

#[test]
fn ports_come_last() {
    assert_eq!(
        split_authority(b"web.example:80@other.example:8080"),
        (&b"web.example:80@other.example"[..], 8080)
    );
    assert_eq!(split_authority(b"[::1]:8000"), (&b"[::1]"[..], 8000));
    assert_eq!(split_authority(b"[::1]"), (&b"[::1]"[..], 80));
    assert_eq!(
        authority_of_url(b"http://web.example@other.example/x"),
        b"web.example@other.example"
    );
}
