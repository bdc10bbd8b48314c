//! The parameters of tools: declared once, from which the schema for the model is made and what it sends is checked.

use serde_json::{Map, Value, json};

use crate::error::{ErrorKind, ToolError};

/// A parameter of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether a call needs it.
    pub is_required: bool,
    /// For the model.
    pub doc: &'static str,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text of at most so many bytes.
    Text(usize),
    /// A whole number in a range.
    Number(u64, u64),
    /// Yes or no.
    Flag,
    /// Objects with these text fields, at most so many.
    Items(usize, &'static [&'static str]),
}

/// A parameter that a call needs.
pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Parameter {
    Parameter { name, kind, is_required: true, doc }
}

/// A parameter that a call may have.
pub(crate) const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Parameter {
    Parameter { name, kind, is_required: false, doc }
}

/// JSON schema of parameters.
pub(crate) fn schema(parameters: &[Parameter]) -> Value {
    let property = |parameter: &Parameter| {
        let mut schema = match parameter.kind {
            Kind::Text(most) => json!({ "type": "string", "maxLength": most }),
            Kind::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Items(most, fields) => {
                let properties: Map<String, Value> = fields
                    .iter()
                    .map(|field| ((*field).to_owned(), json!({ "type": "string" })))
                    .collect();
                json!({ "type": "array", "maxItems": most, "items": {
                    "type": "object", "properties": properties, "required": fields, "additionalProperties": false,
                } })
            }
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), json!(parameter.doc));
        }
        (parameter.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = parameters.iter().map(property).collect();
    let required: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter.is_required)
        .map(|parameter| parameter.name)
        .collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// What a call was given, checked against the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a>(&'a Map<String, Value>);

impl<'a> Given<'a> {
    /// Checks everything at once, so that a model mends it in one go.
    ///
    /// # Errors
    /// With all that is wrong.
    pub fn check(
        tool: &str,
        parameters: &[Parameter],
        map: &'a Map<String, Value>,
    ) -> Result<Self, ToolError> {
        let mut wrong = Vec::new();
        for name in map.keys() {
            if !parameters.iter().any(|parameter| parameter.name == name) {
                let name: String = name.chars().take(60).collect();
                wrong.push(format!("`{name}` is no parameter"));
            }
        }
        for parameter in parameters {
            match map.get(parameter.name).filter(|value| !value.is_null()) {
                None if parameter.is_required => {
                    wrong.push(format!("`{}` is missing", parameter.name))
                }
                None => {}
                Some(value) => wrong.extend(
                    parameter.kind.refuses(value).map(|why| format!("`{}` {why}", parameter.name)),
                ),
            }
        }
        if wrong.is_empty() {
            return Ok(Self(map));
        }
        let known = |parameter: &Parameter| {
            let name = parameter.name;
            if parameter.is_required { format!("`{name}`") } else { format!("[`{name}`]") }
        };
        let known: Vec<String> = parameters.iter().map(known).collect();
        let text = format!("{}; `{tool}` takes {}", wrong.join(", "), known.join(", "));
        Err(ToolError::new(ErrorKind::Arguments, text))
    }

    /// A text; empty if it was not given.
    pub fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text, if it was given.
    pub fn maybe_text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A number, if it was given.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(as_number)
    }

    /// A flag; no if it was not given.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Items, with the texts of their fields in order.
    pub(crate) fn items(&self, name: &str, fields: &[&str]) -> Vec<Vec<&'a str>> {
        let items = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        let texts = |item: &'a Value| {
            fields
                .iter()
                .map(|field| item.get(field).and_then(Value::as_str).unwrap_or_default())
                .collect()
        };
        items.map(texts).collect()
    }
}

/// Models write whole numbers as `1.0` at times.
fn as_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
    })
}

impl Kind {
    fn refuses(self, value: &Value) -> Option<String> {
        match self {
            Self::Text(most) => match value.as_str() {
                None => Some("has to be a string".to_owned()),
                Some(text) if text.len() > most => Some(format!("is longer than {most} bytes")),
                Some(_) => None,
            },
            Self::Number(least, most) => match as_number(value) {
                Some(number) if (least..=most).contains(&number) => None,
                _ => Some(format!("has to be a whole number from {least} to {most}")),
            },
            Self::Flag => (!value.is_boolean()).then(|| "has to be true or false".to_owned()),
            Self::Items(most, fields) => {
                let is_item = |item: &Value| {
                    item.as_object().is_some_and(|item| {
                        item.len() == fields.len()
                            && fields
                                .iter()
                                .all(|field| item.get(*field).is_some_and(Value::is_string))
                    })
                };
                let items = value.as_array();
                let fits =
                    items.is_some_and(|items| items.len() <= most && items.iter().all(is_item));
                (!fits).then(|| {
                    format!(
                        "has to be a list of at most {most} objects with the strings {}",
                        fields.join(", ")
                    )
                })
            }
        }
    }
}
