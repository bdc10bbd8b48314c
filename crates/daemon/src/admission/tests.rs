//! Room for all, room for one, and room again.

use super::{Admission, Crowded};
use crate::peer::Origin;

/// T52
#[test]
fn one_peer_cannot_take_all_places() {
    let admission = Admission::new(3, 2);
    let (one, other) = (Origin::User(1), Origin::User(2));
    let first = admission.admit(one).unwrap();
    let _second = admission.admit(one).unwrap();
    assert_eq!(admission.admit(one).unwrap_err(), Crowded::One(2));
    let _third = admission.admit(other).unwrap();
    assert_eq!(admission.admit(other).unwrap_err(), Crowded::All(3));
    drop(first);
    assert_eq!(admission.count(), 2);
    assert!(admission.admit(one).is_ok());
}
