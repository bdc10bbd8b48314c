//! Lines that a pool is asked by.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::{Id, Line};

fn why(line: &str) -> (Option<Id>, String) {
    let bad = Line::read(line.as_bytes()).unwrap_err();
    (bad.id, bad.why)
}

/// A25
#[test]
fn a_line_runs_a_guest_or_stops_one() {
    let line = r#"{"id": 7, "file": "a.js", "arguments": ["x"], "seconds": 0.5, "memory_mb": 64}"#;
    let Line::Run(request) = Line::read(line.as_bytes()).unwrap() else { panic!("no request") };
    assert_eq!(request.id, Id::Number(7));
    assert_eq!(request.file.as_deref(), Some("a.js"));
    assert_eq!(request.time().unwrap().as_millis(), 500);
    let stop = Line::read(br#"{"id": "seven", "stop": true}"#).unwrap();
    assert_eq!(stop, Line::Stop(Id::Text("seven".to_owned())));
}

/// A25
#[test]
fn a_line_that_is_wrong_says_what() {
    for (line, id, part) in [
        ("", None, "not JSON"),
        ("[]", None, "not an object"),
        (r#"[1, "a.js"]"#, None, "not an object"),
        (r#"{"file": "a.js"}"#, None, "`id` is a number or text"),
        (r#"{"id": 1}"#, Some(1), "neither `file` nor `script`"),
        (r#"{"id": 1, "file": "a", "script": ""}"#, Some(1), "exclude each other"),
        (r#"{"id": 1, "file": "a", "colour": 1}"#, Some(1), "unknown field `colour`"),
        (r#"{"id": 1, "file": ""}"#, Some(1), "not a path"),
        (r#"{"id": 1, "file": "a", "seconds": -1}"#, Some(1), "`seconds` is not a time"),
        (r#"{"id": 1, "file": "a", "seconds": 1e300}"#, Some(1), "`seconds` is not a time"),
        (r#"{"id": 1, "file": "a", "seconds": 0}"#, Some(1), "`seconds` is not a time"),
        (r#"{"id": 1, "file": "a", "memory_mb": 0}"#, Some(1), "`memory_mb` is 0"),
        (r#"{"id": 1, "file": "a", "arguments": ["\u0000"]}"#, Some(1), "zero byte"),
        (r#"{"id": 1, "file": "a", "environment": {"A=": "b"}}"#, Some(1), "not a variable"),
        (r#"{"id": 1, "stop": false}"#, Some(1), "`stop` is `true`"),
        (r#"{"id": 1, "stop": true, "file": "a"}"#, Some(1), "unknown field `file`"),
    ] {
        let (found, text) = why(line);
        assert_eq!(found, id.map(Id::Number), "{line}");
        assert!(text.contains(part), "{line}: {text}");
    }
}
