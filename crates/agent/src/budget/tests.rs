//! Budgets, by table.

use std::time::Duration;

use model::{Cost, Prices, Usage};

use super::{Budgets, Exhausted, Spent};

#[test]
fn each_budget_ends_a_task() {
    let price = Cost(1_000_000);
    let prices = Prices { input: price, cached: price, cache_written: price, output: price };
    let mut spent = Spent::default();
    spent.add(&Usage { input: 60, output: 40, ..Usage::default() }, Some(&prices));
    let all = Budgets {
        steps: 2,
        tokens: Some(101),
        money: Some(Cost(101)),
        time: Some(Duration::from_secs(10)),
    };
    let second = Duration::from_secs(1);
    for (budgets, since, expected) in [
        (all, second, None),
        (Budgets { steps: 1, ..all }, second, Some(Exhausted::Steps)),
        (Budgets { tokens: Some(100), ..all }, second, Some(Exhausted::Tokens)),
        (Budgets { money: Some(Cost(100)), ..all }, second, Some(Exhausted::Money)),
        (all, Duration::from_secs(10), Some(Exhausted::Time)),
    ] {
        assert_eq!(spent.exhausts(&budgets, since), expected, "{budgets:?}");
    }
    let mut unpriced = Spent::default();
    unpriced.add(&Usage::default(), None);
    assert_eq!(unpriced.exhausts(&all, second), Some(Exhausted::Money));
}
