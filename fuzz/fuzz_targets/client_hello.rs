//! Any bytes as the first ones of a TLS client, raw and inside of records: read to an answer, never a
//! panic, and to the same answer however they are split.
#![no_main]

use gate::inspect::client_hello::{ClientHelloReader, Hello, MAX_HELLO};
use gate::inspect::{Classifier, FirstBytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [split, size, bytes @ ..] = data else { return };
    try_bytes(bytes, usize::from(*split));
    let size = usize::from(*size).max(1);
    let framed: Vec<u8> = bytes
        .chunks(size)
        .flat_map(|part| [&[22, 3, 1, 0, part.len() as u8], part].concat())
        .collect();
    try_bytes(&framed, usize::from(*split));
});

fn try_bytes(bytes: &[u8], split: usize) {
    let whole = ClientHelloReader::new().feed(bytes);
    let split = split.min(bytes.len());
    let mut reader = ClientHelloReader::new();
    let early = reader.feed(&bytes[..split]);
    assert_eq!(reader.feed(&bytes[split..]), whole);
    assert!(early == Hello::NeedMore || early == whole);
    let mut single = ClientHelloReader::new();
    let last = bytes.iter().fold(Hello::NeedMore, |_, byte| single.feed(&[*byte]));
    assert_eq!(last, whole);
    assert!(whole != Hello::NeedMore || bytes.len() <= MAX_HELLO);
    if matches!(whole, Hello::Sni(_) | Hello::NoSni) {
        assert_eq!(Classifier::new().feed(bytes), FirstBytes::Tls);
    }
}
