//! What a manifest gives, and what arguments, grants and autonomy leave of it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::executor::Tool;
use super::support::is_root;

const WRITER: &str = "\
def write():
    with open(os.path.join(os.path.expanduser(args['to']), 'new'), 'w') as file:
        file.write('x')
answer(write=attempt(write))";

fn capability(name: &str, hints: &str) -> String {
    format!("[[capabilities]]\nname = \"{name}\"\nhints = [{hints}]\n")
}

/// M30, M31, M40, M44, M73, M75, M89, T60: roots as declared, the deeper one last; `read_only` takes writing away.
#[test]
fn roots_are_as_they_are_declared() {
    let lines = [
        capability("fs:read", "\"~/work/**\""),
        capability("fs:write", "\"~/work/out/**\", \"~/all/**\""),
        capability("fs:read", "\"~/all/read/**\""),
    ];
    let tool = Tool::new(&lines.concat(), WRITER);
    for made in ["work/out", "work/other", "all/read"] {
        tool.directory(made);
    }
    let write = |flags: &[&str], to: &str| {
        let called = tool.call_with(flags, &json!({ "to": to }).to_string());
        called.result()["write"].clone()
    };
    assert_eq!(write(&[], "~/work/out"), json!(null));
    assert_eq!(write(&[], "~/all"), json!(null));
    assert_eq!(write(&[], "~/work/other"), "errno 30");
    assert!(tool.home("work/out/new").exists() && tool.home("all/new").exists());
    for to in ["~/work/out", "~/all"] {
        assert_eq!(write(&["--autonomy", "read_only"], to), "errno 30", "{to}");
        assert_eq!(write(&["--autonomy", "full"], to), json!(null), "{to}");
    }
    // Full gives nothing that is not declared.
    assert_eq!(write(&["--autonomy", "full"], "~/work/other"), "errno 30");
}

