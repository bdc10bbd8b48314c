//! Signatures, against published examples.

use super::{Signer, Subject};

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
    let signed = signer.sign(
        &subject,
        &headers.map(|(name, value)| (name.into(), value)).to_vec(),
        b"",
        1_369_353_600,
    );
    let authorization = &signed.iter().find(|(name, _)| *name == "authorization").unwrap().1;
    let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    assert!(authorization.ends_with(expected), "{authorization}");
}
