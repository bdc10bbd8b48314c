//! The manifest as a JSON schema, for editors and for `stockade schema --manifest`. Built from the
//! same keys and words as the reader. Describes shapes; what only the reader can judge (hosts, what
//! `arg:` names) is said in the descriptions.

use crate::autonomy;
use serde_json::{Map, Value, json};

use crate::model::{ArgumentType, Backend, MAX_OUTPUT, MAX_TIMEOUT_SEC};
use crate::read::{
    ARGUMENT_KEYS, CAPABILITY_KEYS, FILE_KEYS, MANIFEST_KEYS, MAX_ENTRIES, WHEN_KEYS,
};

/// The schema of a manifest, as text or as a dictionary.
pub fn schema() -> Value {
    let mut schema = table(MANIFEST_KEYS, manifest_key);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!("the manifest of an executor"));
        schema.insert(
            "oneOf".to_owned(),
            json!([{ "required": ["code"] }, { "required": ["code_path"] }]),
        );
    }
    schema
}

fn manifest_key(key: &str) -> Value {
    match key {
        "name" => said(
            "The executor's name.",
            json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }),
        ),
        "version" => said("Its version.", line()),
        "summary" => said("What it does, for people.", line()),
        "code" => said("Its entry, relative to the manifest's directory or absolute.", path()),
        "code_path" => said("The same as `code`.", path()),
        "interpreter" => said("What is put before the code's path.", list(line())),
        "files" => said("Files whose digests are verified before every start.", list(file())),
        "path_args" => said("Arguments that are paths.", list(line())),
        "timeout_sec" => {
            said("The time that a call has.", number_or_text(json!(1), json!(MAX_TIMEOUT_SEC)))
        }
        "max_output" => said(
            "The most bytes of each output, such as `1M`.",
            number_or_text(json!(1), json!(MAX_OUTPUT)),
        ),
        "backend" => said(
            "What builds its cage.",
            one_of([Backend::Native, Backend::Bwrap].map(Backend::word)),
        ),
        "memory" => said("The most memory, such as `512M`.", json!({ "type": "string" })),
        "pids" => said("The most processes.", number_or_text(json!(1), json!(4_194_304))),
        "cpus" => {
            said("The most processors, such as 1.5.", number_or_text(json!(0.01), json!(1000)))
        }
        "args" => said(
            "Typed arguments. With these, an argument that is not named here is refused.",
            json!({
                "type": "object",
                "maxProperties": MAX_ENTRIES,
                "additionalProperties": required(table(ARGUMENT_KEYS, argument_key), &["type"]),
            }),
        ),
        "capabilities" => said(
            "What it declares: names with hints, or names alone, which give no file.",
            list(json!({ "oneOf": [
                capability_name(),
                required(table(CAPABILITY_KEYS, capability_key), &["name"]),
            ] })),
        ),
        _ => Value::Bool(false),
    }
}

fn argument_key(key: &str) -> Value {
    let words = ArgumentType::ALL.map(ArgumentType::word);
    match key {
        "type" => said("What its value is.", one_of(words)),
        "required" => said("Whether a call without it is refused.", json!({ "type": "boolean" })),
        "one_of" => said(
            "The only values.",
            json!({ "type": "array", "minItems": 1, "maxItems": MAX_ENTRIES }),
        ),
        "items" => said(
            "What the items of a list are.",
            one_of(words.into_iter().filter(|word| *word != ArgumentType::List.word())),
        ),
        _ => Value::Bool(false),
    }
}

fn capability_key(key: &str) -> Value {
    match key {
        "name" => said("Which one.", capability_name()),
        "hint" | "hints" => said(
            "Paths (`~/notes/**`), hosts (`api.example.com`), or `arg:NAME` beside one of these. What is \
             no text, relative or empty says nothing.",
            json!({ "not": { "type": "object" } }),
        ),
        "when" => said("In which calls it is there.", condition()),
        _ => Value::Bool(false),
    }
}

fn condition() -> Value {
    let shape = table(WHEN_KEYS, |key| match key {
        "arg" => said("Which argument.", line()),
        "in" => said(
            "It is one of these.",
            json!({ "type": "array", "minItems": 1, "maxItems": MAX_ENTRIES }),
        ),
        "non_empty" => said("It is not empty.", json!({ "const": true })),
        "any_has" => said("It is a list, and an item of it has this key.", line()),
        _ => Value::Bool(false),
    });
    let mut shape = required(shape, &["arg"]);
    if let Some(shape) = shape.as_object_mut() {
        shape.insert("minProperties".to_owned(), json!(2));
        shape.insert("maxProperties".to_owned(), json!(2));
    }
    shape
}

fn file() -> Value {
    let shape = table(FILE_KEYS, |key| match key {
        "path" => path(),
        "sha256" => json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" }),
        _ => Value::Bool(false),
    });
    required(shape, FILE_KEYS)
}

fn capability_name() -> Value {
    one_of(autonomy::table().iter().map(ToString::to_string))
}

fn table(keys: &[&str], shape: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), shape(key))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn said(meaning: &str, mut shape: Value) -> Value {
    if let Some(shape) = shape.as_object_mut() {
        shape.insert("description".to_owned(), json!(meaning));
    }
    shape
}

fn required(mut shape: Value, keys: &[&str]) -> Value {
    if let Some(shape) = shape.as_object_mut() {
        shape.insert("required".to_owned(), json!(keys));
    }
    shape
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items, "maxItems": MAX_ENTRIES })
}

fn one_of<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Value {
    json!({ "enum": words.into_iter().map(Into::into).collect::<Vec<String>>() })
}

fn line() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" })
}

fn path() -> Value {
    let mut shape = line();
    if let Some(shape) = shape.as_object_mut() {
        let wrong = ["(^|/)\\.\\.(/|$)", "^~", "/$", "^\\.$"];
        let wrong: Vec<Value> = wrong.iter().map(|pattern| json!({ "pattern": pattern })).collect();
        shape.insert("not".to_owned(), json!({ "anyOf": wrong }));
    }
    shape
}

fn number_or_text(least: Value, most: Value) -> Value {
    json!({ "oneOf": [{ "type": "number", "minimum": least, "maximum": most }, { "type": "string" }] })
}

#[cfg(test)]
mod tests;
