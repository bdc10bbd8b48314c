//! Any bytes as an index of Git, which a caged program can write: read to an answer, never a panic, and
//! never more entries or longer paths than the bytes could hold.
#![no_main]

use resolve::protected_names::git_index::{Extent, Kind, ObjectNames, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for (names, hash_bytes) in [(ObjectNames::Sha1, 20), (ObjectNames::Sha256, 32)] {
        let framed = framed(data, hash_bytes);
        try_index(data, names);
        try_index(&framed, names);
    }
});

fn try_index(bytes: &[u8], names: ObjectNames) {
    let (mut entries, mut unnamed, mut directories) = (0_usize, false, false);
    let extent = read(bytes, names, |path, kind, _| {
        assert!(path.len() <= 4096 && !path.contains(&0));
        entries += 1;
        unnamed |= path.is_empty();
        directories |= kind == Kind::Directory;
    });
    assert!(entries <= bytes.len() / 63);
    assert!(!unnamed || extent.is_err() || extent == Ok(Extent::Split));
    // The same bytes are always the same index.
    assert_eq!(read(bytes, names, |_, _, _| {}), extent);
}

/// The bytes as entries behind a head that promises some, so that what is behind it is reached.
fn framed(data: &[u8], hash_bytes: usize) -> Vec<u8> {
    let version = data.first().map_or(2, |first| 2 + u32::from(first % 3));
    let count = data.get(1).map_or(0, |second| u32::from(second % 8));
    let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes(), &count.to_be_bytes()].concat();
    bytes.extend(data.get(2..).unwrap_or_default());
    bytes.extend(vec![0; hash_bytes]);
    bytes
}
