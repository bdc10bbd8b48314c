//! The arguments of a call: whether they are of the types that the manifest says, which conditions
//! they meet, and which texts of them are paths or hosts. Never changes one.

use serde_json::{Map, Value};

use crate::filter::{FilterError, FilterRule};
use crate::model::{Argument, ArgumentType, Manifest, Test, When};

/// Refuses arguments that are not of the types that the manifest says.
pub(crate) fn check_types(
    manifest: &Manifest,
    arguments: &Map<String, Value>,
) -> Result<(), FilterError> {
    let refuse = |name: &str, rule| Err(FilterError { argument: name.to_owned(), rule });
    let Some(known) = &manifest.arguments else { return Ok(()) };
    for (name, value) in arguments {
        let Some(argument) = known.get(name) else { return refuse(name, FilterRule::Unknown) };
        if value.is_null() && !argument.required {
            continue;
        }
        if let Err(rule) = check_value(argument, value) {
            return refuse(name, rule);
        }
    }
    for (name, argument) in known {
        let is_given = arguments.get(name).is_some_and(|value| !value.is_null());
        if argument.required && !is_given {
            return refuse(name, FilterRule::Required);
        }
    }
    Ok(())
}

fn check_value(argument: &Argument, value: &Value) -> Result<(), FilterRule> {
    if !is_of(argument.kind, value) {
        return Err(FilterRule::WrongType(argument.kind));
    }
    if let (Some(kind), Value::Array(items)) = (argument.items, value)
        && !items.iter().all(|item| is_of(kind, item))
    {
        return Err(FilterRule::WrongItems(kind));
    }
    if !argument.one_of.is_empty() && !argument.one_of.contains(value) {
        return Err(FilterRule::NotOneOf);
    }
    Ok(())
}

fn is_of(kind: ArgumentType, value: &Value) -> bool {
    match kind {
        ArgumentType::Text | ArgumentType::Content | ArgumentType::Path | ArgumentType::Url => {
            value.is_string()
        }
        ArgumentType::Integer => value.is_i64() || value.is_u64(),
        ArgumentType::Number => value.is_number(),
        ArgumentType::Boolean => value.is_boolean(),
        ArgumentType::List => value.is_array(),
        ArgumentType::Object => value.is_object(),
    }
}

impl When {
    /// Whether it holds for these arguments.
    pub fn holds(&self, arguments: &Map<String, Value>) -> bool {
        let Some(value) = arguments.get(&self.argument) else { return false };
        match &self.test {
            Test::In(values) => values.contains(value),
            Test::NonEmpty => match value {
                Value::Null | Value::Bool(false) => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                Value::Bool(true) | Value::Number(_) => true,
            },
            Test::AnyHas(key) => value.as_array().is_some_and(|items| {
                items.iter().any(|item| item.get(key).is_some_and(|value| !value.is_null()))
            }),
        }
    }
}

/// The texts that an argument has in a call: itself, or the items of a list. None where something
/// else is among them; nothing at all where it is absent.
pub(crate) fn texts<'value>(
    arguments: &'value Map<String, Value>,
    name: &str,
) -> Option<Vec<&'value str>> {
    match arguments.get(name) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.as_str()]),
        Some(Value::Array(items)) => items.iter().map(Value::as_str).collect(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
