//! Addresses, by table.

use super::BaseUrl;

#[test]
fn addresses_are_read() {
    for (text, shown, path) in [
        ("https://api.anthropic.com", "https://api.anthropic.com", "/v1/messages"),
        ("https://API.example.com:8443/a/", "https://api.example.com:8443/a", "/a/v1/messages"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1", "/v1/messages"),
        ("http://[::1]:80", "http://[::1]", "/v1/messages"),
    ] {
        let url: BaseUrl = text.parse().expect(text);
        assert_eq!((url.to_string().as_str(), url.path_of("/v1/messages").as_str()), (shown, path));
    }
}

#[test]
fn what_could_lead_elsewhere_is_refused() {
    for text in [
        "",
        "ftp://a",
        "https://",
        "https://user:key@host",
        "https://host:0",
        "https://host:http",
        "https://a b",
        "https://host/a?b=c",
        "https://host/a\r\nx: y",
        "https://host/../x",
        "https://[::1",
        "https://[x]",
    ] {
        assert!(text.parse::<BaseUrl>().is_err(), "{text}");
    }
}

#[test]
fn loopback_is_known() {
    for (text, is) in [
        ("http://localhost:1", true),
        ("http://127.3.2.1", true),
        ("http://[::1]", true),
        ("http://10.0.0.1", false),
    ] {
        assert_eq!(text.parse::<BaseUrl>().expect(text).is_loopback(), is, "{text}");
    }
}
