//! What must hold of the list as a whole.

use sys::raw::Probe;

use crate::processes::{EFFECTS, KILL_EVERYTHING, SLOW_EVERYTHING};
use crate::{Tries, Twin, all, named};

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

/// T19, T75: uncaged they would reach every process of the user.
#[test]
fn what_reaches_everything_happens_on_a_stage_alone() {
    for name in SLOW_EVERYTHING.iter().chain([&KILL_EVERYTHING]) {
        let attack = named(name).expect("the attack");
        assert_eq!(attack.twin, Twin::Namespaces, "{name}");
    }
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
