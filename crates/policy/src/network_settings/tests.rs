//! Addresses of proxies.

use super::{ProxyAddress, ProxyError as E};

#[test]
fn a_proxy_is_a_host_and_a_port() {
    let given = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
    for (text, shown, credentials) in [
        ("http://proxy.corp:3128", "proxy.corp:3128", None),
        ("HTTP://Proxy.Corp.:3128/", "proxy.corp:3128", None),
        ("proxy:8080", "proxy:8080", None),
        ("http://10.0.0.2:3128", "10.0.0.2:3128", None),
        ("http://[2001:db8::1]:3128", "[2001:db8::1]:3128", None),
        ("http://user:pass@proxy.corp:3128", "proxy.corp:3128", given("user", "pass")),
        ("http://a%40b:p%3a%25@proxy.corp:3128", "proxy.corp:3128", given("a@b", "p:%")),
        ("http://u:p@ss@proxy.corp:1", "proxy.corp:1", given("u", "p@ss")),
        ("http://u:@proxy.corp:1", "proxy.corp:1", given("u", "")),
    ] {
        let read = ProxyAddress::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
        assert_eq!(read.to_string(), shown, "`{text}`");
        assert_eq!(read.credentials, credentials, "`{text}`");
    }
}

#[test]
fn what_is_no_proxy_is_refused() {
    for (text, expected) in [
        ("https://proxy.corp:3128", E::Scheme),
        ("socks5://proxy.corp:1080", E::Scheme),
        ("http://proxy.corp", E::NoPort),
        ("http://proxy.corp:", E::BadPort),
        ("http://proxy.corp:0", E::BadPort),
        ("http://proxy.corp:65536", E::BadPort),
        ("http://proxy.corp:+80", E::BadPort),
        ("http://:3128", E::BadHost),
        ("http://127.1:3128", E::BadHost),
        ("http://2001:db8::1:3128", E::BadHost),
        ("http://[proxy]:3128", E::BadHost),
        ("http://user@proxy.corp:3128", E::BadCredentials),
        ("http://u:%0d%0a@proxy.corp:3128", E::BadCredentials),
        ("http://u:%4@proxy.corp:3128", E::BadCredentials),
        ("http://u:%+1@proxy.corp:3128", E::BadCredentials),
        ("http://proxy.corp:3128/path", E::Trailing),
    ] {
        assert_eq!(ProxyAddress::parse(text).err(), Some(expected), "`{text}`");
    }
}

/// The values are those of RFC 7617 and RFC 4648.
#[test]
fn credentials_become_a_header() {
    for (credentials, expected) in [
        ("Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        (":", "Basic Og=="),
        ("f:", "Basic Zjo="),
        ("f:o", "Basic Zjpv"),
        ("fo:obar~?", "Basic Zm86b2Jhcn4/"),
    ] {
        let text = format!("http://{}@proxy:1", credentials.replace('?', "%3F"));
        let authorization = ProxyAddress::parse(&text).unwrap().authorization();
        assert_eq!(authorization.as_deref(), Some(expected), "{credentials}");
    }
    assert_eq!(ProxyAddress::parse("http://proxy:1").unwrap().authorization(), None);
}

/// A password is not printed.
#[test]
fn passwords_are_not_shown() {
    let read = ProxyAddress::parse("http://user:hunter2@proxy.corp:3128").unwrap();
    assert!(!format!("{read:?} {read}").contains("hunter2"));
}
