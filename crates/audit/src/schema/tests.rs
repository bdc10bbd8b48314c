//! The table, the type and the manual say the same.

use std::collections::BTreeSet;

use super::*;
use crate::event::samples;
use crate::hash::Hash;
use crate::{Timestamp, line};

const MANUAL: &str = include_str!("../../../../docs/audit.md");

/// K193, K194, K195, K196, K197, K198, K199, K200, K201, K202, K203, K204, K205
#[test]
fn every_event_is_in_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut seen = BTreeSet::new();
    for event in samples() {
        let mut line = Vec::new();
        line::write(&mut line, 1, Timestamp::now(), Hash::NONE, &event).unwrap();
        let value: Value = serde_json::from_slice(&line).unwrap();
        let faults: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{value}: {faults:?}");
        let name = value["event"].as_str().unwrap().to_owned();
        let known = EVENTS.iter().find(|known| known.name == name).unwrap();
        let fields: Vec<&str> = known.fields.iter().map(|field| field.name).collect();
        let object = value.as_object().unwrap();
        let written = object.keys().filter(|key| !FRAME.contains(&key.as_str()));
        assert_eq!(written.collect::<BTreeSet<_>>().len(), fields.len(), "{name}");
        // Records have the fields in the order of the table.
        let text = String::from_utf8(line).unwrap();
        let places: Vec<_> =
            fields.iter().map(|field| text.find(&format!("\"{field}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        seen.insert(name);
    }
    assert_eq!(seen, all_names());
    let known: BTreeSet<String> = EVENTS.iter().map(|event| event.name.to_owned()).collect();
    assert_eq!(seen, known);
}

/// The names of all events of the type, which it tells to whoever asks for another.
fn all_names() -> BTreeSet<String> {
    let refusal = serde_json::from_str::<crate::Event>("{\"event\":\"\"}").unwrap_err().to_string();
    let (_, names) = refusal.split_once("one of ").unwrap();
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn a_record_with_anything_else_is_not_in_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for event in samples() {
        let mut value = serde_json::to_value(&event).unwrap();
        value["more"] = Value::from(1);
        assert!(!validator.is_valid(&value));
    }
}

#[test]
fn the_manual_has_every_event_and_field() {
    for event in EVENTS {
        let heading = format!("| `{}` |", event.name);
        let row = MANUAL.lines().find(|line| line.starts_with(&heading));
        let row = row.unwrap_or_else(|| panic!("the manual lacks {}", event.name));
        assert!(row.contains(event.meaning), "{row}\nlacks: {}", event.meaning);
        for field in event.fields {
            assert!(row.contains(&format!("`{}`", field.name)), "{row} lacks `{}`", field.name);
        }
    }
    for name in USAGE {
        assert!(MANUAL.contains(&format!("`{name}`")), "{name}");
    }
}

const FRAME: &[&str] = &["v", "seq", "time", "prev", "event", "hash"];
