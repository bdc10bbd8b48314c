//! The schema accepts what the decoder accepts, and knows every word.

use plan::HostPath;
use serde_json::Value;

use super::{project, user};
use crate::Place;
use crate::text::words::{TABLES, USER};
use crate::text::{parse_project, parse_user};

fn place() -> Place {
    Place {
        project: HostPath::new("/home/u/project").unwrap(),
        home: Some(HostPath::new("/home/u").unwrap()),
        own_state: Vec::new(),
    }
}

/// A TOML text as the JSON value that an editor checks.
fn as_json(text: &str) -> Value {
    fn convert(value: &toml::de::DeValue<'_>) -> Value {
        use toml::de::DeValue;
        match value {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Integer(number) => {
                Value::from(i64::from_str_radix(number.as_str(), number.radix()).unwrap())
            }
            DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().unwrap()),
            DeValue::Boolean(value) => Value::from(*value),
            DeValue::Datetime(date) => Value::from(date.to_string()),
            DeValue::Array(list) => list.iter().map(|value| convert(value.get_ref())).collect(),
            DeValue::Table(table) => table
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), convert(value.get_ref())))
                .collect(),
        }
    }
    let table = toml::de::DeTable::parse(text).unwrap();
    convert(&toml::de::DeValue::Table(table.into_inner()))
}

/// Every fenced example of the manuals: those that begin with `version` are whole files.
fn examples() -> Vec<String> {
    [MANUAL, RECIPES]
        .iter()
        .flat_map(|manual| manual.split("```toml\n").skip(1))
        .filter_map(|rest| rest.split_once("```").map(|(example, _)| example.to_owned()))
        .filter(|example| example.starts_with("version"))
        .collect()
}

const MANUAL: &str = include_str!("../../../../docs/policy.md");
const RECIPES: &str = include_str!("../../../../docs/agents.md");

#[test]
fn the_manuals_examples_are_right() {
    let examples = examples();
    assert!(examples.len() >= 5, "the manual has {} examples", examples.len());
    let (project_schema, user_schema) = (
        jsonschema::validator_for(&project()).unwrap(),
        jsonschema::validator_for(&user()).unwrap(),
    );
    for example in examples {
        let of_user =
            ["[ceiling]", "[network]", "[profile.", "~/"].iter().any(|word| example.contains(word));
        let (parsed, schema) = if of_user {
            (parse_user("config.toml", example.as_bytes(), &place()), &user_schema)
        } else {
            (parse_project("stockade.toml", example.as_bytes(), &place()), &project_schema)
        };
        parsed.unwrap_or_else(|found| panic!("{found}"));
        if let Err(error) = schema.validate(&as_json(&example)) {
            panic!("{error}\n{example}");
        }
    }
}

