//! What must hold of the list as a whole.

use std::collections::BTreeSet;

use sys::raw::Probe;

use crate::processes::{EFFECTS, KILL_EVERYTHING};
use crate::{Tries, Twin, all, named, sieges};

/// A name is the mark that an attack leaves: two with the same could not be told apart.
#[test]
fn names_are_unique_and_plain() {
    let mut seen = BTreeSet::new();
    let names = all().map(|attack| attack.name).chain(sieges().map(|siege| siege.name));
    for name in names {
        assert!(seen.insert(name), "{name} stands twice");
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(name.bytes().all(plain), "{name}");
        assert!(name.len() <= 48, "{name} is too long for the table");
    }
}

#[test]
fn guards_lie_in_the_project() {
    for attack in all() {
        for guard in attack.guards {
            assert!(!guard.starts_with(b"/"), "{}", attack.name);
            let upward = guard.split(|byte| *byte == b'/').any(|part| part == b"..");
            assert!(!upward, "{}", attack.name);
        }
    }
}

#[test]
fn effects_belong_to_attacks() {
    for (name, _) in EFFECTS {
        assert!(named(name).is_some(), "{name}");
    }
}

/// T19: uncaged it would reach every process of the user.
#[test]
fn killing_everything_happens_on_a_stage_alone() {
    let attack = named(KILL_EVERYTHING).expect("the attack");
    assert_eq!(attack.twin, Twin::Namespaces);
}

/// A call that no attack makes would be a probe for nothing.
#[test]
fn every_probe_is_used_once() {
    let used: Vec<Probe> = all()
        .filter_map(|attack| match attack.tries {
            Tries::Call(probe) => Some(probe),
            Tries::Function(_) => None,
        })
        .collect();
    for probe in Probe::ALL {
        let times = used.iter().filter(|used| *used == probe).count();
        assert_eq!(times, 1, "{}", probe.call_name());
    }
}
