//! What grants, arguments and the host leave of what a manifest declares.

use manifest::{Derived, ReasonCode, Refused};
use policy::FsAccess;
use serde_json::json;

use crate::calls::{Asking, CODE, compiled, derived, host_with_executor, read};
use crate::fake_host::host;

/// Derives a manifest with these capabilities, written as TOML, and typed arguments.
fn call(capabilities: &str, asking: &Asking) -> Result<Derived, Refused> {
    let manifest = read(&format!(
        "code = \"main.py\"\ncapabilities = [{capabilities}]\n\
         [args.path]\ntype = \"path\"\n[args.paths]\ntype = \"list\"\nitems = \"path\"\n\
         [args.url]\ntype = \"url\"\n[args.note]\ntype = \"text\"\n[args.mode]\ntype = \"text\""
    ));
    derived(&host_with_executor(), &manifest, asking)
}

/// The rules of a call without those that every executor has.
fn rules(derived: &Derived) -> Vec<String> {
    let own = [host(CODE), host("/opt")];
    let rules = derived.policy.fs.iter().filter(|rule| !own.contains(&rule.path));
    let files = rules.map(|rule| format!("{} {}", rule.access.word(), rule.path));
    files.chain(derived.policy.net.allow.keys().map(|to| format!("net {to}"))).collect()
}

fn given(capabilities: &str, asking: &Asking) -> Vec<String> {
    rules(&call(capabilities, asking).unwrap_or_else(|refused| panic!("{capabilities}: {refused}")))
}

fn refused(capabilities: &str, asking: &Asking) -> ReasonCode {
    match call(capabilities, asking) {
        Ok(derived) => panic!("{capabilities}: {:?}", rules(&derived)),
        Err(refused) => refused.reasons[0].code,
    }
}

const NOTES: &str = r#"{ name = "fs:write", hints = ["~/notes/**"] }"#;

/// M74: what holds is within the manifest and the grants.
#[test]
fn a_grant_takes_away_and_never_adds() {
    let write = "rw /home/dev/notes";
    for (grants, expected) in [
        (vec!["declared"], vec![write]),
        (vec!["fs:write:~/notes"], vec![write]),
        (vec!["fs:write:~"], vec![write]),
        (vec!["fs:read:~/notes/**"], vec!["ro /home/dev/notes"]),
        (vec!["fs:write:~/notes/todo.md"], vec!["rw /home/dev/notes/todo.md"]),
        (vec!["fs:write:~/other"], vec![]),
        (vec!["fs:write:/srv/data", "network:example.com", "network:*"], vec![]),
        (vec![], vec![]),
        (
            vec!["fs:read:~/notes", "fs:write:~/notes/todo.md"],
            vec!["ro /home/dev/notes", "rw /home/dev/notes/todo.md"],
        ),
    ] {
        let result = call(NOTES, &Asking::granting(&grants)).unwrap();
        assert_eq!(rules(&result), expected, "{grants:?}");
        assert_eq!(result.narrowed.is_empty(), expected == [write], "{grants:?}");
    }
    // A grant to write gives no more than the manifest declares.
    let reading = r#"{ name = "fs:read", hints = ["~/notes/**"] }"#;
    assert_eq!(given(reading, &Asking::granting(&["fs:write:~/notes"])), ["ro /home/dev/notes"]);
    let inside = Asking::granting(&["fs:write:~/notes/todo.md"]);
    assert_eq!(given(reading, &inside), ["ro /home/dev/notes/todo.md"]);
}

