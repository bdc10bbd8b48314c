//! Texts: safe whatever came in, and exactly what it was.

use proptest::prelude::*;

use super::*;

/// T52
#[test]
fn what_is_not_plain_is_escaped() {
    for (bytes, expected) in [
        (&b"plain text"[..], "plain text"),
        (b"a\nb\r\t", "a\\x0ab\\x0d\\x09"),
        (b"\x1b[31m\x7f", "\\x1b[31m\\x7f"),
        (b"C:\\x", "C:\\\\x"),
        ("\u{fc}\u{202e}\u{1f600}".as_bytes(), "\\u{fc}\\u{202e}\\u{1f600}"),
        (b"\xff\xc3", "\\xff\\xc3"),
        (b"\"},{\"seq\":1", "\"},{\"seq\":1"),
    ] {
        let text = Text::of(bytes);
        assert_eq!(text.as_str(), expected);
        assert_eq!(text.unescape(), Unescaped { bytes: bytes.to_vec(), omitted: 0 });
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let long = Bounded::<8>::of(b"0123456789");
    assert_eq!(long.as_str(), "01234567\\+2");
    assert_eq!(long.unescape(), Unescaped { bytes: b"01234567".to_vec(), omitted: 2 });
    let escaped = Bounded::<8>::of("123456\u{fc}".as_bytes());
    assert_eq!(escaped.as_str(), "123456\\+2");
}

#[test]
fn only_what_is_written_is_read() {
    for text in ["\\", "\\q", "\\x1", "\\u{110000}", "\\u{", "\\+x", "\n", "\u{fc}"] {
        let json = serde_json::to_string(text).unwrap();
        assert!(serde_json::from_str::<Text>(&json).is_err(), "{text:?}");
    }
    let long = format!("\"{}\"", "a".repeat(200));
    assert!(serde_json::from_str::<Name>(&long).is_err());
}

proptest! {
    /// T52
    #[test]
    fn bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = Bounded::<64>::of(&bytes);
        prop_assert!(text.as_str().bytes().all(|byte| matches!(byte, b' '..=b'~')));
        prop_assert!(text.as_str().len() <= 64 + LONGEST_MARK);
        let back = text.unescape();
        prop_assert!(bytes.starts_with(&back.bytes));
        prop_assert_eq!(back.bytes.len() as u64 + back.omitted, bytes.len() as u64);
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Bounded<64>>(&json).unwrap(), text);
    }

    #[test]
    fn characters_come_back(text in "\\PC{0,40}") {
        let bounded = LongText::from(text.as_str());
        let expected = Unescaped { bytes: text.into_bytes(), omitted: 0 };
        prop_assert_eq!(bounded.unescape(), expected);
    }
}
