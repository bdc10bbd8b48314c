//! The schema agrees with the reader.

use serde_json::json;

use super::*;
use crate::Manifest;

fn check(value: &Value) -> (bool, bool) {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    (schema.is_valid(value), Manifest::from_value("dict", value).is_ok())
}

#[test]
fn good_manifests_are_good_to_both() {
    let digest = "0".repeat(64);
    for value in [
        json!({ "code": "x.py" }),
        json!({ "code_path": "/srv/x.py", "capabilities": [] }),
        json!({
            "name": "a-b_1", "version": "1.2", "summary": "Reads", "code": "x/y.py",
            "interpreter": ["python3", "-I"], "files": [{ "path": "x", "sha256": digest }],
            "path_args": ["p"], "timeout_sec": 30, "max_output": "1M", "backend": "bwrap",
            "memory": "512M", "pids": 10, "cpus": 0.5,
            "args": {
                "p": { "type": "text", "required": true },
                "l": { "type": "list", "items": "url" },
                "m": { "type": "text", "one_of": ["a", 1, null] },
            },
            "capabilities": [
                "fs:read",
                { "name": "fs:read", "hints": ["~/a/**", "arg:p", 1], "when": { "arg": "m", "in": ["a"] } },
                { "name": "network:https", "hint": "a.example", "when": { "arg": "l", "any_has": "u" } },
                { "name": "fs:write", "hint": "/a", "when": { "arg": "l", "non_empty": true } },
            ],
        }),
    ] {
        assert_eq!(check(&value), (true, true), "{value} {:?}", Manifest::from_value("d", &value));
    }
}

#[test]
fn bad_manifests_are_bad_to_both() {
    let with = |key: &str, value: Value| {
        let mut manifest = json!({ "code": "x.py" });
        manifest[key] = value;
        manifest
    };
    for value in [
        json!({}),
        json!([]),
        json!({ "code": "x", "code_path": "x" }),
        json!({ "code": "../x" }),
        json!({ "code": "~/x" }),
        json!({ "code": "x/" }),
        json!({ "code": "a\nb" }),
        with("nam", json!("x")),
        with("name", json!("a b")),
        with("name", json!("x".repeat(65))),
        with("interpreter", json!("python3")),
        with("files", json!([{ "path": "x" }])),
        with("files", json!([{ "path": "x", "sha256": "12" }])),
        with("timeout_sec", json!(0)),
        with("timeout_sec", json!(86_401)),
        with("max_output", json!(0)),
        with("backend", json!("oci")),
        with("pids", json!([])),
        with("args", json!([])),
        with("args", json!({ "a": {} })),
        with("args", json!({ "a": { "type": "string" } })),
        with("args", json!({ "a": { "type": "list", "items": "list" } })),
        with("args", json!({ "a": { "type": "text", "one_of": [] } })),
        with("capabilities", json!(["fs:execute"])),
        with("capabilities", json!([1])),
        with("capabilities", json!([{ "hint": "/a" }])),
        with("capabilities", json!([{ "name": "fs:read", "hint": {} }])),
        with("capabilities", json!([{ "name": "fs:read", "why": "x" }])),
        with("capabilities", json!([{ "name": "fs:read", "when": { "arg": "x" } }])),
        with("capabilities", json!([{ "name": "fs:read", "when": { "arg": "x", "in": [] } }])),
        with(
            "capabilities",
            json!([{ "name": "fs:read", "when": { "arg": "x", "non_empty": false } }]),
        ),
        with("capabilities", json!(vec!["fs:read"; 257])),
    ] {
        assert_eq!(check(&value), (false, false), "{value}");
    }
}

#[test]
fn every_key_is_described() {
    let schema = schema();
    for key in MANIFEST_KEYS {
        let said = schema["properties"][key]["description"].as_str();
        assert!(said.is_some_and(|said| said.ends_with('.')), "{key}");
    }
    assert!(jsonschema::meta::is_valid(&schema));
}
