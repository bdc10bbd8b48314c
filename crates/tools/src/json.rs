//! `json`: a part of a JSON file, by a path.

use serde_json::Value;

use crate::error::{ErrorKind, ToolError};
use crate::files::{MOST_FILE, PATH};
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};

pub(crate) struct Json;

impl Tool for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn doc(&self) -> &'static str {
        "Shows a part of a JSON file. `query` is a path such as `.scripts.test`, `.items[0].name`, `.items[*].name` or \
         `.[\"a key\"]`; without it, everything is shown."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("path", PATH, "The file."),
                optional("query", Kind::Text(1000), "The path within it."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let (path, query) = (given.text("path"), given.maybe_text("query").unwrap_or("."));
        let content = call.world.root.read(path)?.content(MOST_FILE)?;
        let value: Value = serde_json::from_str(&content).map_err(|error| {
            ToolError::new(ErrorKind::Type, format!("`{path}` is no JSON: {error}"))
        })?;
        let steps = steps(query).map_err(|why| {
            ToolError::new(
                ErrorKind::Arguments,
                format!(
                    "`{query}` is no path: {why}; write `.name`, `[0]`, `[*]` or `[\"a key\"]`"
                ),
            )
        })?;
        let mut found = vec![&value];
        for step in &steps {
            found = found.iter().flat_map(|value| taken(value, step)).collect();
            if found.len() > MOST {
                return Err(ToolError::new(
                    ErrorKind::TooLarge,
                    format!("more than {MOST} values are there; ask for less"),
                ));
            }
        }
        if found.is_empty() {
            return Err(ToolError::new(
                ErrorKind::Missing,
                format!("nothing is at `{query}` in `{path}`"),
            ));
        }
        let shown = |value: &&Value| serde_json::to_string_pretty(value).unwrap_or_default();
        Ok(found.iter().map(shown).collect::<Vec<_>>().join("\n"))
    }
}

#[derive(Debug, PartialEq)]
enum Step {
    Name(String),
    Index(usize),
    Every,
}

fn taken<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match (value, step) {
        (Value::Object(map), Step::Name(name)) => map.get(name).into_iter().collect(),
        (Value::Array(items), Step::Index(index)) => items.get(*index).into_iter().collect(),
        (Value::Array(items), Step::Every) => items.iter().collect(),
        (Value::Object(map), Step::Every) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn steps(query: &str) -> Result<Vec<Step>, String> {
    let mut rest = query.trim().trim_start_matches('$');
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[\"") {
            let (name, after) = after.split_once("\"]").ok_or("a `[\"` has no `\"]`")?;
            steps.push(Step::Name(name.to_owned()));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = after.split_once(']').ok_or("a `[` has no `]`")?;
            steps.push(match inside {
                "*" | "" => Step::Every,
                number => {
                    Step::Index(number.parse().map_err(|_| format!("`{number}` is no number"))?)
                }
            });
            rest = after;
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            match name {
                "" if after.starts_with('.') => return Err("two dots follow each other".to_owned()),
                "" => {}
                "*" => steps.push(Step::Every),
                name => steps.push(Step::Name(name.to_owned())),
            }
            rest = after;
        }
    }
    Ok(steps)
}

const MOST: usize = 10_000;