/// What the decoder refuses for its shape, the schema refuses too.
#[test]
fn the_schema_refuses_wrong_shapes() {
    let schema = jsonschema::validator_for(&project()).unwrap();
    for text in [
        "[cage.x]",
        "version = 2",
        "version = 1\ncages = 1",
        "version = 1\n[cage.x]\nfss = 1",
        "version = 1\n[cage.x]\nfs = []",
        "version = 1\n[cage.x]\nfs = [{ ro = \"a\", rw = \"b\" }]",
        "version = 1\n[cage.x]\nfs = [{}]",
        "version = 1\n[cage.x]\nstate = \"keep\"",
        "version = 1\n[cage.x]\nlimits = { memory_mb = 1 }",
        "version = 1\n[cage.x]\nlimits = { cpu_shares = 2, cpu_weight = 1 }",
        "version = 1\n[cage.x]\nenv = [\"A=b\"]",
        "version = 1\n[cage.x]\ncommands = [\"bin/ls\"]",
        "version = 1\n[cage.disabled]",
        "version = 1\n[cage.\"a b\"]",
        "version = 1\n[agent.x]",
        "version = 1\n[ceiling]",
        "version = 1\n[network]",
        "version = 1\n[cage.x]\nnet.host_ports = [0]",
        "version = 1\n[cage.x]\nnet.host_ports = [\"5432\"]",
        "version = 1\n[cage.x]\nnet.host_ports = [1080]",
        "version = 1\n[cage.x]\nnet.publish = [65536]",
        "version = 1\n[cage.x]\nnet.reasons = { \"example.com\" = \"\" }",
        "version = 1\n[cage.x]\nnet.reasons = [\"example.com\"]",
        "version = 1\n[cage.x]\nfs = [{ ro = \"/etc\" }]",
        "version = 1\n[cage.x]\nfs = [{ ro = \"~/x\" }]",
        "version = 1\n[cage.x]\nfs = [{ ro = \"a/../b\" }]",
        "version = 1\n[cage.x]\nfs = [{ ro = \"*.rs\" }]",
        "version = 1\n[cage.x]\nfs = [{ ro = \"$HOME\" }]",
        "version = 1\n[cage.x]\nfs = [{ ro = \"a\\u0007\" }]",
        "version = 1\n[cage.x]\nlimits = { memory_mb = 1099511627777 }",
        "version = 1\n[cage.x]\nlimits = { walltime_sec = 1099511627777 }",
        &format!("version = 1\n[cage.x]\nnet.host_ports = {:?}", (2000..2049).collect::<Vec<_>>()),
        &format!("version = 1\n[cage.x]\nnet.publish = {:?}", (2000..2049).collect::<Vec<_>>()),
    ] {
        assert!(parse_project("stockade.toml", text.as_bytes(), &place()).is_err(), "{text}");
        assert!(!schema.is_valid(&as_json(text)), "{text}");
    }
}

/// What the decoder just accepts, the schema accepts too.
#[test]
fn the_schema_accepts_the_bounds_themselves() {
    let (project_schema, user_schema) = (
        jsonschema::validator_for(&project()).unwrap(),
        jsonschema::validator_for(&user()).unwrap(),
    );
    let ports = (2000..2048).collect::<Vec<_>>();
    for text in [
        "fs = [{ ro = \"./~x\" }, { rw = \"..a/b..\" }, { hide = \"./$x\" }]",
        "limits = { memory_mb = 16, cpus = 0.01, pids = 4194304, walltime_sec = 1099511627776 }",
        &format!("net.host_ports = {ports:?}"),
    ] {
        let text = format!("version = 1\n[cage.x]\n{text}");
        parse_project("stockade.toml", text.as_bytes(), &place())
            .unwrap_or_else(|found| panic!("{found}"));
        assert!(project_schema.is_valid(&as_json(&text)), "{text}");
    }
    let text = "version = 1\n[cage.x]\nfs = [{ ro = \"/srv\" }, { ro = \"~\" }, { rw = \"~/x\" }]";
    parse_user("config.toml", text.as_bytes(), &place()).unwrap_or_else(|found| panic!("{found}"));
    assert!(user_schema.is_valid(&as_json(text)), "{text}");
    assert!(!project_schema.is_valid(&as_json(text)), "{text}");
}

/// No word without a place in the schema and in the manual.
#[test]
fn every_word_is_in_the_schema_and_in_the_manual() {
    let schema = user().to_string();
    for (table, words) in TABLES {
        for word in *words {
            let quoted = format!("\"{}\"", word.name);
            assert!(schema.contains(&quoted), "{table}.{} is not in the schema", word.name);
            let documented = format!("`{}`", word.name);
            let as_value = format!("`\"{}\"`", word.name);
            assert!(
                MANUAL.contains(&documented) || MANUAL.contains(&as_value),
                "{table}.{} is not in the manual",
                word.name
            );
            assert!(
                schema.contains(&serde_json::to_string(word.meaning).unwrap())
                    || *table == "project"
            );
        }
    }
    assert!(USER.iter().all(|word| user()["properties"].get(word.name).is_some()));
}

/// No kind of error without a place in the manual.
#[test]
fn every_code_is_in_the_manual() {
    let source = include_str!("../text/diagnostic.rs");
    let codes: Vec<&str> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::")?.split_once(" => \""))
        .filter_map(|(_, rest)| rest.strip_suffix("\","))
        .collect();
    assert!(codes.len() > 30);
    for code in codes {
        assert!(MANUAL.contains(&format!("`{code}`")), "{code} is not in the manual");
    }
}
