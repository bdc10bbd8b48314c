//! What is kept of cages that have ended stays within its bounds.

use super::{Kept, MOST_ENDED, MOST_ENDED_BYTES};

fn with(bytes: &[u64]) -> Kept {
    let mut kept = Kept::default();
    for (number, bytes) in (0..).zip(bytes) {
        kept.take_note(number, *bytes);
    }
    kept
}

#[test]
fn bytes_are_counted_as_cages_come_and_go() {
    let mut kept = with(&[MOST_ENDED_BYTES - 10, 10]);
    assert!(!kept.keeps_too_much());
    kept.take_note(2, 1);
    assert!(kept.keeps_too_much());
    kept.forget(0);
    assert!(!kept.keeps_too_much());
    assert_eq!(kept.ended_bytes, 11);
    kept.take_note(2, 5);
    assert_eq!(kept.ended_bytes, 15, "one that is noted again counts once");
    kept.forget(7);
    assert_eq!(kept.ended_bytes, 15, "one that is not there counts for nothing");
}

#[test]
fn the_last_one_is_kept_whatever_it_has() {
    assert!(!with(&[MOST_ENDED_BYTES + 1]).keeps_too_much());
    assert!(with(&[0, MOST_ENDED_BYTES + 1]).keeps_too_much());
}

#[test]
fn the_number_of_them_is_bounded_as_well() {
    assert!(!with(&vec![0; MOST_ENDED]).keeps_too_much());
    assert!(with(&vec![0; MOST_ENDED + 1]).keeps_too_much());
}
