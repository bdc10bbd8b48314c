//! Two systems under the same operations: every answer, every error, and what is there in the end.

use std::fmt::Debug;

use crate::operation::{Operation, Outcome, System, everything};
use crate::random::Random;

/// How many operations a comparison takes; `STOCKADE_VFS_OPERATIONS=10000000` makes it a long one.
///
/// # Panics
/// If the variable is no number.
pub fn operations(usual: u64) -> u64 {
    number("STOCKADE_VFS_OPERATIONS", usual)
}

/// Which sequence comes first: `STOCKADE_VFS_SEED`, to have one again.
pub fn first_seed() -> u64 {
    number("STOCKADE_VFS_SEED", 1)
}

/// One sequence of random operations on two systems that are alike, and everything that is there then.
///
/// # Panics
/// Where they differ, with the operations that came before.
pub fn sequence(
    what: &str,
    seed: u64,
    length: u64,
    expected: &mut dyn System,
    found: &mut dyn System,
) {
    let mut random = Random::new(seed);
    let mut history: Vec<(Operation, Outcome)> = Vec::new();
    for _ in 0..length {
        let operation = Operation::random(&mut random);
        let (one, other) = (expected.run(&operation), found.run(&operation));
        if one != other {
            tell(&history);
            panic!("{what}, seed {seed}: {operation:?}\n  tmpfs {one:?}\n  ours  {other:?}");
        }
        history.push((operation, one));
    }
    let (expected, found) = (everything(expected), everything(found));
    for (one, other) in expected.iter().zip(&found) {
        if one != other {
            tell(&history);
            panic!("{what}, seed {seed}, in the end:\n  tmpfs {one:?}\n  ours  {other:?}");
        }
    }
    assert_eq!(expected.len(), found.len(), "{what}, seed {seed}");
}

/// Shows the last of what was done.
pub fn tell<Step: Debug, Came: Debug>(history: &[(Step, Came)]) {
    let last = usize::try_from(number("STOCKADE_VFS_HISTORY", 25)).unwrap();
    for (operation, outcome) in &history[history.len().saturating_sub(last)..] {
        eprintln!("{operation:?} -> {outcome:?}");
    }
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().expect(variable))
}
