//! Moments as a person names them: which words are read, and which are refused.

use super::*;

#[test]
fn moments_are_dates_or_ages() {
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
        ("1.5h", None),
        ("10 m", None),
        ("yesterday", None),
        ("99999999999999999999s", None),
        ("10\u{fc}", None),
    ] {
        let expected = expected.map(|text| Timestamp::parse(text).unwrap());
        assert_eq!(read(word, now), expected, "{word}");
    }
}
