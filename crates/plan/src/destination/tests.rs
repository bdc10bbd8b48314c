//! Tables of entries: what is taken and how it is written, what is refused and why, and how two
//! entries relate.

use std::num::NonZeroU16;

use super::{Destination, DestinationError};

fn parse(text: &str) -> Result<Destination, DestinationError> {
    text.parse()
}

/// K19, K90, K91, K92, K234
#[test]
fn entries_have_one_normal_form() {
    for (text, normal) in [
        ("example.com", "example.com"),
        ("EXAMPLE.Com.", "example.com"),
        ("example.com:443", "example.com:443"),
        ("example.com.:443", "example.com:443"),
        ("example.com:1-65535", "example.com"),
        ("example.com:443-443", "example.com:443"),
        ("example.com:8000-8080", "example.com:8000-8080"),
        ("*.Example.com", "*.example.com"),
        ("**.example.com:443", "**.example.com:443"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("registry", "registry"),
        ("db_1.internal", "db_1.internal"),
        ("10.0.0.1.nip.example", "10.0.0.1.nip.example"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:80", "192.0.2.7:80"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/8:5432", "10.0.0.0/8:5432"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("[2001:db8::/32]:1-80", "[2001:db8::/32]:1-80"),
        ("::/0", "::/0"),
    ] {
        let parsed = parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
        assert_eq!(parsed.to_string(), normal, "`{text}`");
        assert_eq!(parse(normal).as_ref(), Ok(&parsed), "`{normal}` reads as itself");
    }
}

/// K60, K61, K234, T37, T38
#[test]
fn what_is_no_entry_is_refused_with_its_reason() {
    use DestinationError as E;
    let text = |text: &str| text.to_owned();
    for (entry, expected) in [
        ("", E::Empty),
        (":443", E::Empty),
        ("*", E::EveryHost),
        ("**", E::EveryHost),
        ("*:443", E::EveryHost),
        ("*.com", E::TopLevelWildcard),
        ("**.com:443", E::TopLevelWildcard),
        ("a.*.example.com", E::MisplacedWildcard),
        ("*a.example.com", E::MisplacedWildcard),
        ("***.example.com", E::MisplacedWildcard),
        ("localhost", E::Localhost),
        ("LocalHost.:80", E::Localhost),
        ("a.localhost", E::Localhost),
        ("*.localhost", E::Localhost),
        ("localhost.localdomain", E::Localhost),
        ("https://example.com", E::Url),
        ("example.com/path", E::Url),
        ("example.com?x", E::Url),
        ("user@example.com", E::UserInfo),
        ("openai:gpt-4", E::ProviderModel),
        ("anthropic:claude", E::ProviderModel),
        ("exam\0ple.com", E::ControlCharacter),
        ("example.com\n", E::ControlCharacter),
        ("a b", E::ControlCharacter),
        ("bücher.example", E::NotAscii),
        ("example..com", E::BadLabel(text(""))),
        ("example.com..", E::BadLabel(text(""))),
        ("-a.example", E::BadLabel(text("-a"))),
        ("a,b.example", E::BadLabel(text("a,b"))),
        ("127.1", E::NonCanonicalAddress),
        ("010.0.0.1", E::NonCanonicalAddress),
        ("0x7f.0.0.1", E::NonCanonicalAddress),
        ("2130706433", E::NonCanonicalAddress),
        ("0X7F000001", E::NonCanonicalAddress),
        ("256.0.0.1", E::NonCanonicalAddress),
        ("1.2.3.4.5", E::BadAddress(text("1.2.3.4.5"))),
        ("1.2.3.4.", E::BadAddress(text("1.2.3.4."))),
        ("1.2.3.4x", E::BadAddress(text("1.2.3.4x"))),
        ("1.2.3.4-5", E::BadAddress(text("1.2.3.4-5"))),
        ("2001:db8::1x", E::BadAddress(text("2001:db8::1x"))),
        ("[2001:db8::1", E::BadAddress(text("[2001:db8::1"))),
        ("[2001:db8::1]x", E::BadAddress(text("[2001:db8::1]x"))),
        ("[example.com]:1", E::BadAddress(text("[example.com]:1"))),
        ("10.0.0.1/8", E::HostBits { meant: text("10.0.0.0/8") }),
        ("10.0.0.0/33", E::BadPrefix(text("33"))),
        ("10.0.0.0/08", E::BadPrefix(text("08"))),
        ("10.0.0.0/", E::BadPrefix(text(""))),
        ("10.0.0.0/8x", E::BadPrefix(text("8x"))),
        ("::ffff:10.0.0.1", E::MappedAddress { meant: text("10.0.0.1") }),
        ("fe80::1%eth0", E::Zone),
        ("example.com:0", E::BadPort(text("0"))),
        ("example.com:65536", E::BadPort(text("65536"))),
        ("example.com:", E::BadPort(text(""))),
        ("example.com:080", E::BadPort(text("080"))),
        ("example.com:90-80", E::BadPort(text("90-80"))),
        ("1.2.3.4:80x", E::BadPort(text("80x"))),
    ] {
        assert_eq!(parse(entry), Err(expected), "`{entry}`");
    }
    assert_eq!(parse(&"a.".repeat(150)), Err(E::NameTooLong));
    assert_eq!(parse(&"a".repeat(64)), Err(E::BadLabel("a".repeat(64))));
}

/// K90, K91, K92
#[test]
fn covering_follows_labels_prefixes_and_ports() {
    for (wide, narrow, expected) in [
        ("example.com", "example.com", true),
        ("example.com", "www.example.com", false),
        ("example.com", "example.com:443", true),
        ("example.com:443", "example.com", false),
        ("example.com:1-1024", "example.com:443", true),
        ("example.com:1-1024", "example.com:443-2000", false),
        ("*.example.com", "www.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "a.b.example.com", false),
        ("*.example.com", "**.example.com", false),
        ("**.example.com", "*.example.com", true),
        ("**.example.com", "example.com", false),
        ("**.example.com", "a.b.example.com", true),
        ("**.example.com", "**.b.example.com", true),
        ("**.example.com", "badexample.com", false),
        ("**.example.com", "*.badexample.com", false),
        ("10.0.0.0/8", "10.1.0.0/16", true),
        ("10.1.0.0/16", "10.0.0.0/8", false),
        ("10.0.0.0/8", "10.9.9.9:22", true),
        ("10.0.0.0/8", "2001:db8::1", false),
        ("::/0", "10.0.0.1", false),
        ("10.0.0.0/8", "example.com", false),
        ("**.example.com", "10.0.0.1", false),
    ] {
        let (wide_entry, narrow_entry) = (parse(wide).unwrap(), parse(narrow).unwrap());
        assert_eq!(wide_entry.covers(&narrow_entry), expected, "`{wide}` and `{narrow}`");
    }
}

/// T42: a name can resolve to any address, so a denied network always concerns it.
#[test]
fn overlap_errs_towards_yes() {
    for (left, right, expected) in [
        ("example.com", "other.example", false),
        ("*.example.com", "**.a.example.com", false),
        ("*.b.example.com", "**.example.com", true),
        ("example.com:80", "example.com:443", false),
        ("10.0.0.0/8", "10.1.0.0/16", true),
        ("10.0.0.0/8", "192.0.2.0/24", false),
        ("10.0.0.0/8", "example.com", true),
    ] {
        let (one, other) = (parse(left).unwrap(), parse(right).unwrap());
        assert_eq!(one.may_overlap(&other), expected, "`{left}` and `{right}`");
        assert_eq!(other.may_overlap(&one), expected, "`{right}` and `{left}`");
    }
}

/// M49: every name can be held as data and by nobody's text; it covers names and no address.
#[test]
fn every_name_is_no_text_and_covers_no_address() {
    let every = Destination::every_name();
    let on_443 = every.on_port(NonZeroU16::new(443).unwrap());
    for (entry, text) in [(&every, "**"), (&on_443, "**:443")] {
        assert_eq!(entry.to_string(), text);
        assert!(parse(text).is_err(), "{text}");
        let held: Destination = serde_json::from_value(serde_json::json!(text)).unwrap();
        assert_eq!(held, *entry);
    }
    for text in ["**:", "**:0", "**x", "***", "**:443:1"] {
        assert!(Destination::try_from(text.to_owned()).is_err(), "{text}");
    }
    for name in ["example.com", "*.example.com", "**.example.com:443", "intern"] {
        assert!(every.covers(&parse(name).unwrap()), "{name}");
        assert!(!parse(name).unwrap().covers(&every), "{name}");
        assert!(every.may_overlap(&parse(name).unwrap()), "{name}");
    }
    assert!(!on_443.covers(&parse("example.com").unwrap()));
    assert!(on_443.covers(&parse("example.com:443").unwrap()));
    for address in ["10.0.0.1", "::/0", "0.0.0.0/0"] {
        assert!(!every.covers(&parse(address).unwrap()), "{address}");
        assert!(every.may_overlap(&parse(address).unwrap()), "{address}");
    }
    assert!(!every.covers_address("192.0.2.1".parse().unwrap(), 443));
    assert!(!every.is_every_address());
}

#[test]
fn two_entries_meet_where_both_hold() {
    for (one, other, expected) in [
        ("example.com", "example.com:443", Some("example.com:443")),
        ("example.com:1-100", "example.com:80-200", Some("example.com:80-100")),
        ("example.com:80", "example.com:443", None),
        ("**.example.com:443", "a.example.com", Some("a.example.com:443")),
        ("*.example.com", "**.example.com:22", Some("*.example.com:22")),
        ("*.example.com", "example.com", None),
        ("10.0.0.0/8", "10.1.0.0/16:22", Some("10.1.0.0/16:22")),
        ("10.0.0.0/8", "example.com", None),
    ] {
        let (left, right) = (parse(one).unwrap(), parse(other).unwrap());
        let expected = expected.map(|text| parse(text).unwrap());
        assert_eq!(left.meet(&right), expected, "`{one}` and `{other}`");
        assert_eq!(right.meet(&left), expected, "`{other}` and `{one}`");
    }
}
