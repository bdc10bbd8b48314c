//! Addresses of pages, and what an answer names from there.

use super::Address;

#[test]
fn addresses_are_read_and_joined() {
    let page = Address::parse("https://docs.example/a/b?c=d#e").unwrap();
    assert_eq!(page.to_string(), "https://docs.example/a/b?c=d");
    for (named, leads) in [
        ("/x", "https://docs.example/x"),
        ("x?y", "https://docs.example/a/x?y"),
        ("//other.example/x", "https://other.example/x"),
        ("http://other.example", "http://other.example/"),
    ] {
        assert_eq!(page.join(named).unwrap().to_string(), leads, "{named}");
    }
    assert_eq!(Address::parse("http://h:8080?q").unwrap().to_string(), "http://h:8080/?q");
    for wrong in
        ["file:///etc/passwd", "http://h/a b", "http://h/\r\nx: y", "http://u@h/", "h/a", ""]
    {
        assert!(Address::parse(wrong).is_err(), "{wrong:?}");
    }
}
