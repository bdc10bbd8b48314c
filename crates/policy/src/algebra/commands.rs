//! Which programs exist, compared: none, the shell and some, all.

use std::collections::BTreeSet;

use super::{Refusal, RefusalKind};
use crate::Commands;

/// Every program that is asked for and not held.
pub(super) fn refuse_more(held: &Commands, asked: &Commands, refused: &mut Vec<Refusal>) {
    match (held, asked) {
        (Commands::Base, _) | (_, Commands::None) => {}
        (Commands::Listed(held_names), Commands::Listed(asked_names)) => {
            for name in asked_names.difference(held_names) {
                refused.push(refusal(name, held));
            }
        }
        (Commands::None, Commands::Listed(names)) => {
            // A list brings the shell, so it asks for something even when it is empty.
            refused.push(refusal("sh", held));
            refused.extend(names.iter().map(|name| refusal(name, held)));
        }
        (_, Commands::Base) => refused.push(refusal("base", held)),
    }
}

fn refusal(name: &str, held: &Commands) -> Refusal {
    Refusal {
        kind: RefusalKind::Commands,
        subject: name.to_owned(),
        asked: name.to_owned(),
        held: in_words(held),
        asked_at: None,
        held_at: None,
    }
}

fn in_words(commands: &Commands) -> String {
    let quoted = |names: &BTreeSet<String>| {
        names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    };
    match commands {
        Commands::Base => "`\"base\"`".to_owned(),
        Commands::None => "`\"none\"`".to_owned(),
        Commands::Listed(names) => format!("`[{}]`", quoted(names)),
    }
}
