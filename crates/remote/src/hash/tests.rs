//! Hashes and digits, against published examples.

use super::{base64, from_base64, from_hex, hex, hmac, sha256};

#[test]
fn keyed_hashes_and_digits() {
    // RFC 4231, case 2.
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), expected);
    assert_eq!(from_hex(&hex(&sha256(b"x"))), Some(sha256(b"x")));
    assert_eq!(from_hex("zz"), None);
    for (bytes, text) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
    {
        assert_eq!(base64(bytes.as_bytes()), text);
        assert_eq!(from_base64(text).unwrap(), bytes.as_bytes());
    }
}
