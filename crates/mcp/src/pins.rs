//! What tools of somebody else's server looked like when they were approved: a hash of everything that a model reads of
//! them. A tool that has changed since is another one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Hashes by tool, of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins(BTreeMap<String, String>);

/// What a tool is beside what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The same.
    Same,
    /// It was not there before.
    New,
    /// It has changed.
    Changed,
}

impl Pins {
    /// Compares a tool with what was approved.
    pub fn see(&self, name: &str, tool: &Value) -> Seen {
        match self.0.get(name) {
            None => Seen::New,
            Some(hash) if *hash == hash_of(tool) => Seen::Same,
            Some(_) => Seen::Changed,
        }
    }

    /// Approves a tool as it is.
    pub fn approve(&mut self, name: &str, tool: &Value) {
        self.0.insert(name.to_owned(), hash_of(tool));
    }
}

/// Of all fields, whatever their order.
fn hash_of(tool: &Value) -> String {
    let mut hasher = Sha256::new();
    write(tool, &mut hasher);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One form for every value: names in order, lengths before texts.
fn write(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            hasher.update(format!("o{}:", names.len()));
            for name in names {
                hasher.update(format!("{}:{name}", name.len()));
                map.get(name).into_iter().for_each(|value| write(value, hasher));
            }
        }
        Value::Array(items) => {
            hasher.update(format!("a{}:", items.len()));
            items.iter().for_each(|item| write(item, hasher));
        }
        Value::String(text) => hasher.update(format!("s{}:{text}", text.len())),
        other => hasher.update(format!("v{other};")),
    }
}
