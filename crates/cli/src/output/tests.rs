//! What is printed as JSON.

use serde_json::{Value, json};

use super::escaped;

/// T20: what a program wrote reaches no terminal as it is, and a reader gets it unchanged.
#[test]
fn json_does_nothing_to_a_terminal() {
    let hostile = "\u{9b}2J\u{9d}0;x\u{7f}\u{202e}\u{e0041}\u{1b}[31m é ✓";
    let value = json!({ hostile: [hostile] });
    let printed = escaped(&format!("{value:#}"));
    assert!(printed.chars().all(|one| one == '\n' || !policy::shown::misleads(one)), "{printed:?}");
    assert!(printed.contains("é ✓"), "{printed}");
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
}
