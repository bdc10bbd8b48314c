//! Every known attack is accounted for: each id of the list stands as a string in `crates/attacks`,
//! with a function that tries it or in a table that says which other tests do, or what it waits for.
//! Whether an attack is a good one is what its twin shows.

use super::Finding;
use super::tree::{Tree, is_test_file};

/// Where attacks live.
const ATTACKS: &str = "crates/attacks/src/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources: Vec<&str> =
        tree.under(ATTACKS).filter(|(path, _)| !is_test_file(path)).map(|(_, text)| text).collect();
    let named = |id: &String| sources.iter().any(|text| text.contains(&format!("\"{id}\"")));
    required()
        .filter(|id| !named(id))
        .map(|id| Finding::of_file(ATTACKS, format!("no attack has the id \"{id}\"")))
        .collect()
}

fn required() -> impl Iterator<Item = String> {
    (1..=66).chain(69..=71).map(|number| format!("T{number}"))
}
