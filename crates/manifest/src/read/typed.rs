//! `[args]`: the types of arguments.

use std::collections::BTreeMap;

use super::tree::Node;
use super::{MAX_ENTRIES, Reader};
use crate::model::{Argument, ArgumentType};

pub(super) fn read(reader: &mut Reader, node: &Node, at: &str) -> BTreeMap<String, Argument> {
    let mut arguments = BTreeMap::new();
    let table = reader.table(node, at).unwrap_or_default();
    if table.len() > MAX_ENTRIES {
        reader.report(node.line, at, format!("has more than {MAX_ENTRIES} arguments"), "");
        return arguments;
    }
    for (name, line, node) in table {
        let at = format!("{at}.{name}");
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            reader.report(*line, &at, "is no name of an argument", "");
        }
        if let Some(argument) = read_one(reader, node, &at) {
            arguments.insert(name.clone(), argument);
        }
    }
    arguments
}

fn read_one(reader: &mut Reader, node: &Node, at: &str) -> Option<Argument> {
    let words = || ArgumentType::ALL.map(|kind| (kind.word(), kind));
    let (mut kind, mut items) = (None, None);
    let (mut required, mut one_of) = (false, Vec::new());
    let mut has_type = false;
    for entry in reader.entries(node, at, KEYS) {
        let (node, at) = (entry.node, entry.at.as_str());
        match entry.key {
            "type" => {
                has_type = true;
                kind = reader.word(node, at, words());
            }
            "items" => {
                // A list of lists would have no type for what is in them.
                let plain = words().into_iter().filter(|(_, kind)| *kind != ArgumentType::List);
                items = reader.word(node, at, plain);
            }
            "required" => required = reader.boolean(node, at).unwrap_or_default(),
            _ => {
                let list = reader.list(node, at).unwrap_or_default();
                let values: Option<Vec<_>> = list.iter().map(Node::to_value).collect();
                match values.filter(|values| !values.is_empty()) {
                    Some(values) => one_of = values,
                    None => reader.report(node.line, at, "must be a list of values, not empty", ""),
                }
            }
        }
    }
    if !has_type {
        reader.report(node.line, at, "`type` is missing", "");
    }
    let kind = kind?;
    if items.is_some() && kind != ArgumentType::List {
        reader.report(node.line, at, "`items` is for the type `list`", "");
    }
    Some(Argument { kind, required, one_of, items })
}

/// Every key of an argument.
pub(crate) const KEYS: &[&str] = &["type", "required", "one_of", "items"];

const LONGEST_NAME: usize = 128;
