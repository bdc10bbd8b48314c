//! Tables of hosts.

use super::*;

fn texts(mode: &str, written: &str) -> Result<Vec<String>, HostError> {
    read(mode, written).map(|all| all.iter().map(ToString::to_string).collect())
}

/// M49, M90
#[test]
fn a_mode_has_its_ports() {
    for (mode, written, expected) in [
        ("http", "example.com", vec!["example.com:80", "example.com:443"]),
        ("https", "example.com", vec!["example.com:443"]),
        ("*", "example.com", vec!["example.com"]),
        ("https", "*.example.com", vec!["*.example.com:443"]),
        ("https", "Example.COM.:8443", vec!["example.com:8443"]),
        ("tcp", "example.com:22", vec!["example.com:22"]),
        ("http", "http://example.com/a?b#c", vec!["example.com:80"]),
        ("http", "HTTPS://example.com", vec!["example.com:443"]),
        ("tcp", "https://example.com/", vec!["example.com:443"]),
        ("https", "https://example.com:8443/", vec!["example.com:8443"]),
        ("https", "https://[2001:db8::1]/", vec!["[2001:db8::1]:443"]),
        ("https", "https://bücher.example/", vec!["xn--bcher-kva.example:443"]),
    ] {
        assert_eq!(texts(mode, written).unwrap(), expected, "{mode} {written}");
    }
}

/// A URL that two readers take for two hosts is no host.
#[test]
fn what_is_no_host_is_refused() {
    for (mode, written) in [
        ("tcp", "example.com"),
        ("https", "http://example.com"),
        ("http", "ftp://example.com"),
        ("http", "file:///etc/passwd"),
        ("http", "*"),
        ("http", "https://*/"),
        ("http", "**.com"),
        ("http", "0.0.0.0/0"),
        ("http", "localhost"),
        ("http", "https://user@example.com/"),
        ("http", "https://example.com\\.evil.example/"),
        ("http", "https://example.com%2f.evil.example/"),
        ("http", "https:///x"),
        ("http", "example.com/path"),
        ("http", "127.1"),
        ("http", ""),
        ("http", " example.com"),
    ] {
        let error = read(mode, written).expect_err(written);
        assert!(!error.to_string().is_empty());
        let _help = error.help();
    }
}
