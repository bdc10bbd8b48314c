//! Times: the known ones, and all the way there and back.

use proptest::prelude::*;

use super::*;

#[test]
fn known_moments_are_written_and_read() {
    for (microseconds, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
        (1_709_251_199_999_999, "2024-02-29T23:59:59.999999Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (END - 1, "9999-12-31T23:59:59.999999Z"),
    ] {
        let time = Timestamp::from_microseconds(microseconds).unwrap();
        assert_eq!(time.to_string(), text);
        assert_eq!(Timestamp::parse_canonical(text), Some(time));
    }
    assert_eq!(Timestamp::from_microseconds(END), None);
}

#[test]
fn shorter_forms_are_read() {
    let whole = Timestamp::parse("2026-01-31T10:20:00.000000Z").unwrap();
    for text in ["2026-01-31T10:20", "2026-01-31T10:20Z", "2026-01-31T10:20:00.0"] {
        assert_eq!(Timestamp::parse(text), Some(whole), "{text}");
        assert_eq!(Timestamp::parse_canonical(text), None, "{text}");
    }
    assert!(Timestamp::parse("2026-01-31").unwrap() < whole);
}

#[test]
fn nonsense_is_refused() {
    for text in [
        "",
        "2026",
        "2026-1-31",
        "2026-02-29",
        "1900-01-01",
        "2026-13-01",
        "2026-01-31T24:00",
        "2026-01-31T10:60",
        "2026-01-31T10:20:60",
        "+026-01-31",
        "2026-01-31T10:20:30.1234567",
        "2026-01-31 10:20",
        "2026-01-31T10:20:30+01:00",
        "2026-01-31T",
        "9999-12-32",
    ] {
        assert_eq!(Timestamp::parse(text), None, "{text}");
    }
}

#[test]
fn named_moments_are_dates_or_ages() {
    let now = Timestamp::parse("2026-01-31T10:00:00").unwrap();
    for (word, expected) in [
        ("90s", Some("2026-01-31T09:58:30")),
        ("10m", Some("2026-01-31T09:50")),
        ("2h", Some("2026-01-31T08:00")),
        ("31d", Some("2025-12-31T10:00")),
        ("999999d", Some("1970-01-01")),
        ("2026-01-31", Some("2026-01-31")),
        ("", None),
        ("d", None),
        ("1w", None),
        ("-1d", None),
        ("+1d", None),
        ("1.5h", None),
        ("10 m", None),
        ("yesterday", None),
        ("99999999999999999999s", None),
        ("10\u{fc}", None),
    ] {
        let expected = expected.map(|text| Timestamp::parse(text).unwrap());
        assert_eq!(Timestamp::named(word, now), expected, "{word}");
    }
}

proptest! {
    #[test]
    fn every_moment_comes_back(microseconds in 0..END) {
        let time = Timestamp::from_microseconds(microseconds).unwrap();
        let text = time.to_string();
        prop_assert_eq!(text.len(), 27);
        prop_assert_eq!(Timestamp::parse_canonical(&text), Some(time));
    }
}
