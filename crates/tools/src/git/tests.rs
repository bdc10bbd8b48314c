//! The lines that the tool runs: every word of a model's is one word, and none is an option.

use serde_json::{Value, json};

use super::{Git, line};
use crate::parameters::Given;
use crate::tool::Tool as _;

fn of(arguments: &Value) -> Result<String, String> {
    let arguments = arguments.as_object().unwrap();
    let given = Given::check("git", Git.parameters(), arguments).map_err(|error| error.text)?;
    line(&given).map_err(|error| error.text)
}

/// V25
#[test]
fn every_command_has_its_line() {
    for (arguments, end) in [
        (json!({ "command": "status" }), "status --short --branch"),
        (
            json!({ "command": "diff", "revision": "a..b", "paths": [{ "path": "x y" }] }),
            "diff --no-ext-diff 'a..b' -- 'x y'",
        ),
        (
            json!({ "command": "commit", "message": "it's" }),
            r"add --all && git --no-pager -c color.ui=false -c core.quotepath=false commit --message='it'\''s'",
        ),
        (
            json!({ "command": "commit", "message": "m", "paths": [{ "path": "-a" }] }),
            "add -- '-a' && git --no-pager -c color.ui=false -c core.quotepath=false commit --message='m' -- '-a'",
        ),
        (json!({ "command": "branch", "name": "new" }), "switch --create 'new'"),
    ] {
        let line = of(&arguments).unwrap();
        assert!(line.starts_with("git --no-pager ") && line.ends_with(end), "{line}");
    }
}

/// V25
#[test]
fn what_could_be_an_option_is_refused() {
    for arguments in [
        json!({ "command": "push" }),
        json!({ "command": "diff", "revision": "--output=/tmp/x" }),
        json!({ "command": "log", "revision": "" }),
        json!({ "command": "branch", "name": "-D" }),
        json!({ "command": "commit", "message": " " }),
        json!({ "command": "commit" }),
        json!({ "command": "status", "count": 501 }),
    ] {
        assert!(of(&arguments).is_err(), "{arguments}");
    }
}
