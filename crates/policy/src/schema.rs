//! The policy language as a JSON schema, for editors and for `stockade schema`. Built from the
//! same list of words as the decoder, so that none can be missing. Describes shapes; what only
//! the decoder can judge (paths, destinations, `extends`) is said in the descriptions.

use plan::MAX_PATH_BYTES;
use plan::network::{GATEKEEPER_PORTS, MODEL_PORT, MOST_PORTS};
use serde_json::{Map, Value, json};

use crate::text::limits::{
    Bounds, CPU_MILLIS, CPU_SHARES, CPU_WEIGHT, HOME_MB, MEMORY_MB, PIDS, TMP_MB, WALLTIME_SEC,
    WORKSPACE_MB,
};
use crate::text::words::{self, Word};
use crate::text::{
    Author, LANGUAGE_VERSION, MAX_MOUNTS, MAX_NETWORK_ENTRIES, MAX_REASON_CHARACTERS, MAX_RULES,
};

/// The schema of a project's `stockade.toml`.
pub fn project() -> Value {
    document("stockade.toml", words::PROJECT, Author::Project)
}

/// The schema of the user's `config.toml`.
pub fn user() -> Value {
    document("stockade's config.toml", words::USER, Author::User)
}

fn document(title: &str, top: &[Word], author: Author) -> Value {
    let cage_word = |word: &str| cage_word(word, author);
    let mut schema = table(top, |word| match word {
        "version" => json!({ "const": LANGUAGE_VERSION }),
        "defaults" => table(words::DEFAULTS, cage_word),
        "cage" => named(json!({
            "oneOf": [{ "const": words::DISABLED }, table(words::CAGE, cage_word)],
        })),
        "agent" => named(agent()),
        "profile" => named(table(words::PROFILE, cage_word)),
        "ceiling" => table(words::CEILING, |word| match word {
            "env" => names("^([A-Za-z_][A-Za-z0-9_]*\\*?|\\*)$"),
            other => cage_word(other),
        }),
        "network" => network(),
        _ => Value::Bool(false),
    });
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!(title));
        schema.insert("required".to_owned(), json!(["version"]));
    }
    schema
}

fn table(known: &[Word], shape: impl Fn(&str) -> Value) -> Value {
    let properties: Map<String, Value> = known
        .iter()
        .map(|word| (word.name.to_owned(), described(shape(word.name), word.meaning)))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn described(mut shape: Value, meaning: &str) -> Value {
    if let Some(shape) = shape.as_object_mut() {
        shape.insert("description".to_owned(), json!(meaning));
    }
    shape
}

fn named(shape: Value) -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,64}$", "not": { "const": words::DISABLED } },
        "additionalProperties": shape,
    })
}

fn cage_word(word: &str, author: Author) -> Value {
    match word {
        "extends" | "from" => json!({ "type": "string" }),
        "fs" => fs(author),
        "mounts" => mounts(),
        "commands" => commands(),
        "env" => json!({ "oneOf": [names(VARIABLE), {
            "type": "object",
            "propertyNames": { "pattern": VARIABLE },
            "additionalProperties": { "oneOf": [{ "type": "string" }, { "const": true }] },
        }] }),
        "net" => net(),
        "state" => one_of(words::STATE),
        "home" => one_of(words::HOME),
        "seccomp" => one_of(words::SECCOMP),
        "limits" => limits(),
        _ => Value::Bool(false),
    }
}

fn fs(author: Author) -> Value {
    let beginning = match author {
        Author::Project => "^[/~$]",
        Author::User => "^(\\$|~[^/])",
    };
    let path = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_PATH_BYTES,
        "pattern": "^[^*\\u0000-\\u001f\\u007f-\\u009f]+$",
        "not": { "anyOf": [{ "pattern": beginning }, { "pattern": "(^|/)\\.\\.(/|$)" }] },
    });
    let mut rule = table(words::RULE, |_| path.clone());
    if let Some(rule) = rule.as_object_mut() {
        rule.insert("minProperties".to_owned(), json!(1));
        rule.insert("maxProperties".to_owned(), json!(1));
    }
    json!({ "type": "array", "items": rule, "minItems": 1, "maxItems": MAX_RULES })
}