/// M35, T59: a root to write to that is missing is made, or the call is refused; nothing written vanishes.
#[test]
fn a_missing_root_to_write_to_is_made_or_refused() {
    let made = Tool::new(&capability("fs:write", "\"~/out/**\""), WRITER);
    let called = made.call(r#"{"to": "~/out"}"#);
    assert_eq!(called.result()["write"], json!(null));
    assert_eq!(fs::read_to_string(made.home("out/new")).unwrap(), "x");
    for hint in ["\"~/out\"", "\"~/none/out/**\""] {
        let refused = Tool::new(&capability("fs:write", hint), WRITER);
        refused.call(r#"{"to": "~/out"}"#).fails("refused", 125).says("does not exist");
        assert!(!refused.home("out").exists() && !refused.home("none").exists());
    }
    // A missing root to read is left out, and that is told.
    let read = Tool::new(&capability("fs:read", "\"~/none/**\""), WRITER);
    let called = read.call(r#"{"to": "~/none"}"#);
    assert_eq!(called.result()["write"], "errno 2");
    assert!(called.answer["notes"][0].as_str().unwrap().contains("does not exist"));
}

/// M23, M41: a hint under `/tmp` is the cage's own.
#[test]
fn what_is_written_to_tmp_stays_in_the_cage() {
    let tool = Tool::new(&capability("fs:write", "\"/tmp/**\""), WRITER);
    let marker = format!("/tmp/stockade-manifests-{}", std::process::id());
    fs::create_dir_all(&marker).unwrap();
    let called = tool.call(r#"{"to": "/tmp"}"#);
    let outside = tool.call(&json!({ "to": marker }).to_string());
    fs::remove_dir(&marker).unwrap();
    assert_eq!(called.result()["write"], json!(null));
    assert_eq!(outside.result()["write"], "errno 2");
    assert!(called.answer["notes"][0].as_str().unwrap().contains("the cage's own"));
    assert!(!std::path::Path::new("/tmp/new").exists());
}

/// M37: what is as broad as a home or a system tree is given by name alone, and some of it to nobody.
#[test]
fn broad_roots_need_a_grant_of_their_own() {
    for hint in ["\"~/**\"", "\"/etc/**\"", "\"/usr/**\"", "\"/**\""] {
        let tool = Tool::new(&capability("fs:read", hint), "answer()");
        tool.call("{}").fails("refused", 125);
    }
    let tool =
        Tool::new(&capability("fs:read", "\"~/**\""), "answer(names=sorted(os.listdir(home)))");
    tool.file("seen", "x");
    tool.file(".ssh/id_ed25519", "hidden");
    let grant = format!("fs:read:{}", tool.place.home.display());
    let called = tool.call_with(&["--grant", &grant], "{}");
    assert!(called.result()["names"].to_string().contains("seen"));
    let root = Tool::new(&capability("fs:read", "\"/**\""), "answer()");
    root.call_with(&["--grant", "fs:read:/"], "{}").fails("refused", 125);
}

/// T57: directories with sockets in them are given to nobody.
#[test]
fn directories_of_sockets_are_refused() {
    for hint in ["\"/run/**\"", "\"/run/user/1000/**\"", "\"/var/run/docker.sock\"", "\"/proc/**\""]
    {
        let tool = Tool::new(&capability("fs:read", hint), "answer()");
        tool.call("{}").fails("refused", 125);
        let path = hint.trim_matches('"').trim_end_matches("/**");
        let grant = format!("fs:read:{path}");
        tool.call_with(&["--grant", &grant], "{}").fails("refused", 125);
    }
}

const READER: &str = "\
def read(path): return open(os.path.expanduser(path)).read()
answer(read=attempt(lambda: read(args['path'])), other=attempt(lambda: read('~/notes/other')))";

/// T61: an argument narrows to its value, and nothing in it widens.
#[test]
fn an_argument_only_narrows() {
    let lines = [
        "[args.path]\ntype = \"path\"\n[args.title]\ntype = \"text\"\n[args.body]\ntype = \"content\"\n",
        &capability("fs:read", "\"~/notes/**\", \"arg:path\""),
    ];
    let tool = Tool::new(&lines.concat(), READER);
    tool.file("notes/one", "1");
    tool.file("notes/other", "2");
    let secret = tool.file("secret", "hidden");
    let called = tool.call(r#"{"path": "~/notes/one"}"#);
    assert_eq!(*called.result(), json!({ "read": "1", "other": "errno 2" }));
    // Out of the root, in any writing: refused, and the value is not repeated.
    for path in [secret.to_str().unwrap(), "~/secret", "~/notes/../secret", "notes/one", "/", "~"] {
        let called = tool.call(&json!({ "path": path }).to_string());
        called.fails("refused", 125).says("`path`");
        assert!(!called.answer.to_string().contains("secret"), "{:#}", called.answer);
        assert!(!format!("{:?}", tool.place.records()).contains("secret"));
    }
    // A text that looks like a path gives nothing.
    for key in ["title", "body"] {
        let arguments = json!({ "path": "~/notes/one", key: "~/notes/other" });
        let called = tool.call(&arguments.to_string());
        assert_eq!(*called.result(), json!({ "read": "1", "other": "errno 2" }), "{key}");
    }
    // Without the argument nothing is given, and one that nobody declared is refused.
    tool.call(r#"{"path": "~/notes/one", "paht": "~/secret"}"#)
        .fails("refused", 125)
        .says("`paht`");
}

/// T61: a link inside the root does not lead an argument out of it.
#[test]
fn a_link_does_not_lead_an_argument_out() {
    let lines =
        ["[args.path]\ntype = \"path\"\n", &capability("fs:read", "\"~/notes/**\", \"arg:path\"")];
    let tool = Tool::new(&lines.concat(), READER);
    tool.file("notes/one", "1");
    let secret = tool.file("elsewhere/secret", "hidden");
    symlink(&secret, tool.home("notes/out")).unwrap();
    symlink(tool.home("notes/one"), tool.home("notes/in")).unwrap();
    symlink(secret.parent().unwrap(), tool.home("notes/tree")).unwrap();
    let called = tool.call(r#"{"path": "~/notes/in"}"#);
    assert_eq!(called.result()["read"], "1");
    for path in ["~/notes/out", "~/notes/tree/secret"] {
        tool.call(&json!({ "path": path }).to_string())
            .fails("refused", 125)
            .says("through a link");
    }
}

/// M74: a caller's grants leave of the manifest what they name, and add nothing.
#[test]
fn grants_only_take_away() {
    let lines = capability("fs:read", "\"~/notes/**\"");
    let tool = Tool::new(&lines, READER);
    tool.file("notes/other", "2");
    tool.file("secret", "hidden");
    let read = |grants: &[&str]| {
        let flags: Vec<&str> = grants.iter().flat_map(|grant| ["--grant", grant]).collect();
        tool.call_with(&flags, r#"{"path": "~/secret"}"#).result().clone()
    };
    assert_eq!(read(&["declared"]), json!({ "read": "errno 2", "other": "2" }));
    assert_eq!(read(&["fs:read:~/notes"]), json!({ "read": "errno 2", "other": "2" }));
    assert_eq!(read(&["fs:read:~/else"]), json!({ "read": "errno 2", "other": "errno 2" }));
    assert_eq!(read(&["fs:read:~/secret"]), json!({ "read": "errno 2", "other": "errno 2" }));
    tool.ask(&["invoke", "@", "--args", "{}", "--grant", "nonsense"])
        .expect_code(2)
        .says("no grant");
}

/// T64: root's executors read no file of the system that is for root alone.
#[test]
fn root_only_files_of_the_system_stay_closed() {
    let tool = Tool::new(
        "",
        "answer(shadow=attempt(lambda: open('/etc/shadow').read()), uid=os.getuid(),\n\
         own=attempt(lambda: open(args['path']).read()))",
    );
    let closed = tool.file("extra/closed", "hidden");
    if is_root() {
        // Not the caller's own: a system path that was granted read-only.
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let called = tool.call(&json!({ "path": closed }).to_string());
    let result = called.result();
    assert_eq!((&result["shadow"], &result["own"]), (&json!("errno 2"), &json!("errno 2")));
    assert_ne!(result["uid"], 0);
}
