//! Properties of the map: what it gives out is told apart, and leads back.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn name(number: usize) -> Name {
    Name::parse(&format!("host-{number}.example.com")).unwrap()
}

/// T42: the two orders are permutations, whatever the seed; a part of each is looked at.
#[test]
fn orders_never_repeat() {
    for seed in [0, 1, u64::MAX, 0x8000_0000_0000_0000, 0x1234_5678_9abc_def0] {
        let v4: BTreeSet<u32> = (0..=MASK_17_BITS).map(|i| permuted_17_bits(i, seed)).collect();
        assert_eq!(v4.len(), 1 << 17);
        assert_eq!(v4.last(), Some(&MASK_17_BITS));
        let v6: BTreeSet<u64> = (0..20_000).map(|i| permuted_64_bits(i, seed)).collect();
        assert_eq!(v6.len(), 20_000);
    }
}

/// A full map holds as many names as it says and refuses the next; those it has stay.
#[test]
fn a_full_map_refuses_and_keeps() {
    let mut map = SyntheticMap::new(42);
    assert!(map.is_empty());
    let pairs: Vec<SyntheticPair> = (0..MAX_NAMES).map(|i| map.assign(&name(i)).unwrap()).collect();
    assert_eq!(map.len(), MAX_NAMES);
    assert_eq!(map.assign(&name(MAX_NAMES)), Err(MapFull));
    assert_eq!(map.pair_of(&name(MAX_NAMES)), None);
    for (i, pair) in pairs.into_iter().enumerate() {
        assert_eq!(map.assign(&name(i)), Ok(pair));
        assert_eq!(map.name_of(IpAddr::V4(pair.v4)), Some(&name(i)));
        assert_eq!(map.name_of(IpAddr::V6(pair.v6)), Some(&name(i)));
    }
    let v4: BTreeSet<_> = map.by_v4.keys().collect();
    let v6: BTreeSet<_> = map.by_v6.keys().collect();
    assert_eq!((v4.len(), v6.len()), (MAX_NAMES, MAX_NAMES));
}

/// Two cages give different addresses to the same name.
#[test]
fn seeds_make_different_maps() {
    let firsts: BTreeSet<_> = (0..64)
        .map(|seed| SyntheticMap::new(seed << 32 | seed).assign(&name(0)).unwrap().v4)
        .collect();
    assert!(firsts.len() > 32, "{firsts:?}");
}

/// An address in the range that was given to nobody stands for nothing; a mapped form is the same
/// address.
#[test]
fn only_given_addresses_lead_back() {
    let mut map = SyntheticMap::new(7);
    let pair = map.assign(&name(1)).unwrap();
    assert_eq!(map.name_of(IpAddr::V6(pair.v4.to_ipv6_mapped())), Some(&name(1)));
    let other = Ipv4Addr::from_bits(pair.v4.to_bits() ^ 2);
    assert_eq!(map.name_of(IpAddr::V4(other)), None);
    for outside in ["198.17.255.255", "198.20.0.0", "100:0:0:1::", "ff::", "127.0.0.1"] {
        assert!(!is_synthetic(outside.parse().unwrap()), "{outside}");
    }
}

proptest! {
    /// Whatever the seed and the order of questions, name and addresses are one to one, stay, and lie
    /// in their ranges.
    #[test]
    fn names_and_addresses_are_one_to_one(seed: u64, asked in prop::collection::vec(0usize..40, 1..120)) {
        let mut map = SyntheticMap::new(seed);
        let mut seen: BTreeMap<usize, SyntheticPair> = BTreeMap::new();
        for number in asked {
            let pair = map.assign(&name(number)).unwrap();
            prop_assert_eq!(*seen.entry(number).or_insert(pair), pair);
            prop_assert!(is_synthetic(IpAddr::V4(pair.v4)) && is_synthetic(IpAddr::V6(pair.v6)));
            prop_assert!(!matches!(pair.v4.octets(), [.., 0 | 255]));
        }
        let v4: BTreeSet<_> = seen.values().map(|pair| pair.v4).collect();
        let v6: BTreeSet<_> = seen.values().map(|pair| pair.v6).collect();
        prop_assert_eq!((v4.len(), v6.len(), map.len()), (seen.len(), seen.len(), seen.len()));
        for (number, pair) in seen {
            prop_assert_eq!(map.name_of(IpAddr::V4(pair.v4)), Some(&name(number)));
            prop_assert_eq!(map.name_of(IpAddr::V6(pair.v6)), Some(&name(number)));
        }
    }
}