fn mounts() -> Value {
    let mut mount = table(words::MOUNT, |word| match word {
        "rw" => json!({ "type": "boolean" }),
        "at" => json!({ "type": "string", "pattern": "^/.", "maxLength": MAX_PATH_BYTES }),
        _ => {
            json!({ "type": "string", "pattern": "^(memory|dir|store|s3|gs|az|gdrive|tools|services):" })
        }
    });
    if let Some(mount) = mount.as_object_mut() {
        mount.insert("required".to_owned(), json!(["at", "from"]));
    }
    json!({ "type": "array", "items": mount, "maxItems": MAX_MOUNTS })
}

fn commands() -> Value {
    json!({ "oneOf": [one_of(words::COMMANDS), names("^[^/\\s]+$")] })
}

fn net() -> Value {
    let list =
        |items: Value, most: usize| json!({ "type": "array", "items": items, "maxItems": most });
    table(words::NET, |word| match word {
        "allow" | "deny" => list(json!({ "type": "string", "minLength": 1 }), MAX_NETWORK_ENTRIES),
        "reasons" => json!({
            "type": "object",
            "propertyNames": { "minLength": 1 },
            "additionalProperties": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_REASON_CHARACTERS,
            },
            "maxProperties": MAX_NETWORK_ENTRIES,
        }),
        word => {
            let mut taken = GATEKEEPER_PORTS.to_vec();
            taken.push(MODEL_PORT);
            let port = json!({
                "type": "integer",
                "minimum": 1,
                "maximum": u16::MAX,
                "not": { "enum": taken },
            });
            match word {
                "host_ports" => list(json!({ "anyOf": [port, { "const": "model" }] }), MOST_PORTS),
                _ => list(port, MOST_PORTS),
            }
        }
    })
}

fn network() -> Value {
    table(words::NETWORK, |word| match word {
        "resolvers" => json!({ "type": "array", "items": { "type": "string" }, "maxItems": 8 }),
        "proxy" => json!({ "type": "string", "minLength": 1 }),
        _ => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
    })
}

fn limits() -> Value {
    let whole = |bounds: &Bounds| json!({ "type": "integer", "minimum": bounds.least, "maximum": bounds.most });
    let thousandths = |bound: i64| bound as f64 / 1000.0;
    let mut limits = table(words::LIMITS, |word| match word {
        "memory_mb" => whole(&MEMORY_MB),
        "cpu_shares" => whole(&CPU_SHARES),
        "cpu_weight" => whole(&CPU_WEIGHT),
        "cpus" => json!({
            "type": "number",
            "minimum": thousandths(CPU_MILLIS.least),
            "maximum": thousandths(CPU_MILLIS.most),
        }),
        "pids" => whole(&PIDS),
        "tmp_mb" => whole(&TMP_MB),
        "home_mb" => whole(&HOME_MB),
        "workspace_mb" => whole(&WORKSPACE_MB),
        _ => whole(&WALLTIME_SEC),
    });
    if let Some(limits) = limits.as_object_mut() {
        limits.insert("not".to_owned(), json!({ "required": ["cpu_shares", "cpu_weight"] }));
    }
    limits
}

fn agent() -> Value {
    let mut agent = table(words::AGENT, |word| match word {
        "command" => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        _ => json!({ "type": "string" }),
    });
    if let Some(agent) = agent.as_object_mut() {
        agent.insert("required".to_owned(), json!(["cage"]));
    }
    agent
}

fn names(pattern: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string", "pattern": pattern } })
}

/// Each value with its meaning, which editors show.
fn one_of(values: &[Word]) -> Value {
    let value = |word: &Word| json!({ "const": word.name, "description": word.meaning });
    json!({ "oneOf": values.iter().map(value).collect::<Vec<_>>() })
}

const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

#[cfg(test)]
mod tests;
