//! Tests of the names of starts.

use std::collections::BTreeSet;

use super::Name;

/// K23
#[test]
fn is_a_ulid() {
    let table = [
        (0, [0; 10], "00000000000000000000000000"),
        ((1 << 48) - 1, [0xff; 10], "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        // The time of the specification's own example.
        (1_469_918_176_385, [0; 10], "01ARYZ6S410000000000000000"),
        (0, [0, 0, 0, 0, 0, 0, 0, 0, 0, 33], "00000000000000000000000011"),
    ];
    for (time, random, expected) in table {
        assert_eq!(Name::of(time, random).text, expected);
    }
}

/// K23, K237
#[test]
fn differs_from_start_to_start() {
    let names: BTreeSet<String> = (0..1000).map(|_| Name::new().unwrap().text).collect();
    assert_eq!(names.len(), 1000);
}

/// K45, T64
#[test]
fn ids_of_roots_cages_belong_to_nobody() {
    for random in [[0; 10], [0xff; 10], [7; 10]] {
        let ids = Name::of(0, random).unowned;
        assert!((1_900_000_000..2_000_000_000).contains(&ids.uid));
        assert_eq!(ids.uid, ids.gid);
    }
}
