//! Bytes survive their text form.

use proptest::prelude::*;

use super::*;

/// T7
#[test]
fn odd_bytes_have_a_readable_form() {
    for (bytes, text) in [
        (b"plain /text-1".as_slice(), "plain /text-1"),
        (b"back\\slash", "back\\\\slash"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"\x1b[0m", "\\x1b[0m"),
        ("é\n\t".as_bytes(), "é\n\t"),
        ("\u{85}".as_bytes(), "\\xc2\\x85"),
        (b"", ""),
    ] {
        let string = ByteString::from(bytes.to_vec());
        assert_eq!(string.to_string(), text);
        assert_eq!(ByteString::from_escaped(text), Some(string));
    }
    for bad in ["\\", "\\x", "\\x1", "\\xg0", "\\n", "\\X00"] {
        assert_eq!(ByteString::from_escaped(bad), None, "{bad}");
    }
}

proptest! {
    /// T7
    #[test]
    fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let string = ByteString::from(bytes);
        let json = serde_json::to_string(&string).unwrap();
        prop_assert_eq!(serde_json::from_str::<ByteString>(&json).unwrap(), string.clone());
        prop_assert_eq!(ByteString::from_escaped(&string.to_string()), Some(string));
    }
}