/// M37, T57: broad roots, secrets and addresses need a grant by name; some roots nobody can grant.
#[test]
fn what_is_too_broad_is_given_by_name_alone() {
    let reading = |hint: &str| format!("{{ name = \"fs:read\", hints = [\"{hint}\"] }}");
    for (hint, grant) in [
        ("~/**", "fs:read:~"),
        ("~", "fs:read:/home/dev"),
        ("/home/**", "fs:read:/home"),
        ("/etc/**", "fs:read:/etc"),
        ("/usr/share/**", "fs:read:/usr"),
        ("/srv/*", "fs:read:/srv"),
        ("~/.ssh/**", "fs:read:~/.ssh"),
        ("~/.ssh/known_hosts", "fs:read:~/.ssh/known_hosts"),
        ("/root/.ssh/*", "fs:read:/root/.ssh"),
    ] {
        for asking in [Asking::default(), Asking::granting(&["declared"])] {
            assert_eq!(refused(&reading(hint), &asking), ReasonCode::NeedsGrant, "{hint}");
        }
        assert!(call(&reading(hint), &Asking::granting(&[grant])).is_ok(), "{hint}");
    }
    // A wider grant does not name the secret inside it.
    let wide = Asking::granting(&["fs:read:~"]);
    assert_eq!(given(&reading("~/.ssh/**"), &wide), Vec::<String>::new());
    for hint in [
        "/**",
        "/",
        "/run/**",
        "/run/user/1000/bus",
        "/proc/**",
        "/dev/*",
        "host:/tmp/**",
        "~/.config/stockade/**",
    ] {
        for grants in
            [vec!["declared"], vec!["fs:read:/run", "fs:read:/proc", "fs:read:/dev", "fs:read:/"]]
        {
            let code = refused(&reading(hint), &Asking::granting(&grants));
            assert_eq!(code, ReasonCode::Ungrantable, "{hint}");
        }
    }
    let address = r#"{ name = "network:tcp", hints = ["10.0.0.5:22"] }"#;
    assert_eq!(refused(address, &Asking::default()), ReasonCode::NeedsGrant);
    assert_eq!(given(address, &Asking::granting(&["network:*"])), Vec::<String>::new());
    assert_eq!(given(address, &Asking::granting(&["network:10.0.0.5"])), ["net 10.0.0.5:22"]);
}

/// M27, T60: an executor never writes to its own code, and a root around it leaves it read-only.
#[test]
fn the_code_stays_as_it_is() {
    for hint in [format!("{CODE}/**"), format!("{CODE}/data/**"), CODE.to_owned()] {
        let writing = format!("{{ name = \"fs:write\", hints = [\"{hint}\"] }}");
        assert_eq!(refused(&writing, &Asking::default()), ReasonCode::Code, "{hint}");
    }
    let around = r#"{ name = "fs:write", hints = ["~/executors/**"] }"#;
    let result = call(around, &Asking::default()).unwrap();
    assert_eq!(rules(&result), ["rw /home/dev/executors"]);
    let (plan, _) = compiled(&host_with_executor(), &result);
    let argv: Vec<String> =
        plan::render::bwrap(&plan, 10).argv.iter().map(ToString::to_string).collect();
    let at = |path: &str| argv.iter().position(|word| word == path).unwrap();
    assert!(at("/home/dev/executors") < at(CODE), "the parent comes first: {argv:?}");
    assert_eq!(argv[at(CODE) - 1], "--ro-bind");
    let argument = r#"{ name = "fs:write", hints = ["~/executors/**", "arg:path"] }"#;
    let asking = Asking::with(json!({ "path": format!("{CODE}/main.py") }));
    assert_eq!(refused(argument, &asking), ReasonCode::Code);
}

/// M27, T57: a grant inside a root gives neither our own state nor the code.
#[test]
fn a_grant_inside_a_root_is_looked_at_as_well() {
    for (hint, grant, code) in [
        ("~/**", "fs:write:~/.config/stockade", ReasonCode::Ungrantable),
        ("~/executors/**", "fs:write:~/executors/one/data", ReasonCode::Code),
    ] {
        let writing = format!("{{ name = \"fs:write\", hints = [\"{hint}\"] }}");
        assert_eq!(refused(&writing, &Asking::granting(&[grant])), code, "{grant}");
    }
}

