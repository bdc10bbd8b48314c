//! Manifests that are read, and what is wrong with others.

use serde_json::json;

use super::*;
use crate::model::{ArgumentType, Backend, DEFAULT_OUTPUT, Hint, Limits, Test};

fn toml(text: &str) -> Result<Manifest, ManifestErrors> {
    Manifest::from_toml("m.toml", text.as_bytes())
}

fn dict(value: Value) -> Result<Manifest, ManifestErrors> {
    Manifest::from_value("dict", &value)
}

const WHOLE: &str = r#"name = "read_notes"
version = "1.2.0"
summary = "Reads notes"
code = "read_notes.py"
files = [{ path = "read_notes.py", sha256 = "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef" }]
path_args = ["path"]
timeout_sec = 20
max_output = "2M"
backend = "bwrap"
memory = "512M"
pids = 64
cpus = 1.5

[args.path]
type = "text"
required = true

[args.mode]
type = "text"
one_of = ["read", "list"]

[args.items]
type = "list"
items = "object"

[[capabilities]]
name = "fs:read"
hints = ["~/notes/**", "arg:path"]
when = { arg = "mode", in = ["read", "list"] }

[[capabilities]]
name = "network:https"
hint = "api.example.com"
when = { arg = "items", any_has = "url" }

[[capabilities]]
name = "time:read"
"#;

/// M2, M12, M29: text and dictionary have one shape.
#[test]
fn a_whole_manifest_is_read() {
    let manifest = toml(WHOLE).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("read_notes", "1.2.0"));
    assert_eq!(manifest.interpreter, ["python3"]);
    assert_eq!(manifest.backend, Backend::Bwrap);
    let limits = Limits {
        timeout_sec: 20,
        max_output: 2 * 1024 * 1024,
        memory_mb: Some(512),
        pids: Some(64),
        cpu_millis: Some(1500),
    };
    assert_eq!(manifest.limits, limits);
    assert!(manifest.files[0].sha256.ends_with("abcdef") && manifest.files[0].sha256.is_ascii());
    assert!(!manifest.files[0].sha256.contains('A'));
    assert_eq!(manifest.text_type_of("path"), ArgumentType::Path);
    assert_eq!(manifest.text_type_of("other"), ArgumentType::Text);
    let [files, network, time] = manifest.capabilities.as_slice() else { panic!() };
    assert_eq!(files.hints[1], Hint::Argument("path".to_owned()));
    assert_eq!(files.when.as_ref().unwrap().test, Test::In(vec![json!("read"), json!("list")]));
    assert_eq!(network.when.as_ref().unwrap().test, Test::AnyHas("url".to_owned()));
    assert_eq!(time.to_string(), "time:read");
    let as_dict: Value = toml::from_str(WHOLE).unwrap();
    assert_eq!(dict(as_dict).unwrap(), manifest);
}

/// M12, M67: of an executor only the code is needed; the rest has a value.
#[test]
fn little_is_needed() {
    let manifest =
        dict(json!({ "code_path": "/srv/x/send mail.v2.py", "capabilities": [] })).unwrap();
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("send_mail", "0"));
    assert_eq!((manifest.limits.timeout_sec, manifest.limits.max_output), (30, DEFAULT_OUTPUT));
    assert_eq!(manifest.arguments, None);
    let code = plan::HostPath::new("/srv/x/main").unwrap();
    for (code_path, interpreter) in [
        ("main.py", vec!["python3"]),
        ("a.b/main.js", vec!["node"]),
        ("main.mjs", vec!["node"]),
        ("a.py/main", vec![]),
        (".py", vec!["python3"]),
    ] {
        let manifest = dict(json!({ "code_path": code_path })).unwrap();
        assert_eq!(manifest.interpreter, interpreter, "{code_path}");
        let command = manifest.command(&code);
        assert_eq!(command.last().map(String::as_str), Some("/srv/x/main"));
        assert_eq!(command.len(), interpreter.len() + 1);
    }
    let own = dict(json!({ "code": "x.py", "interpreter": ["python3", "-I"] })).unwrap();
    assert_eq!(own.interpreter, ["python3", "-I"]);
}

