//! Steps that repeat themselves, and some that only look so.

use super::{Advice, Stuck};

fn advice(steps: &[&str]) -> Vec<Advice> {
    let mut stuck = Stuck::default();
    steps.iter().map(|step| stuck.step(step, "same")).collect()
}

#[test]
fn the_same_again_and_again_is_noticed() {
    let (go, tell, end) = (Advice::GoOn, Advice::Tell, Advice::End);
    assert_eq!(advice(&["a"; 7]), [go, go, tell, tell, tell, end, end]);
    assert_eq!(advice(&["a", "b"].repeat(3)), [go, go, go, go, go, tell]);
    assert_eq!(advice(&["a", "b"].repeat(6)).last(), Some(&end));
    assert_eq!(advice(&["a", "a", "b", "a", "a", "c", "a", "a"]).last(), Some(&go));
    let mut stuck = Stuck::default();
    assert!((0..20).all(|number| stuck.step("wait", &number.to_string()) == go));
}
