//! Each tool by a table: what is called, and a part of what it answers. V23, V26.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Call, NAMES, Reader, Root, Shell, Spill, World, all};

/// A world over a small tree.
pub(crate) fn world() -> (TempDir, World) {
    let directory = TempDir::new().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    for name in ["src/deep", "node_modules/x", "empty"] {
        fs::create_dir_all(at(name)).expect("a directory");
    }
    for (name, content) in [
        ("a.txt", "one\ntwo\nthree\ntwo\n"),
        ("b.txt", "one\n2\nthree\ntwo\n"),
        ("src/main.rs", "fn main() {\n    old();\n}\n"),
        ("src/deep/lib.rs", "// Main\nfn two() {}\n"),
        ("node_modules/x/i.js", "two\n"),
        ("void", ""),
        ("data.json", r#"{"name": "x", "items": [{"n": 1}, {"n": 2}], "a key": {"b": true}}"#),
    ] {
        fs::write(at(name), content).expect("a file");
    }
    fs::write(at("binary"), b"\x00\xfftwo").expect("a file");
    symlink("/etc/passwd", at("out")).expect("a link");
    symlink("a.txt", at("in")).expect("a link");
    let root = Root::open(directory.path(), Path::new("/w"), Path::new("/w")).expect("a root");
    let world = World::new(root, Spill::new(None, 10_000), Shell::default());
    (directory, world)
}

fn call(world: &World, tool: &str, arguments: &Value) -> String {
    call_for(Reader::Anybody, world, tool, arguments)
}

fn call_for(reader: Reader, world: &World, tool: &str, arguments: &Value) -> String {
    let call = Call {
        world,
        reader,
        until: Instant::now() + Duration::from_secs(20),
        is_cancelled: &|| false,
        progress: &|_| {},
    };
    let tool = all().iter().find(|known| known.name() == tool).expect(tool);
    match tool.call(arguments.as_object().expect("an object"), &call) {
        Ok(spilled) => spilled.text,
        Err(error) => error.to_string(),
    }
}

/// V23, V26: what each tool answers, good and refused.
#[test]
fn each_tool_answers_and_refuses() {
    let mut wrong = String::new();
    for (tool, arguments, expected) in [
        (
            "read",
            json!({ "path": "a.txt" }),
            "     1\tone\n     2\ttwo\n     3\tthree\n     4\ttwo\n",
        ),
        (
            "read",
            json!({ "path": "/w/a.txt", "offset": 2, "limit": 1 }),
            "     2\ttwo\n[2 more lines: go on with `offset` 3]\n",
        ),
        ("read", json!({ "path": "a.txt", "offset": 9 }), "`a.txt` has 4 lines"),
        ("read", json!({ "path": "in" }), "     1\tone"),
        ("read", json!({ "path": "void" }), "`void` is empty"),
        ("read", json!({ "path": "nowhere" }), "error: nothing is at `nowhere`; `list`"),
        ("read", json!({ "path": "src" }), "error: `src` is a directory"),
        ("read", json!({ "path": "out" }), "error: `out` leads out"),
        ("read", json!({ "path": "../x" }), "error: `../x` leads out"),
        ("read", json!({ "path": "/etc/passwd" }), "error: `/etc/passwd` is outside"),
        ("read", json!({ "path": "binary" }), "error: `binary` is no text"),
        ("read", json!({}), "error: `path` is missing; `read` takes `path`, [`offset`], [`limit`]"),
        (
            "read",
            json!({ "path": 1, "line": 2 }),
            "error: `line` is no parameter, `path` has to be a string",
        ),
        (
            "read",
            json!({ "path": "a.txt", "offset": 0 }),
            "error: `offset` has to be a whole number from 1",
        ),
        ("read", json!({ "path": "a.txt", "offset": 4.0 }), "     4\ttwo"),
        (
            "list",
            json!({}),
            "a.txt  18\nb.txt  16\nbinary  5\ndata.json  66\nempty/\nin -> a.txt\nnode_modules/\nout -> /etc/passwd\nsrc/\nvoid  0\n",
        ),
        ("list", json!({ "path": "src", "depth": 3 }), "deep/\ndeep/lib.rs  20\nmain.rs  25\n"),
        ("list", json!({ "path": "empty" }), "`empty` is empty"),
        ("list", json!({ "path": "a.txt" }), "error: `a.txt` is no directory"),
        ("find", json!({ "pattern": "*.rs" }), "src/deep/lib.rs\nsrc/main.rs\n"),
        ("find", json!({ "pattern": "*.js" }), "nothing in `.` fits `*.js` (.git"),
        ("find", json!({ "pattern": "*.js", "everything": true }), "node_modules/x/i.js\n"),
        ("find", json!({ "pattern": "{" }), "error: `{` is no pattern: a `{` has no `}`"),
        ("grep", json!({ "pattern": "^t.o" }), "a.txt:2: two\na.txt:4: two\nb.txt:4: two\n"),
        (
            "grep",
            json!({ "pattern": "MAIN", "ignore_case": true, "glob": "src/**", "files_only": true }),
            "src/deep/lib.rs\nsrc/main.rs\n",
        ),
        ("grep", json!({ "pattern": "(" }), "error: the pattern is no regular expression"),
        ("grep", json!({ "pattern": "two", "path": "a.txt" }), "a.txt:2: two\na.txt:4: two\n"),
        ("search", json!({ "pattern": "main()" }), "src/main.rs:1: fn main() {\n"),
        ("search", json!({ "pattern": "nothing of this" }), "nothing in `.` fits"),
        (
            "edit",
            json!({ "path": "src/main.rs", "old": "old()", "new": "new()" }),
            "changed `src/main.rs` in line 2",
        ),
        (
            "edit",
            json!({ "path": "a.txt", "old": "two", "new": "2" }),
            "error: `old` is in `a.txt` 2 times, in lines 2, 4",
        ),
        (
            "edit",
            json!({ "path": "a.txt", "old": "two", "new": "2", "all": true }),
            "changed `a.txt` in line 2, 4",
        ),
        (
            "edit",
            json!({ "path": "src/main.rs", "old": "fn  main()  {\n  old();", "new": "" }),
            "it differs in spaces or line ends alone; see line 1",
        ),
        (
            "edit",
            json!({ "path": "a.txt", "old": "four", "new": "4" }),
            "error: `old` is not in `a.txt`: `read` the file again",
        ),
        ("edit", json!({ "path": "a.txt", "old": "", "new": "4" }), "error: `old` is empty"),
        ("edit", json!({ "path": "out", "old": "root", "new": "x" }), "error: `out` leads out"),
        (
            "write",
            json!({ "path": "new/deep/file", "content": "x\n" }),
            "made `new/deep/file`: 1 lines, 2 bytes",
        ),
        ("write", json!({ "path": "a.txt", "content": "" }), "replaced `a.txt`: 0 lines, 0 bytes"),
        ("write", json!({ "path": "src", "content": "" }), "error: `src` is a directory"),
        ("write", json!({ "path": "../out", "content": "" }), "error: `../out` leads out"),
        ("write", json!({ "path": "a.txt/x", "content": "" }), "error: `a.txt/x` leads through"),
        (
            "diff",
            json!({ "old": "a.txt", "new": "b.txt" }),
            "--- a.txt\n+++ b.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n two\n",
        ),
        ("diff", json!({ "old": "a.txt", "new": "in" }), "`a.txt` and `in` are the same"),
        ("json", json!({ "path": "data.json", "query": ".items[*].n" }), "1\n2"),
        ("json", json!({ "path": "data.json", "query": "$[\"a key\"].b" }), "true"),
        (
            "json",
            json!({ "path": "data.json", "query": "items[7]" }),
            "error: nothing is at `items[7]`",
        ),
        ("json", json!({ "path": "a.txt" }), "error: `a.txt` is no JSON"),
        ("todo", json!({}), "the list is empty"),
        ("todo", json!({ "items": [{ "text": "a", "state": "doing" }] }), "1. [doing] a\n"),
        (
            "todo",
            json!({ "items": [{ "text": "a", "state": "later" }] }),
            "error: `later` is no state",
        ),
        ("todo", json!({ "items": ["a"] }), "error: `items` has to be a list"),
        ("plan", json!({ "text": "first this" }), "first this"),
        ("memory", json!({ "name": "x", "text": "y" }), "noted `x`"),
        ("memory", json!({ "name": "x" }), "error: nothing is noted under `x`"),
        ("memory", json!({ "text": "x" }), "error: a note needs a `name`"),
        (
            "exec",
            json!({ "command": "true" }),
            "error: the command cannot be started: there is nothing to run",
        ),
    ] {
        let (_directory, world) = world();
        let answer = call(&world, tool, &arguments);
        let is_whole = expected.ends_with('\n');
        if is_whole && answer != expected || !answer.contains(expected) {
            wrong.push_str(&format!("{tool} {arguments}:\n{answer}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_was_changed_is_so_on_disk() {
    let (directory, world) = world();
    call(&world, "edit", &json!({ "path": "in", "old": "three\ntwo", "new": "3" }));
    assert_eq!(
        fs::read_to_string(directory.path().join("a.txt")).expect("a file"),
        "one\ntwo\n3\n"
    );
    assert!(directory.path().join("in").is_symlink());
    call(&world, "write", &json!({ "path": "new/file", "content": "é" }));
    assert_eq!(fs::read_to_string(directory.path().join("new/file")).expect("a file"), "é");
}

/// V39: the same lines are sent once to a conversation, until they change or are forgotten; whoever else asks gets them.
#[test]
fn lines_that_were_read_are_not_sent_again() {
    let (directory, world) = world();
    let read = || call_for(Reader::Conversation, &world, "read", &json!({ "path": "a.txt" }));
    let by_others = || call(&world, "read", &json!({ "path": "a.txt" }));
    assert!(by_others().contains("three") && by_others().contains("three"));
    assert!(read().contains("three"));
    assert!(by_others().contains("three"));
    assert_eq!(read(), "`a.txt` has not changed since you read these lines");
    fs::write(directory.path().join("a.txt"), "other\n").expect("a file");
    assert!(read().contains("other"));
    world.forget_reads();
    assert!(read().contains("other"));
}

#[test]
fn every_tool_has_a_schema_that_is_one() {
    let names: Vec<&str> = all().iter().map(|tool| tool.name()).collect();
    assert_eq!(names, NAMES);
    for tool in all() {
        let schema = tool.schema();
        assert_eq!(schema["type"], "object", "{}", tool.name());
        let properties = schema["properties"].as_object().expect("properties");
        assert!(
            properties.values().all(|property| property["description"].is_string()),
            "{}",
            tool.name()
        );
        assert!(!tool.doc().is_empty());
    }
}

#[test]
fn large_walks_end_when_they_are_cancelled() {
    let (_directory, world) = world();
    let tool = all().iter().find(|tool| tool.name() == "grep").expect("a tool");
    let call = Call {
        world: &world,
        reader: Reader::Anybody,
        until: Instant::now() + Duration::from_secs(9),
        is_cancelled: &|| true,
        progress: &|_| {},
    };
    let arguments = json!({ "pattern": "x" });
    let error = tool.call(arguments.as_object().expect("an object"), &call).expect_err("cancelled");
    assert_eq!(error.kind, crate::ErrorKind::Cancelled);
}
