//! What a call would get, without making it; and the shape of a manifest.

use serde_json::Value;

use super::executor::Tool;

const LINES: &str = "\
[args.path]
type = \"path\"
[[capabilities]]
name = \"fs:read\"
hints = [\"~/notes/**\", \"arg:path\"]
[[capabilities]]
name = \"fs:write\"
hints = [\"~/out/**\"]
[[capabilities]]
name = \"code:exec\"
[[capabilities]]
name = \"network:https\"
hints = [\"example.com\"]
";

/// M2, M90: everything derives from the manifest, and `check` shows it before anything runs or is made.
#[test]
fn check_shows_the_cage_of_a_call() {
    let tool = Tool::new(LINES, "answer()");
    tool.file("notes/a", "x");
    let check = |flags: &[&str]| tool.ask(&[&["check", "--manifest", "@"], flags].concat());
    let ended = check(&["--args", r#"{"path": "~/notes/a"}"#]);
    ended.expect_code(0).prints("notes/a").prints("example.com:443");
    ended.says("somebody has to approve `code:exec`").says("would be made");
    assert!(!tool.home("out").exists() && tool.place.records().is_empty());
    // Without arguments what depends on them is not given.
    let ended = check(&[]);
    ended.expect_code(0).says("the argument `path` is not known");
    assert!(!ended.stdout.contains("notes"), "{}", ended.stdout);
    check(&["--autonomy", "read_only"]).expect_code(125).says("code:exec");
    let json = check(&["--json", "--args", r#"{"path": "~/notes/a"}"#]);
    let told: Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    assert_eq!(told["asks"][0]["capability"], "code:exec");
    assert!(told["create"][0].as_str().unwrap().ends_with("/out"));
    assert!(told["plan"].is_object() && told["narrowed"].is_array() && told["notes"].is_array());
    check(&["--net", "example.com"]).expect_code(2).says("cannot be used with");
    tool.ask(&["check", "--args", "{}"]).expect_code(2).says("--manifest");
}

#[test]
fn the_schema_describes_what_is_read() {
    let tool = Tool::new(LINES, "answer()");
    let ended = tool.ask(&["schema", "--manifest"]);
    let schema: Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good = serde_json::json!({
        "name": "tool", "version": "1", "code": "tool.py",
        "capabilities": [{ "name": "fs:read", "hints": ["~/notes/**"] }, "time:read"],
    });
    assert!(validator.is_valid(&good));
    assert!(!validator.is_valid(&serde_json::json!({ "name": "tool", "nonsense": 1 })));
}
