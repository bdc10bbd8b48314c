//! A made-up loader cache, whole and damaged. Never reads the host's.

use super::*;

/// A cache with these entries: flags, name, path.
fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut strings = Vec::new();
    let strings_at = HEADER_BYTES + ENTRY_BYTES * entries.len();
    for (flags, name, path) in entries {
        let mut place = |text: &str| {
            let at = u32::try_from(strings_at + strings.len()).unwrap();
            strings.extend(text.as_bytes());
            strings.push(0);
            at
        };
        let (name, path) = (place(name), place(path));
        for value in [*flags, name, path, 0, 0, 0] {
            table.extend(value.to_ne_bytes());
        }
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(u32::try_from(entries.len()).unwrap().to_ne_bytes());
    bytes.resize(HEADER_BYTES, 0);
    bytes.extend(table);
    bytes.extend(strings);
    bytes
}

const ENTRIES: [(u32, &str, &str); 4] = [
    (0x0303, "libz.so.1", "/usr/lib/best/libz.so.1"),
    (0x0303, "libz.so.1", "/usr/lib/libz.so.1"),
    (0x0001, "libz.so.1", "/ancient/libz.so.1"),
    (0x0303, "libc.so.6", "/usr/lib/libc.so.6"),
];

fn paths(bytes: Vec<u8>, name: &str) -> Vec<String> {
    let cache = LibraryCache::new(bytes);
    let paths = cache.paths(name.as_bytes());
    paths.map(|path| String::from_utf8(path.to_vec()).unwrap()).collect()
}

#[test]
fn a_name_gives_its_paths_in_order() {
    let both = ["/usr/lib/best/libz.so.1", "/usr/lib/libz.so.1"];
    assert_eq!(paths(cache(&ENTRIES), "libz.so.1"), both);
    assert_eq!(paths(cache(&ENTRIES), "libc.so.6"), ["/usr/lib/libc.so.6"]);
    assert!(paths(cache(&ENTRIES), "libz.so").is_empty());
}

#[test]
fn the_new_list_is_found_behind_the_old_one() {
    let mut bytes = OLD_MAGIC.to_vec();
    bytes.resize(64, 0);
    bytes.extend(cache(&ENTRIES));
    assert_eq!(paths(bytes, "libc.so.6"), ["/usr/lib/libc.so.6"]);
}

#[test]
fn a_damaged_cache_is_an_empty_one_at_worst() {
    let whole = cache(&ENTRIES);
    assert!(paths(Vec::new(), "libc.so.6").is_empty());
    assert!(paths(b"something else".to_vec(), "libc.so.6").is_empty());
    for length in 0..whole.len() {
        let _ = paths(whole[..length].to_vec(), "libc.so.6");
    }
    let mut huge = whole;
    huge[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
    assert_eq!(paths(huge, "libc.so.6"), ["/usr/lib/libc.so.6"]);
}
