//! Which connections without a token wait, who is sent away and who is let in.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};

use super::*;

fn is_sent_away(caller: &Caller) -> bool {
    let future = pin!(caller.is_sent_away());
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn the_longest_standing_makes_room() {
    let unauthenticated = Unauthenticated::new(2);
    let (first, second) = (unauthenticated.take(), unauthenticated.take());
    assert!(!is_sent_away(&first));
    let third = unauthenticated.take();
    assert!(is_sent_away(&first));
    assert!(!is_sent_away(&second) && !is_sent_away(&third));
}

#[test]
fn who_is_gone_or_let_in_is_not_counted_and_not_sent_away() {
    let (unauthenticated, admission) = (Unauthenticated::new(1), Admission::new(8, 8));
    drop(unauthenticated.take());
    let inside = unauthenticated.take();
    inside.enter(&admission).unwrap();
    inside.enter(&admission).unwrap();
    assert_eq!(admission.count(), 1);
    let (outside, newcomer) = (unauthenticated.take(), unauthenticated.take());
    assert!(!is_sent_away(&inside));
    assert!(outside.enter(&admission).is_err());
    assert!(is_sent_away(&outside));
    assert!(!is_sent_away(&newcomer));
    drop(inside);
    assert_eq!(admission.count(), 0);
}

#[test]
fn who_finds_no_place_inside_stays_outside() {
    let (unauthenticated, admission) = (Unauthenticated::new(1), Admission::new(1, 1));
    let _only = admission.admit(Origin::Network).unwrap();
    let caller = unauthenticated.take();
    assert_eq!(caller.enter(&admission).unwrap_err(), Crowded::All(1));
    drop(unauthenticated.take());
    assert!(is_sent_away(&caller));
}
