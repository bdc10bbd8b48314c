//! Manifests and arguments that are refused before anything starts.

use serde_json::json;

use super::executor::Tool;
use super::support::Ended;

fn load(lines: &str) -> Ended {
    Tool::new(lines, "answer()").ask(&["invoke", "@", "--args", "{}"])
}

/// Every mistake is told with its place, and starts nothing.
#[test]
fn a_manifest_that_makes_no_sense_is_refused() {
    for (lines, part) in [
        ("[[capabilities]]\nname = \"fs:raed\"", "did you mean `fs:read`?"),
        ("[[capabilities]]\nname = \"teleport:now\"", "teleport"),
        ("[[capabilities]]\nname = \"time:read\"\nwhen = { arg = \"x\" }", "when"),
        ("[[capabilities]]\nname = \"time:read\"\nwhen = \"always\"", "when"),
        ("[[capabilities]]\nname = \"fs:read\"\nhints = [\"~/../x\"]", ".."),
        ("[[capabilities]]\nname = \"fs:read\"\nhints = [\"arg:path\"]", "arg:path"),
        ("timeout_sec = 0", "timeout_sec"),
        ("nonsense = 1", "nonsense"),
    ] {
        load(lines).expect_code(123).says(part);
    }
    let tool = Tool::new("", "answer()");
    tool.ask(&["invoke", "/nonexistent.toml", "--args", "{}"]).expect_code(123);
    assert!(tool.place.records().is_empty());
}

/// M3, M58: what the filter forbids is refused by key, and its value is told nowhere.
#[test]
fn the_filter_looks_first() {
    let lines = "[args.path]\ntype = \"path\"\n[args.note]\ntype = \"text\"";
    let tool = Tool::new(lines, "answer()");
    for arguments in [
        json!({ "path": "~/.ssh/id_rsa" }),
        json!({ "path": "~/a/../.ssh/id_rsa" }),
        json!({ "path": "~/.ssh/id_rsa\u{0}" }),
    ] {
        let called = tool.call(&arguments.to_string());
        called.fails("refused", 125).says("`path`");
        assert!(!called.answer.to_string().contains("id_rsa"), "{:#}", called.answer);
        assert!(called.answer["sandbox"].is_null() && called.answer["invocation"].is_null());
        // Also where there is no cage.
        let mut command = tool.command(&["invoke", "@", "--args", &arguments.to_string()]);
        let called = super::executor::Called::of(command.env("STOCKADE_SANDBOX", "off"));
        called.fails("refused", 125).says("`path`");
    }
    assert!(tool.place.records().is_empty());
}

/// A level denies what no cage could take away.
#[test]
fn read_only_refuses_what_a_cage_cannot_hold() {
    let tool = Tool::new("[[capabilities]]\nname = \"code:exec\"", "answer()");
    let called = tool.call_with(&["--autonomy", "read_only"], "{}");
    called.fails("refused", 125).says("code:exec");
    assert_eq!(called.answer["autonomy"], "read_only");
    tool.call_with(&["--autonomy", "full"], "{}").result();
    let ended = tool.ask(&["invoke", "@", "--args", "{}", "--autonomy", "total"]);
    ended.expect_code(2).says("read_only");
}

/// M49: the whole network is given by name alone.
#[test]
fn the_whole_network_needs_a_grant() {
    let tool = Tool::new("[[capabilities]]\nname = \"network:*\"", "answer()");
    tool.call("{}").fails("refused", 125);
    tool.call_with(&["--grant", "declared"], "{}").fails("refused", 125);
    // With the grant somebody has to agree, and nobody is there.
    let called = tool.call_with(&["--grant", "network:*"], "{}");
    called.fails("refused", 125).says("nobody approved");
}

/// T66: arguments have a bound.
#[test]
fn huge_arguments_are_refused() {
    use std::io::Write as _;
    let tool = Tool::new("", "answer()");
    let mut command = tool.command(&["invoke", "@"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text = format!("{{\"a\":\"{}\"}}", "x".repeat(16 << 20));
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["error"]["kind"], &answer["error"]["stream"]),
        (&json!("too_large"), &json!("arguments"))
    );
}

/// M68: one shape, whatever is wrong: also a manifest or arguments that cannot be read.
#[test]
fn what_cannot_be_read_is_refused_in_the_same_shape() {
    let tool = Tool::new("", "answer()");
    for arguments in ["{", "[]", "nonsense"] {
        let called = tool.call(arguments);
        called.fails("refused", 2).says("the arguments");
        assert_eq!(called.answer["error"]["code"], "usage");
    }
    tool.call_with(&["--grant", "nonsense"], "{}").fails("refused", 2).says("no grant");
    std::fs::write(&tool.manifest, "code = 1").unwrap();
    let called = tool.call("{}");
    called.fails("refused", 123).says("code");
    assert!(called.answer["sandbox"].is_null() && called.answer["autonomy"] == "supervised");
    std::fs::remove_file(&tool.manifest).unwrap();
    tool.call("{}").fails("refused", 123).says("cannot be read");
}
