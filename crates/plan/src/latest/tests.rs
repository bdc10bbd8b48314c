//! What is kept, and what has to go.

use super::*;

fn weights(latest: &Latest<usize>) -> Vec<usize> {
    latest.first.iter().chain(&latest.others).map(|one| one.weight).collect()
}

#[test]
fn the_latest_are_kept() {
    let mut latest = Latest::default();
    for number in 0..2 * MOST {
        assert_eq!(latest.put(1, number), Ok(&mut { number }));
    }
    assert_eq!(latest.take(|number| *number == 0), None, "it was among the first to go");
    let old = MOST + 1;
    assert_eq!(latest.take(|number| *number == old), Some(old));
    assert_eq!(latest.take(|number| *number == old), None);
    assert_eq!(weights(&latest).len(), MOST - 1);
}

/// Heavy ones do not make it heavy, and light ones are kept beside them.
#[test]
fn there_is_a_bound() {
    let mut latest = Latest::default();
    let heavy = MOST_WEIGHT / 5 * 2;
    for number in 0..5 {
        for weight in [heavy, 1] {
            latest.put(weight, number).unwrap();
            assert!(weights(&latest).iter().sum::<usize>() <= MOST_WEIGHT);
        }
    }
    assert_eq!(weights(&latest), [1, heavy, 1, heavy]);
    assert_eq!(latest.put(MOST_WEIGHT + 1, 9), Err(9));
    assert_eq!(weights(&latest).len(), 4, "one that is too heavy takes nobody's place");
}
