//! The one shape that text and dictionaries have: values with the line on which each stands. Knows
//! no key of a manifest.

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{MAX_TEXT_BYTES, Reader};

/// A value and its line; none in a dictionary.
pub(super) struct Node {
    pub(super) line: Option<u32>,
    pub(super) shape: Shape,
}

pub(super) enum Shape {
    Null,
    Boolean(bool),
    Integer(i64),
    /// Any other number, as JSON has it.
    Number(Number),
    /// A date or a number that JSON does not have.
    Other,
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Table(Vec<(String, Option<u32>, Node)>),
}

impl Shape {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "a whole number",
            Self::Number(_) => "a number with a fraction",
            Self::Other => "a date or another kind of value",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    /// As JSON; none for what it does not have.
    pub(super) fn to_value(&self) -> Option<Value> {
        Some(match &self.shape {
            Shape::Null => Value::Null,
            Shape::Boolean(value) => Value::Bool(*value),
            Shape::Integer(number) => Value::from(*number),
            Shape::Number(number) => Value::Number(number.clone()),
            Shape::Other => return None,
            Shape::Text(text) => Value::String(text.clone()),
            Shape::List(items) => {
                Value::Array(items.iter().map(Self::to_value).collect::<Option<_>>()?)
            }
            Shape::Table(entries) => {
                let field =
                    |(key, _, node): &(String, _, Self)| Some((key.clone(), node.to_value()?));
                Value::Object(entries.iter().map(field).collect::<Option<Map<_, _>>>()?)
            }
        })
    }
}

/// The tree of a text; errors of the grammar are reported.
pub(super) fn from_toml(reader: &mut Reader, bytes: &[u8]) -> Option<Node> {
    if bytes.len() > MAX_TEXT_BYTES {
        let message = format!("the manifest has more than {MAX_TEXT_BYTES} bytes");
        reader.report(None, "", message, "");
        return None;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        reader.report(None, "", "the manifest is not UTF-8", "save the file as UTF-8");
        return None;
    };
    let lines = Lines::new(text);
    let (tree, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = error.span().map(|span| lines.at(span.start));
        reader.report(line, "", error.message(), "");
    }
    errors.is_empty().then(|| table(tree.get_ref(), &lines, tree.span().start))
}

/// The tree of a dictionary.
pub(super) fn from_json(reader: &mut Reader, value: &Value) -> Option<Node> {
    let node = json(value, 0);
    if node.is_none() {
        reader.report(None, "", format!("the manifest is nested more than {MAX_DEPTH} levels"), "");
    }
    node
}

fn table(entries: &DeTable<'_>, lines: &Lines, start: usize) -> Node {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let line = lines.at(key.span().start);
        (key.get_ref().to_string(), Some(line), toml(value, lines))
    };
    let shape = Shape::Table(entries.into_iter().map(entry).collect());
    Node { line: Some(lines.at(start)), shape }
}

/// As deep as the parser lets a text be, which is bounded.
fn toml(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let start = value.span().start;
    let shape = match value.get_ref() {
        DeValue::String(text) => Shape::Text(text.to_string()),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_or(Shape::Other, Shape::Integer)
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse().ok().and_then(Number::from_f64);
            read.map_or(Shape::Other, Shape::Number)
        }
        DeValue::Boolean(value) => Shape::Boolean(*value),
        DeValue::Datetime(_) => Shape::Other,
        DeValue::Array(items) => Shape::List(items.iter().map(|item| toml(item, lines)).collect()),
        DeValue::Table(entries) => return table(entries, lines, start),
    };
    Node { line: Some(lines.at(start)), shape }
}

fn json(value: &Value, depth: usize) -> Option<Node> {
    if depth > MAX_DEPTH {
        return None;
    }
    let shape = match value {
        Value::Null => Shape::Null,
        Value::Bool(value) => Shape::Boolean(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Shape::Integer(number),
            None => Shape::Number(number.clone()),
        },
        Value::String(text) => Shape::Text(text.clone()),
        Value::Array(items) => {
            Shape::List(items.iter().map(|item| json(item, depth + 1)).collect::<Option<_>>()?)
        }
        Value::Object(fields) => {
            let entry = |(key, value): (&String, &Value)| {
                Some((key.clone(), None, json(value, depth + 1)?))
            };
            Shape::Table(fields.iter().map(entry).collect::<Option<_>>()?)
        }
    };
    Some(Node { line: None, shape })
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after_newline).collect())
    }

    fn at(&self, offset: usize) -> u32 {
        let line = self.0.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}

/// No key of a manifest is nested so deeply.
const MAX_DEPTH: usize = 32;
