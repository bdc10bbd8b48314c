//! What must hold of all attacks and scenarios together.

use std::collections::BTreeSet;

use super::scenarios;

/// A name is the mark that an attack leaves: two with the same could not be told apart.
#[test]
fn names_are_unique_and_plain() {
    let mut seen = BTreeSet::new();
    let names =
        attacks::all().map(|attack| attack.name).chain(scenarios().map(|scenario| scenario.name));
    for name in names {
        assert!(seen.insert(name), "{name} stands twice");
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(name.bytes().all(plain), "{name}");
        assert!(name.len() <= 48, "{name} is too long for the table");
    }
}
