//! Order, completeness, and that nobody is left behind. Forks nothing.

use super::super::fixture::runs_alone;
use super::*;

#[test]
fn results_are_in_the_order_of_the_items() {
    for count in [0, 1, ENOUGH - 1, ENOUGH, ENOUGH + 1, 1001] {
        let items: Vec<usize> = (0..count).collect();
        let expected: Vec<String> = (0..count).map(|item| (item * 2).to_string()).collect();
        let done = in_two_steps(&items, |item| item * 2, |doubled| doubled.to_string());
        assert_eq!(done, expected, "{count}");
    }
}

#[test]
fn a_panic_in_either_step_is_passed_on() {
    let items: Vec<usize> = (0..ENOUGH).collect();
    for bad in [0, ENOUGH - 1] {
        let panics = |item: usize| assert_ne!(item, bad);
        let first = std::panic::catch_unwind(|| in_two_steps(&items, |item| panics(*item), drop));
        let second = std::panic::catch_unwind(|| in_two_steps(&items, |item| *item, panics));
        assert!(first.is_err() && second.is_err());
    }
}

/// Whoever bears a cage next has a single thread.
#[test]
fn no_thread_is_left_behind() {
    if !runs_alone("resolve::two_steps::tests::no_thread_is_left_behind") {
        return;
    }
    // The harness has one, and this test another.
    let before = sys::clone::thread_count().unwrap();
    let items: Vec<usize> = (0..ENOUGH).collect();
    for _ in 0..500 {
        in_two_steps(&items, |item| *item, |item| item);
        await_thread_count(before);
        assert_eq!(sys::clone::thread_count().unwrap(), before);
    }
}