/// M28, M29, M36, M39, M46: both forms of a capability, `hint` and `hints`; what says nothing is reported.
#[test]
fn capabilities_have_two_forms() {
    let manifest = dict(json!({ "code": "x", "capabilities": [
        "fs:read",
        { "name": "fs:read", "hint": "/a/**" },
        { "name": "fs:read", "hint": ["/a", "/a", 1, null, ["x"], "", "rel", "~bob"] },
        { "name": "mail:send", "hints": ["x@example.com"] },
    ] }))
    .unwrap_or_else(|errors| panic!("{errors}"));
    let counts: Vec<(usize, usize)> =
        manifest.capabilities.iter().map(|one| (one.hints.len(), one.ignored.len())).collect();
    assert_eq!(counts, [(0, 0), (1, 0), (1, 6), (0, 1)]);
}

/// Errors name the line, the key, what there is and what was meant; all of them at once.
#[test]
fn every_error_of_a_text_at_once() {
    let errors = toml(
        "name = \"a b\"\ncode = \"x.py\"\ntimeout_sek = 3\n\n[[capabilities]]\nname = \"fs:raed\"\n\n\
         [[capabilities]]\nname = \"fs:read\"\nhints = [\"/a/../b\"]\n",
    )
    .unwrap_err();
    let lines: Vec<Option<u32>> = errors.errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [Some(1), Some(3), Some(6), Some(10)]);
    let text = errors.to_string();
    for part in [
        "m.toml:3: there is no key `timeout_sek` here; did you mean `timeout_sec`?",
        "m.toml:1: name: `a b` is no name of an executor",
        "m.toml:6: capabilities[0].name: there is no capability `fs:raed`; did you mean `fs:read`? there are `fs:read`, `fs:write`",
        "m.toml:10: capabilities[1].hints: the hint `/a/../b` has a `..` in it",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let code = "code = \"x.py\"\n";
    for (text, message) in [
        ("", "`code` is missing"),
        ("code = 1", "must be a text, not a whole number"),
        ("code = \"../x.py\"", "no path of a file"),
        ("code = \"~/x.py\"", "no path of a file"),
        ("code = \"x/\"", "no path of a file"),
        ("code = \"x\"\ncode_path = \"x\"", "are the same"),
        ("code = \"x\"\ncode = \"y\"", "duplicate key"),
        ("code = ", "string"),
        ("interpreter = [1]", "must be a text"),
        ("interpreter = \"python3\"", "must be a list"),
        ("timeout_sec = 0", "1 to 86400"),
        ("timeout_sec = 86401", "1 to 86400"),
        ("timeout_sec = 1.5", "1 to 86400"),
        ("max_output = \"65M\"", "64 MiB"),
        ("max_output = \"1G\"", "64 MiB"),
        ("memory = \"1M\"", "16 MiB"),
        ("pids = -1", "4194304"),
        ("cpus = 0", "0.01"),
        ("backend = \"docker\"", "there are `native`, `bwrap`"),
        ("files = [{ path = \"x\" }]", "needs `path` and `sha256`"),
        ("files = [{ path = \"x\", sha256 = \"12\" }]", "64 hexadecimal digits"),
        ("files = [{ path = \"../x\", sha256 = \"12\" }]", "no path of a file"),
        ("path_args = [\"x\"]\nargs = {}", "no argument `x`"),
        ("path_args = [\"x\"]\nargs.x.type = \"integer\"", "is of the type `integer`"),
        ("args.x = {}", "`type` is missing"),
        ("args.x.type = \"string\"", "there is no `string`"),
        ("args.x = { type = \"text\", items = \"text\" }", "`items` is for"),
        ("args.x = { type = \"list\", items = \"list\" }", "there is no `list`"),
        ("args.x = { type = \"text\", one_of = [] }", "not empty"),
        ("args.x = { type = \"text\", default = 1 }", "there is no key `default`"),
        ("capabilities = \"fs:read\"", "must be a list"),
        ("capabilities = [1]", "must be a table"),
        ("capabilities = [{ hint = \"/a\" }]", "`name` is missing"),
        ("capabilities = [\"fs\"]", "there is no capability `fs`"),
        ("capabilities = [\"docker:run\"]", "there is no capability"),
        ("capabilities = [{ name = \"fs:read\", hint = { x = 1 } }]", "must be a text or a list"),
        (
            "capabilities = [{ name = \"fs:read\", hint = \"/a\", hints = [\"/b\"] }]",
            "are the same",
        ),
        ("capabilities = [{ name = \"fs:read\", mode = \"x\" }]", "there is no key `mode`"),
        (
            "capabilities = [{ name = \"fs:read\", hints = [\"arg:x\"] }]\npath_args = [\"x\"]",
            "stands alone",
        ),
        ("capabilities = [{ name = \"fs:read\", hints = [\"/a\", \"arg:x\"] }]", "is no path"),
        (
            "capabilities = [{ name = \"fs:read\", hints = [\"/a\", \"arg:\"] }]",
            "names no argument",
        ),
        (
            "capabilities = [{ name = \"network:https\", hints = [\"a.example\", \"arg:x\"] }]\npath_args = [\"x\"]",
            "is no url",
        ),
        ("capabilities = [{ name = \"mail:send\", hints = [\"arg:x\"] }]", "bounds nothing"),
        (
            "capabilities = [{ name = \"network:tcp\", hints = [\"example.com\"] }]",
            "the port is missing",
        ),
        ("capabilities = [{ name = \"network:http\", hints = [\"*\"] }]", "declare `network:*`"),
        ("capabilities = [{ name = \"network:http\", hints = [\"localhost\"] }]", "localhost"),
        ("capabilities = [{ name = \"fs:read\", when = { arg = \"x\" } }]", "one condition"),
        ("capabilities = [{ name = \"fs:read\", when = { in = [1] } }]", "one condition"),
        (
            "capabilities = [{ name = \"fs:read\", when = { arg = \"x\", in = [] } }]",
            "one condition",
        ),
        (
            "capabilities = [{ name = \"fs:read\", when = { arg = \"x\", in = [1], non_empty = true } }]",
            "one condition",
        ),
        (
            "capabilities = [{ name = \"fs:read\", when = { arg = \"x\", non_empty = false } }]",
            "can only be `true`",
        ),
        (
            "capabilities = [{ name = \"fs:read\", when = { arg = \"x\", equals = 1 } }]",
            "there is no key `equals`",
        ),
        ("capabilities = [{ name = \"fs:read\", when = \"x\" }]", "must be a table"),
        (
            "capabilities = [{ name = \"fs:read\", when = { arg = \"y\", non_empty = true } }]\nargs.x.type = \"text\"",
            "is no argument",
        ),
    ] {
        let text = if text.contains("code") || text.is_empty() {
            text.to_owned()
        } else {
            format!("{code}{text}")
        };
        let errors = toml(&text).expect_err(&text).to_string();
        assert!(errors.contains(message), "{text}: {errors}");
    }
}

/// What is too large or too deep is refused before anything else looks at it, and errors can be shown.
#[test]
fn sizes_are_bounded() {
    assert!(Manifest::from_toml("m", &[b' '; MAX_TEXT_BYTES + 1]).is_err());
    assert!(Manifest::from_toml("m", b"\xff").is_err());
    let mut deep = json!(1);
    for _ in 0..1000 {
        deep = json!([deep]);
    }
    assert!(dict(json!({ "code": "x", "args": deep })).is_err());
    let many: Vec<&str> = vec!["fs:read"; MAX_ENTRIES + 1];
    assert!(dict(json!({ "code": "x", "capabilities": many })).is_err());
    let wrong: Vec<&str> = vec!["fs:\u{1b}[31m\u{202e}"; MAX_ENTRIES];
    let errors = dict(json!({ "code": "x", "capabilities": wrong })).unwrap_err();
    assert_eq!(errors.errors.len(), MAX_ERRORS);
    assert!(!errors.to_string().contains(|c: char| c != '\n' && policy::shown::misleads(c)));
    for value in [json!(null), json!([]), json!("x"), json!(1)] {
        assert!(dict(value).is_err());
    }
}
