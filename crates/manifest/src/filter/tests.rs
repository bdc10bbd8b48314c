//! Tables of arguments.

use serde_json::json;

use super::*;

const TYPED: &str = "code = \"x.py\"\n[args.path]\ntype = \"path\"\n[args.paths]\ntype = \"list\"\n\
    items = \"path\"\n[args.url]\ntype = \"url\"\n[args.note]\ntype = \"text\"\n\
    [args.body]\ntype = \"content\"\n[args.bodies]\ntype = \"list\"\nitems = \"content\"\n\
    [args.count]\ntype = \"integer\"\n[args.size]\ntype = \"number\"\n[args.deep]\ntype = \"object\"\n\
    [args.yes]\ntype = \"boolean\"\n[args.mode]\ntype = \"text\"\none_of = [\"a\", \"b\"]";

fn manifest(text: &str) -> Manifest {
    Manifest::from_toml("m", text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn check(manifest: &Manifest, arguments: Value) -> Result<CheckedArguments, FilterError> {
    let home = HostPath::new("/home/u").unwrap();
    Filter::default().check(manifest, arguments.as_object().unwrap().clone(), Some(&home))
}

fn refused(arguments: Value) -> (String, FilterRule) {
    let error = check(&manifest(TYPED), arguments.clone()).expect_err(&arguments.to_string());
    (error.argument, error.rule)
}

/// M3, M45: what is ordinary goes through, unchanged.
#[test]
fn ordinary_arguments_go_through() {
    let typed = manifest(TYPED);
    for arguments in [
        json!({}),
        json!({ "path": "/notes/todo.md", "note": "see /srv/data and ../x", "count": 3, "size": 1.5 }),
        json!({ "paths": ["/a", "b/c"], "url": "https://example.com/a/../b", "yes": true, "mode": "a" }),
        json!({ "body": "/etc/shadow\u{0}-----BEGIN PRIVATE KEY-----", "bodies": ["~/.ssh/id"] }),
        json!({ "deep": { "a": [{ "b": "text" }], "c": null }, "note": null }),
        json!({ "path": "/home/u", "note": "~" }),
        json!({ "path": "/devices/x", "note": "/procedure" }),
    ] {
        let checked = check(&typed, arguments.clone()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Value::Object(checked.as_map().clone()), arguments);
    }
}

/// M38: a path gets the home in the place of `~`, which its program would take for a name; nothing else does.
#[test]
fn paths_get_the_home() {
    let typed = manifest(TYPED);
    let arguments =
        json!({ "path": "~/notes", "paths": ["~/a", "/b"], "note": "~/x", "body": "~/y" });
    let checked = check(&typed, arguments).unwrap();
    let expected = json!({
        "path": "/home/u/notes", "paths": ["/home/u/a", "/b"], "note": "~/x", "body": "~/y",
    });
    assert_eq!(Value::Object(checked.as_map().clone()), expected);
}

/// M3: arguments are of the types that the manifest says.
#[test]
fn types_are_held() {
    use ArgumentType as T;
    for (arguments, name, rule) in [
        (json!({ "other": 1 }), "other", FilterRule::Unknown),
        (json!({ "path": 1 }), "path", FilterRule::WrongType(T::Path)),
        (json!({ "path": ["/a"] }), "path", FilterRule::WrongType(T::Path)),
        (json!({ "paths": "/a" }), "paths", FilterRule::WrongType(T::List)),
        (json!({ "paths": ["/a", 1] }), "paths", FilterRule::WrongItems(T::Path)),
        (json!({ "count": 1.5 }), "count", FilterRule::WrongType(T::Integer)),
        (json!({ "size": "1" }), "size", FilterRule::WrongType(T::Number)),
        (json!({ "yes": 1 }), "yes", FilterRule::WrongType(T::Boolean)),
        (json!({ "deep": [] }), "deep", FilterRule::WrongType(T::Object)),
        (json!({ "body": {} }), "body", FilterRule::WrongType(T::Content)),
        (json!({ "mode": "c" }), "mode", FilterRule::NotOneOf),
    ] {
        assert_eq!(refused(arguments), (name.to_owned(), rule));
    }
    let required = manifest("code = \"x.py\"\n[args.a]\ntype = \"text\"\nrequired = true");
    for arguments in [json!({}), json!({ "a": null })] {
        let error = check(&required, arguments).expect_err("it is required");
        assert!(matches!(error.rule, FilterRule::Required | FilterRule::WrongType(_)), "{error}");
    }
}

/// M3: forbidden paths and patterns are refused wherever they stand, and never repeated.
#[test]
fn forbidden_things_are_refused_and_not_repeated() {
    let secret = |name| FilterRule::Secret(name);
    for (arguments, name, rule) in [
        (json!({ "path": "~/.ssh/id_ed25519" }), "path", secret("SSH keys")),
        (json!({ "path": "/home/u/.ssh" }), "path", secret("SSH keys")),
        (json!({ "path": "/home/other/.aws/credentials" }), "path", secret("AWS credentials")),
        (json!({ "note": "/home/u/notes/../.ssh/id" }), "note", secret("SSH keys")),
        (json!({ "note": " $HOME/.ssh/id" }), "note", secret("SSH keys")),
        (json!({ "note": "~root/.ssh/id" }), "note", secret("SSH keys")),
        (json!({ "note": "file:///home/u/%2essh/id" }), "note", secret("SSH keys")),
        (json!({ "note": "FILE://localhost/root/.ssh" }), "note", secret("SSH keys")),
        (json!({ "deep": { "a": [1, { "b": "~/.ssh" }] } }), "deep.a.1.b", secret("SSH keys")),
        (json!({ "deep": { "~/.ssh": 1 } }), "deep", secret("SSH keys")),
        (json!({ "path": "~/.ssh/\u{0}x" }), "path", FilterRule::ControlCharacter),
        (json!({ "note": "/etc/shadow\u{0}.txt" }), "note", FilterRule::ForbiddenPath(3)),
        (json!({ "paths": ["/a", "/proc/self/environ"] }), "paths.1", FilterRule::ForbiddenPath(7)),
        (json!({ "path": "//etc/./shadow" }), "path", FilterRule::ForbiddenPath(3)),
        (json!({ "path": "/a\n" }), "path", FilterRule::ControlCharacter),
        (json!({ "path": "a/../b" }), "path", FilterRule::Upwards),
        (json!({ "path": ".." }), "path", FilterRule::Upwards),
        (json!({ "url": "https://x.example/ y" }), "url", FilterRule::ControlCharacter),
        (json!({ "url": "file:///srv/data" }), "url", FilterRule::FileUrl),
        (json!({ "url": "http://169.254.169.254/latest" }), "url", FilterRule::ForbiddenPattern(1)),
        (
            json!({ "note": "-----BEGIN RSA PRIVATE KEY-----" }),
            "note",
            FilterRule::ForbiddenPattern(0),
        ),
    ] {
        let (argument, found) = refused(arguments.clone());
        assert_eq!((argument.as_str(), &found), (name, &rule), "{arguments}");
        let message = FilterError { argument, rule: found }.to_string();
        for value in ["id_ed25519", "environ", "latest", "RSA", "localhost", "~/.ssh"] {
            assert!(!message.contains(value), "{message}");
        }
    }
}

/// M3: without types every text is looked at, and only `path_args` are paths.
#[test]
fn without_types_every_text_is_looked_at() {
    let untyped = manifest("code = \"x.py\"\npath_args = [\"file\"]");
    assert!(check(&untyped, json!({ "anything": "a/../b", "n": [1, { "x": "y" }] })).is_ok());
    for (arguments, rule) in [
        (json!({ "anything": "/etc/shadow" }), FilterRule::ForbiddenPath(3)),
        (json!({ "file": "a/../b" }), FilterRule::Upwards),
        (json!({ "file": ["a", "../b"] }), FilterRule::Upwards),
    ] {
        assert_eq!(check(&untyped, arguments).expect_err("forbidden").rule, rule);
    }
    let error = check(&untyped, json!({ "/etc/shadow": 1 })).expect_err("a forbidden name");
    assert_eq!(error.argument, "?");
}

/// M3: a filter that cannot be read lets nothing through, and neither does a value too deep for it.
#[test]
fn a_filter_that_errs_denies() {
    let untyped = manifest("code = \"x.py\"");
    let home = HostPath::new("/home/u").unwrap();
    let with = |filter: Filter| filter.check(&untyped, Map::new(), Some(&home));
    for pattern in ["(", "[z-a]", "a{9999999}"] {
        let filter =
            Filter { patterns: vec!["x".to_owned(), pattern.to_owned()], ..Filter::default() };
        assert_eq!(with(filter).expect_err(pattern).rule, FilterRule::BadPattern(1));
    }
    for path in ["", "relative", "*"] {
        let filter = Filter { paths: vec![path.to_owned()], ..Filter::default() };
        assert_eq!(with(filter).expect_err(path).rule, FilterRule::BadPath(0));
    }
    let nothing = Filter { paths: Vec::new(), patterns: Vec::new() };
    assert!(with(nothing).is_ok());
    let mut deep = json!("x");
    for _ in 0..=MAX_DEPTH {
        deep = json!([deep]);
    }
    assert_eq!(check(&untyped, json!({ "a": deep })).expect_err("deep").rule, FilterRule::TooDeep);
}

/// M45: a caller's own paths and patterns are finer than any root.
#[test]
fn a_caller_forbids_more() {
    let untyped = manifest("code = \"x.py\"\npath_args = [\"p\"]");
    let home = HostPath::new("/home/u").unwrap();
    let filter =
        Filter { paths: vec!["~/notes/private".to_owned()], patterns: vec![r"\.key$".to_owned()] };
    let check = |path: &str| {
        let arguments = json!({ "p": path }).as_object().unwrap().clone();
        filter.check(&untyped, arguments, Some(&home)).map(drop).map_err(|error| error.rule)
    };
    assert_eq!(check("~/notes/public"), Ok(()));
    assert_eq!(check("/home/u/notes/private/x"), Err(FilterRule::ForbiddenPath(0)));
    assert_eq!(check("~/notes/a.key"), Err(FilterRule::ForbiddenPattern(0)));
}