/// M25: a directory of code that is a home or a secret shows more than code.
#[test]
fn code_lies_in_a_directory_of_its_own() {
    let manifest = read("code = \"main.py\"");
    for directory in ["/home/dev", "/home", "/etc", "/run/x", "/tmp", "/home/dev/.ssh", "/"] {
        let mut here = host_with_executor();
        here.project = directory;
        let refused = derived(&here, &manifest, &Asking::default()).unwrap_err();
        assert_eq!(refused.reasons[0].code, ReasonCode::Code, "{directory}");
    }
    for directory in ["/usr/src/app", "/opt/tools", "/tmp/work", "/home/dev/project"] {
        let mut here = host_with_executor();
        here.project = directory;
        assert!(derived(&here, &manifest, &Asking::default()).is_ok(), "{directory}");
    }
}

/// M35, T59: what is missing is left out, made or refused; no write succeeds and vanishes.
#[test]
fn a_missing_root_is_left_out_made_or_refused() {
    let result =
        call(r#"{ name = "fs:read", hints = ["~/none/**"] }"#, &Asking::default()).unwrap();
    assert_eq!(rules(&result), Vec::<String>::new());
    assert_eq!(result.notes, ["`~/none/**` of `fs:read` does not exist and is left out"]);
    for hint in ["~/none/**", "~/none/"] {
        let writing = format!("{{ name = \"fs:write\", hints = [\"{hint}\"] }}");
        let result = call(&writing, &Asking::default()).unwrap();
        assert_eq!(result.create, [host("/home/dev/none")]);
        assert_eq!(rules(&result), ["rw /home/dev/none"]);
    }
    for hint in ["~/none", "~/none/deep/**", "~/notes/todo.md/x/**"] {
        let writing = format!("{{ name = \"fs:write\", hints = [\"{hint}\"] }}");
        assert_eq!(refused(&writing, &Asking::default()), ReasonCode::Missing, "{hint}");
    }
    let argument = r#"{ name = "fs:write", hints = ["~/notes/**", "arg:path"] }"#;
    let new = |path: &str| Asking::with(json!({ "path": path }));
    for path in ["~/notes/new.md", "~/notes/new/"] {
        assert_eq!(refused(argument, &new(path)), ReasonCode::Missing, "{path}");
    }
}

/// M23, M41, M42: what lies under `/tmp` is the cage's own, unless the host's is named.
#[test]
fn a_hint_under_tmp_means_the_cages_own() {
    for hint in ["/tmp/**", "/tmp/*", "/tmp", "/tmp/work/**", "/var/tmp/**"] {
        let capability = format!("{{ name = \"fs:write\", hints = [\"{hint}\"] }}");
        let result = call(&capability, &Asking::default()).unwrap();
        assert_eq!(rules(&result), Vec::<String>::new(), "{hint}");
        assert_eq!(result.notes.len(), 1, "{hint}");
    }
    let named = r#"{ name = "fs:write", hints = ["host:/tmp/work/**"] }"#;
    assert_eq!(given(named, &Asking::default()), ["rw /tmp/work"]);
    let argument = r#"{ name = "fs:write", hints = ["/tmp/**", "arg:path"] }"#;
    let asking = Asking::with(json!({ "path": "/tmp/work/in" }));
    assert_eq!(given(argument, &asking), Vec::<String>::new());
}

/// T61: an argument narrows what is declared; it leads nowhere else, whatever it looks like.
#[test]
fn an_argument_only_narrows() {
    let reading =
        r#"{ name = "fs:read", hints = ["~/notes/**", "/srv/data/**", "arg:path", "arg:paths"] }"#;
    let path = |path: &str| Asking::with(json!({ "path": path }));
    assert_eq!(given(reading, &path("~/notes/todo.md")), ["ro /home/dev/notes/todo.md"]);
    assert_eq!(given(reading, &path("/home/dev//notes/./")), ["ro /home/dev/notes"]);
    assert_eq!(given(reading, &path("/srv/data/set")), ["ro /srv/data/set"]);
    let both = Asking::with(json!({ "paths": ["~/notes", "/srv/data/set"], "path": null }));
    assert_eq!(given(reading, &both), ["ro /home/dev/notes", "ro /srv/data/set"]);
    let result = call(reading, &path("~/notes/todo.md")).unwrap();
    assert_eq!(result.confined[0].path, host("/home/dev/notes/todo.md"));
    assert_eq!(result.confined[0].root, host("/home/dev/notes"));
    for value in [
        "~/other",
        "/srv",
        "/srv/data2",
        "notes/todo.md",
        "~other/x",
        "/",
        "~",
        "",
        "host:/srv/data",
        "/opt/tools",
    ] {
        let asking = path(value);
        let message = call(reading, &asking).unwrap_err();
        assert_eq!(message.reasons[0].code, ReasonCode::Argument, "{value}");
        assert!(value.len() < 4 || !message.to_string().contains(value), "{message}");
    }
    // An argument that is absent gives nothing, and so does a call that is not known.
    assert_eq!(given(reading, &Asking::with(json!({}))), Vec::<String>::new());
    let unknown = call(reading, &Asking::default()).unwrap();
    assert_eq!((rules(&unknown), unknown.notes.len()), (Vec::new(), 2));
    // Text that looks like a path gives nothing.
    let plain = r#"{ name = "fs:read", hints = ["~/notes/**"] }"#;
    let with_note = Asking::with(
        json!({ "note": "/srv/data", "path": "/srv/data", "url": "https://x.example" }),
    );
    assert_eq!(given(plain, &with_note), given(plain, &Asking::default()));
    // A pattern in a value stands for itself.
    assert_eq!(given(reading, &path("~/notes/*")), Vec::<String>::new());
}

/// T61: a URL narrows hosts.
#[test]
fn a_url_only_narrows() {
    let reaching = r#"{ name = "network:https", hints = ["**.example.com", "arg:url"] }"#;
    let url = |url: &str| Asking::with(json!({ "url": url }));
    assert_eq!(
        given(reaching, &url("https://api.example.com/v1?q=1#x")),
        ["net api.example.com:443"]
    );
    assert_eq!(given(reaching, &url("a.b.example.com")), ["net a.b.example.com:443"]);
    for value in [
        "https://example.org/",
        "https://example.com/",
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "https://user@api.example.com/",
        "https://api.example.com\\@evil.example/",
        "https://evil.example/.example.com",
        "https://127.0.0.1/",
        "https://*/",
        "ftp://api.example.com/",
        "",
    ] {
        assert_eq!(refused(reaching, &url(value)), ReasonCode::Argument, "{value}");
    }
    assert_eq!(given(reaching, &Asking::with(json!({}))), Vec::<String>::new());
    assert_eq!(call(reaching, &Asking::default()).unwrap().notes.len(), 1);
}

/// A condition decides whether a capability is there; one that cannot be judged says no.
#[test]
fn a_condition_decides_whether_a_capability_is_there() {
    let conditional = r#"{ name = "fs:read", hints = ["~/notes/**"], when = { arg = "mode", in = ["read", "list"] } }"#;
    let mode = |mode: &str| Asking::with(json!({ "mode": mode }));
    assert_eq!(given(conditional, &mode("list")), ["ro /home/dev/notes"]);
    for asking in [mode("write"), mode(""), Asking::with(json!({})), Asking::default()] {
        assert_eq!(given(conditional, &asking), Vec::<String>::new());
    }
    assert_eq!(call(conditional, &Asking::default()).unwrap().notes.len(), 1);
}

/// What a cage cannot take away is granted or the call is refused.
#[test]
fn what_a_cage_cannot_take_away_is_granted_or_refused() {
    for capability in [r#""mail:send""#, r#""code:exec""#, r#""time:read""#] {
        let asking = Asking::granting(&["fs:read:~/notes"]);
        assert_eq!(refused(capability, &asking), ReasonCode::NotGranted, "{capability}");
        let name = capability.trim_matches('"');
        assert!(call(capability, &Asking::granting(&[name])).is_ok(), "{capability}");
    }
}

/// M36, M39, M46: capabilities add up; one without hints, or with hints that say nothing, gives nothing.
#[test]
fn capabilities_add_up() {
    for nothing in [
        r#""fs:read""#,
        r#"{ name = "fs:write", hints = [] }"#,
        r#"{ name = "fs:write", hints = ["", "x/**", 7, "~bob/x"] }"#,
    ] {
        assert_eq!(given(nothing, &Asking::default()), Vec::<String>::new(), "{nothing}");
    }
    let ignored =
        call(r#"{ name = "network:http", hints = [7] }"#, &Asking::granting(&["network:*"]))
            .unwrap();
    assert_eq!(
        (rules(&ignored), ignored.notes.len(), ignored.whole_network),
        (Vec::new(), 1, false)
    );
    let both = r#"{ name = "fs:read", hints = ["~/notes/**", "~/notes/todo.md"] }, { name = "fs:write", hints = ["~/notes/*"] }"#;
    let result = call(both, &Asking::default()).unwrap();
    assert_eq!(rules(&result), ["rw /home/dev/notes"]);
    assert_eq!(
        result.policy.fs.iter().filter(|rule| rule.access == FsAccess::ReadWrite).count(),
        1
    );
}

/// T61: a link in an argument's path leads no further than the grant, and a manifest's path is its own root.
#[test]
fn a_path_is_confined_to_what_is_granted() {
    let argument = r#"{ name = "fs:read", hints = ["~/notes/**", "arg:path"] }"#;
    let whole = Asking::with(json!({ "path": "~/notes/todo.md" }));
    let part = Asking { grants: Asking::granting(&["fs:read:~/notes/todo.md"]).grants, ..whole };
    let roots = |capabilities: &str| {
        let confined = call(capabilities, &part).unwrap().confined;
        confined.into_iter().map(|confined| confined.root.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(roots(argument), ["/home/dev/notes/todo.md"]);
    let both = format!("{argument}, {{ name = \"fs:read\", hints = [\"~/notes/todo.md\"] }}");
    assert_eq!(roots(&both), ["/home/dev/notes/todo.md"]);
}

/// T68, M37: what runs code on the host is written to only where a grant names exactly that path.
#[test]
fn what_the_host_runs_is_given_by_name_alone() {
    let derive = |text: &str, asking: &Asking| {
        let mut here = host_with_executor();
        let made = [".bashrc", ".config/systemd/user/", "proj/.git/hooks/", "proj/.envrc"];
        here.entries.extend(made.map(|made| format!("/home/dev/{made}")));
        let args = "[args.path]\ntype = \"path\"";
        derived(&here, &read(&format!("code = \"main.py\"\n{text}\n{args}")), asking)
    };
    let code = |result: Result<Derived, Refused>| result.unwrap_err().reasons[0].code;
    for path in ["~/.bashrc", "~/.config/systemd/user", "~/proj/.git/hooks", "~/proj/.envrc"] {
        let writing = format!("capabilities = [{{ name = \"fs:write\", hints = [\"{path}\"] }}]");
        for grants in
            [vec!["declared"], vec!["fs:write:~/proj", "fs:write:~", "fs:write:~/.config"]]
        {
            let result = derive(&writing, &Asking::granting(&grants));
            assert_eq!(code(result), ReasonCode::NeedsGrant, "{path} {grants:?}");
        }
        let grant = format!("fs:write:{path}");
        derive(&writing, &Asking::granting(&[&grant])).unwrap();
        // To read is no matter.
        let reading = writing.replace("write", "read");
        derive(&reading, &Asking::default()).unwrap();
    }
    let argument = r#"capabilities = [{ name = "fs:write", hints = ["~/proj/**", "arg:path"] }]"#;
    for path in ["~/proj/.git/hooks", "~/proj/.envrc"] {
        let asking = Asking::with(json!({ "path": path }));
        let refused = derive(argument, &asking).unwrap_err();
        assert_eq!(refused.reasons[0].code, ReasonCode::Argument, "{path}");
        assert!(!refused.to_string().contains(".git"), "{refused}");
        let grants = Asking::granting(&[&format!("fs:write:{path}")]).grants;
        derive(argument, &Asking { grants, ..asking }).unwrap();
    }
    derive(argument, &Asking::with(json!({ "path": "~/proj" }))).unwrap();
    derive(argument, &Asking::with(json!({ "path": "~/proj/.git" }))).unwrap();
}
