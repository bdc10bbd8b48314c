//! Variables, compared name by name: the caller's own value is more than a value that the policy
//! writes, and any value is more than none.

use std::collections::BTreeMap;

use super::{Refusal, RefusalKind};
use crate::EnvironmentRule;

type Environment = BTreeMap<String, EnvironmentRule>;

/// Every variable that is asked for and not held.
pub(super) fn refuse_more(held: &Environment, asked: &Environment, refused: &mut Vec<Refusal>) {
    for (name, rule) in asked {
        let holding = held.get(name);
        if !holding.is_some_and(|holding| covers(holding, rule)) {
            refused.push(refusal(name, rule, holding));
        }
    }
}

fn covers(held: &EnvironmentRule, asked: &EnvironmentRule) -> bool {
    held.value.is_none() || held.value == asked.value
}

fn refusal(name: &str, asked: &EnvironmentRule, held: Option<&EnvironmentRule>) -> Refusal {
    Refusal {
        kind: RefusalKind::Environment,
        subject: name.to_owned(),
        asked: in_words(asked).to_owned(),
        held: held.map_or("nothing", in_words).to_owned(),
        asked_at: Some(asked.origin.clone()),
        held_at: held.map(|rule| rule.origin.clone()),
    }
}

fn in_words(rule: &EnvironmentRule) -> &'static str {
    match rule.value {
        Some(_) => "a value of its own",
        None => "the caller's value",
    }
}
