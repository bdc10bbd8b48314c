//! The canonical form of a Plan and its hash: what two starts of the same cage have in common.
//! Leaves out what differs from start to start, and nothing else.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Plan;

/// SHA-256 of a Plan's canonical form, as 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanHash(String);

impl PlanHash {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Plan {
    /// JSON without white space, the keys of every object sorted by their bytes, and without what
    /// belongs to one start alone: the invocation, the host name and the summary line that carry
    /// its prefix, and the ids of a privileged caller's cage, which are derived from it.
    pub fn canonical_json(&self) -> String {
        // Numbers, strings and lists always have a JSON form; there is no map with other keys.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for (parent, name) in PER_INVOCATION {
            if let Some(Value::Object(fields)) = value.pointer_mut(parent) {
                fields.remove(*name);
            }
        }
        if let Some(ids) = value.pointer_mut("/identity/map/unowned") {
            *ids = Value::Null;
        }
        let mut text = String::with_capacity(16 * 1024);
        write_sorted(&value, &mut text);
        text
    }

    /// The hash that names this cage in the audit log.
    pub fn hash(&self) -> PlanHash {
        let digest = Sha256::digest(self.canonical_json().as_bytes());
        let mut text = String::with_capacity(64);
        for byte in digest {
            for digit in [byte >> 4, byte & 0xf] {
                text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        PlanHash(text)
    }
}

/// Sorts by itself: whether the JSON library keeps or sorts keys depends on what other crates of
/// the build ask of it.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(field, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_sorted(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// Fields that differ between two starts of the same cage: the object that holds each, its name.
const PER_INVOCATION: &[(&str, &str)] =
    &[("", "invocation"), ("/identity", "hostname"), ("/summary", "line")];
