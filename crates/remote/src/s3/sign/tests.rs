//! Signatures, against published examples.

use super::{Signer, Subject, base64, from_base64, hex, hmac};

/// A13: the example of the documentation of signatures.
#[test]
fn signs_as_the_documentation_does() {
    let signer = Signer {
        key_id: "AKIAIOSFODNN7EXAMPLE".into(),
        key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
        token: None,
        region: "us-east-1".into(),
    };
    let subject = Subject {
        method: "GET",
        host: "examplebucket.s3.amazonaws.com",
        path: "/test.txt",
        query: "",
    };
    let headers = [("range", "bytes=0-9".to_owned())];
    let signed = signer.sign(&subject, &headers, b"", 1_369_353_600);
    let authorization = &signed.iter().find(|(name, _)| *name == "authorization").unwrap().1;
    let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    assert!(authorization.ends_with(expected), "{authorization}");
}

#[test]
fn keyed_hashes_and_digits() {
    // RFC 4231, case 2.
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), expected);
    for (bytes, text) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
    {
        assert_eq!(base64(bytes.as_bytes()), text);
        assert_eq!(from_base64(text).unwrap(), bytes.as_bytes());
    }
}
