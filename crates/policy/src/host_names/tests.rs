//! Names in other scripts, and what only looks like one.

use super::{destination, name};
use crate::net::{DestinationError as E, NameError};

/// K234
#[test]
fn names_of_other_scripts_have_one_ascii_form() {
    for (text, normal) in [
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.Example.", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"),
        ("*.bücher.example:443", "*.xn--bcher-kva.example:443"),
        ("**.例え.example:1-80", "**.xn--r8jz45g.example:1-80"),
        ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
        ("straße.example", "xn--strae-oqa.example"),
        ("ｅｘａｍｐｌｅ.com", "example.com"),
        ("_dmarc.bücher.example", "_dmarc.xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("192.0.2.7:80", "192.0.2.7:80"),
    ] {
        let read = destination(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
        assert_eq!(read.to_string(), normal, "`{text}`");
    }
    assert_eq!(
        name("BÜCHER.example.").map(|name| name.to_string()).as_deref(),
        Ok("xn--bcher-kva.example")
    );
    assert_eq!(name("b/ü"), Err(NameError::BadLabel));
}

/// K60, K234, T37
#[test]
fn what_only_looks_like_a_name_is_refused() {
    for (text, expected) in [
        ("１２７.0.0.1", E::NoAsciiForm),
        ("１２７。0。0。1", E::NoAsciiForm),
        ("＊.example.com", E::NoAsciiForm),
        ("xn--ü.example", E::NoAsciiForm),
        ("ex\u{200d}ample.com", E::NoAsciiForm),
        ("a\u{ff0f}b.example", E::NoAsciiForm),
        ("ｌｏｃａｌｈｏｓｔ", E::Localhost),
        ("https://bücher.example", E::Url),
        ("ü@bücher.example", E::UserInfo),
        ("bü cher.example", E::ControlCharacter),
        ("bücher\u{3000}.example", E::ControlCharacter),
        ("*.ü", E::TopLevelWildcard),
        ("bücher..example", E::BadLabel(String::new())),
        ("bücher:gpt-4", E::ProviderModel),
        ("bücher.example:0", E::BadPort("0".to_owned())),
        ("bücher.example:４４３", E::BadPort("４４３".to_owned())),
    ] {
        assert_eq!(destination(text), Err(expected), "`{text}`");
    }
}
