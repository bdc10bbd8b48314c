//! Requests that name a cage, and those that misname it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Subject, split};

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Rest {
    argv: Vec<String>,
    deeper: Deeper,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Deeper {
    #[serde(rename = "inner")]
    _inner: bool,
}

fn read(value: Value) -> Result<(Subject, Rest), String> {
    let Value::Object(fields) = value else { panic!("no object") };
    split(fields).map_err(|problem| problem.message)
}

#[test]
fn a_request_is_split_into_its_subject_and_the_rest() {
    let (subject, rest) = read(json!({
        "project": "/p", "cage": "x", "agent": null, "argv": ["true"],
        "rules": { "ro": ["/a"], "pids": 5, "cpus": 1.5, "host_ports": [80, "81"] },
    }))
    .unwrap();
    assert_eq!(rest.argv, ["true"]);
    assert_eq!(subject.cage.as_deref(), Some("x"));
    let words = subject.rules;
    assert_eq!((words.pids.as_deref(), words.cpus.as_deref()), (Some("5"), Some("1.5")));
    assert_eq!(words.host_ports, ["80", "81"]);
}

/// K208: a list of capabilities that is empty, null or no list is no request for another cage.
#[test]
fn capabilities_are_some_or_not_there() {
    let (subject, _) = read(json!({ "capabilities": ["exec:git"] })).unwrap();
    assert!(subject.is_plugin());
    assert!(!read(json!({})).unwrap().0.is_plugin());
    for wrong in [json!([]), json!(null), json!("exec:git"), json!([1]), json!({ "exec": "git" })] {
        let message = read(json!({ "capabilities": wrong })).unwrap_err();
        assert!(message.contains("the body is wrong"), "{message}");
    }
}

/// A misspelt field is answered with the one that was meant, wherever it stands.
#[test]
fn the_field_that_was_meant_is_named() {
    for (value, meant) in [
        (json!({ "projekt": "/p" }), "project"),
        (json!({ "argvs": [] }), "argv"),
        (json!({ "rules": { "memmory": "1G" } }), "memory"),
        (json!({ "rules": { "host_port": [80] } }), "host_ports"),
    ] {
        let Value::Object(fields) = value else { panic!("no object") };
        let problem = split::<Rest>(fields).unwrap_err();
        assert_eq!(problem.help.first(), Some(&format!("did you mean `{meant}`?")), "{problem:?}");
    }
}

/// The list of fields is that of the whole body, and not of the part that refused one.
#[test]
fn every_field_that_a_body_has_is_listed() {
    let message = read(json!({ "nonsense": 1 })).unwrap_err();
    let known = "expected one of `argv`, `deeper`, `project`, `policy`, `cage`, `agent`, `profile`, `capabilities`, \
                 `working_directory`, `environment`, `rules`";
    assert!(message.ends_with(known), "{message}");
    let message = read(json!({ "rules": { "nonsense": 1 } })).unwrap_err();
    assert!(message.contains("`memory`") && !message.contains("`project`"), "{message}");
    let message = read(json!({ "deeper": { "nonsense": 1 } })).unwrap_err();
    assert!(message.ends_with("expected `inner`"), "{message}");
}

/// T52, T61: what is misspelt is refused and not left out.
#[test]
fn unknown_names_are_refused() {
    for (value, name) in [
        (json!({ "projekt": "/p" }), "projekt"),
        (json!({ "rules": { "hidden": ["/p"] } }), "hidden"),
        (json!({ "project": 5 }), "string"),
    ] {
        let message = read(value).unwrap_err();
        assert!(message.contains(name), "{message}");
    }
}
