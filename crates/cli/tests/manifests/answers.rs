//! Calls that have an answer: what the executor is given, sees and says.

use std::process::Stdio;

use serde_json::json;

use super::executor::{Called, Tool};

/// M1, M61, M63, M64, M66, M68, M69: one object in, one out, and what was around it.
#[test]
fn one_object_goes_in_and_one_comes_out() {
    let tool = Tool::new("", "print('log', file=sys.stderr); answer(got=args, argv=sys.argv)");
    let called = tool.call(r#"{"text": "ä", "list": [1, 2]}"#);
    let code = tool.place.project.join("tool.py");
    let expected = json!({ "got": { "text": "ä", "list": [1, 2] }, "argv": [code] });
    assert_eq!(*called.result(), expected);
    let answer = &called.answer;
    assert_eq!((called.code, &answer["exit_code"]), (0, &json!(0)));
    assert_eq!(answer["autonomy"], "supervised");
    assert_eq!(answer["stderr"], "log\n");
    assert!(answer["sandbox"]["layers"]["landlock"].is_string(), "{answer:#}");
    // The start is on record under the name that the answer has.
    let spawn = tool.place.records().into_iter().find(|one| one["event"] == "subagent.spawn");
    let spawn = spawn.unwrap();
    assert_eq!(spawn["invocation_id"], answer["invocation"]);
    assert_eq!((&spawn["cage"], &spawn["subagent_name"]), (&json!("tool"), &json!("tool")));
}

/// M63: the arguments can come on standard input.
#[test]
fn arguments_are_read_from_standard_input() {
    use std::io::Write as _;
    let tool = Tool::new("", "answer(got=args)");
    let mut command = tool.command(&["invoke", "@"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"a\":1}").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["result"], json!({ "got": { "a": 1 } }));
    for wrong in ["[]", "1", "{", ""] {
        let called = tool.ask(&["invoke", "@", "--args", wrong]);
        called.expect_code(2).says("the arguments are");
    }
}

/// An executor says in its answer why it failed.
#[test]
fn an_answer_may_come_with_a_code() {
    let tool = Tool::new("", "answer(error='no such note'); sys.exit(3)");
    let called = tool.call("{}");
    assert_eq!(called.result()["error"], "no such note");
    assert_eq!((called.code, &called.answer["exit_code"]), (3, &json!(3)));
}

/// M25, M26, M27: the code's directory can be imported from and not be changed.
#[test]
fn modules_beside_the_code_can_be_imported_and_not_changed() {
    let tool = Tool::new(
        "",
        "import helper\n\
         def change(): open(__file__, 'a').write('#')\n\
         def add(): open(os.path.join(os.path.dirname(__file__), 'new.py'), 'w')\n\
         answer(word=helper.WORD, change=attempt(change), add=attempt(add), cwd=os.getcwd())",
    );
    tool.place.write("helper.py", "WORD = 'helped'\n");
    let called = tool.call("{}");
    let result = called.result();
    assert_eq!((&result["word"], &result["change"]), (&json!("helped"), &json!("errno 30")));
    assert_eq!(result["add"], "errno 30");
    assert_eq!(result["cwd"], json!(tool.place.project));
}

/// T9: the report of the run and everything else of the caller's stay outside.
#[test]
fn the_executor_has_three_descriptors() {
    let tool = Tool::new(
        "",
        "def links(): return [os.readlink('/proc/self/fd/' + fd) for fd in ('0', '1', '2')]\n\
         answer(fds=sorted(int(fd) for fd in os.listdir('/proc/self/fd')), links=links(),\n\
         write=attempt(lambda: os.write(3, b'forged')))",
    );
    let called = tool.call("{}");
    let result = called.result();
    // The third is the directory that is listed.
    assert_eq!(result["fds"], json!([0, 1, 2, 3]));
    assert_eq!(result["write"], "errno 9");
}

/// M4, M48, M54, T58: namespaces of its own, no process of the host, no network, nothing to write but
/// memory.
#[test]
fn what_the_program_tries_by_itself_fails() {
    let tool = Tool::new(
        "",
        "def connect(): socket.create_connection(('192.0.2.1', 80), timeout=5)\n\
         answer(pids=sorted(int(pid) for pid in os.listdir('/proc') if pid.isdigit())[:1],\n\
         kill=attempt(lambda: os.kill(args['pid'], 0)), connect=attempt(connect),\n\
         name=attempt(lambda: socket.getaddrinfo('example.com', 80)) is not None,\n\
         links=[line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line],\n\
         write=attempt(lambda: open('/usr/x', 'w')), root=attempt(lambda: open('/x', 'w')),\n\
         status=[line for line in open('/proc/self/status') if line[:9] in ('NoNewPriv', 'Seccomp:\\t')])",
    );
    let called = tool.call(&json!({ "pid": std::process::id() }).to_string());
    let result = called.result();
    assert_eq!((&result["pids"], &result["kill"]), (&json!([1]), &json!("errno 3")));
    assert_eq!(result["links"], json!(["lo"]));
    assert!(result["connect"].as_str().unwrap().starts_with("errno "), "{result:#}");
    assert_eq!((&result["write"], &result["root"]), (&json!("errno 30"), &json!("errno 30")));
    assert_eq!(result["status"], json!(["NoNewPrivs:\t1\n", "Seccomp:\t2\n"]));
}

/// M74: a caller's own paths are added, and only those.
#[test]
fn a_caller_adds_paths_of_its_own() {
    let tool = Tool::new(
        "",
        "def write(): open(os.path.join(args['rw'], 'new'), 'w').write('x')\n\
         def bad(): open(os.path.join(args['ro'], 'new'), 'w').write('x')\n\
         answer(read=attempt(lambda: open(os.path.join(args['ro'], 'file')).read()),\n\
         write=attempt(write), bad=attempt(bad))",
    );
    tool.file("extra/ro/file", "seen");
    let (ro, rw) = (tool.home("extra/ro"), tool.directory("extra/rw"));
    let arguments = json!({ "ro": ro, "rw": rw }).to_string();
    let flags = ["--ro", ro.to_str().unwrap(), "--rw", rw.to_str().unwrap()];
    let called = tool.call_with(&flags, &arguments);
    assert_eq!(*called.result(), json!({ "read": "seen", "write": null, "bad": "errno 30" }));
    assert_eq!(std::fs::read_to_string(rw.join("new")).unwrap(), "x");
    // Without them nothing of it is there; with `read_only` nothing of it can be changed.
    let called = tool.call(&arguments);
    assert_eq!(called.result()["read"], "errno 2");
    let called = tool.call_with(&[&flags[..], &["--autonomy", "read_only"]].concat(), &arguments);
    assert_eq!(called.result()["write"], "errno 30");
    assert!(called.answer["narrowed"][0].is_string(), "{:#}", called.answer);
}

/// M73, M35: a call that fails says what it did not get, and how its program ended.
#[test]
fn a_failed_call_says_what_was_taken_away() {
    let tool = Tool::new(
        "capabilities = [{ name = \"fs:write\", hints = [\"~/reports/**\"] }]",
        "open(os.path.expanduser('~/reports/a'), 'w').write('x')",
    );
    tool.directory("reports");
    let called = tool.call_with(&["--autonomy", "read_only"], "{}");
    assert_eq!(called.answer["ok"], false);
    let narrowed = called.answer["narrowed"][0].as_str().unwrap();
    assert!(narrowed.contains("read-only"), "{:#}", called.answer);
    let message = called.answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("Read-only file system"), "{message}");
}

/// T63: no step upward leaves a root, what is read-only cannot be cut short, and the environment of the
/// caller is nowhere.
#[test]
fn no_second_door_leads_out() {
    let lines = "[[capabilities]]\nname = \"fs:read\"\nhints = [\"~/notes/**\"]";
    let tool = Tool::new(
        lines,
        "notes = os.path.join(home, 'notes')\n\
         up = os.open(notes, os.O_RDONLY)\n\
         def above(): return sorted(os.listdir(os.open('../..', os.O_RDONLY, dir_fd=up)))\n\
         answer(above=above(), cut=attempt(lambda: os.truncate(os.path.join(notes, 'a'), 0)),\n\
         secret=attempt(lambda: open(os.path.join(notes, '../secret')).read()),\n\
         environ=open('/proc/self/environ').read(), one=attempt(lambda: open('/proc/1/environ').read()))",
    );
    tool.file("notes/a", "text");
    tool.file("secret", "hidden");
    let mut command = tool.command(&["invoke", "@", "--args", "{}"]);
    let called = Called::of(command.env("SECRET_TOKEN", "hidden"));
    let result = called.result();
    assert_eq!((&result["cut"], &result["secret"]), (&json!("errno 30"), &json!("errno 2")));
    assert_eq!(result["above"], json!(["home"]));
    assert!(!result.to_string().contains("SECRET_TOKEN") && !result.to_string().contains("hidden"));
    assert_eq!(std::fs::read_to_string(tool.home("notes/a")).unwrap(), "text");
}

/// T65: a path that may not be seen has neither a status nor a target, also by an alias of its prefix.
#[test]
fn a_path_that_may_not_be_seen_is_not_there() {
    let lines = "[[capabilities]]\nname = \"fs:read\"\nhints = [\"~/notes/**\"]";
    let tool = Tool::new(
        lines,
        "notes = os.path.join(home, 'notes')\n\
         twice = notes + notes\n\
         answer(lstat=attempt(lambda: os.lstat(os.path.join(home, 'secret')).st_size),\n\
         readlink=attempt(lambda: os.readlink(os.path.join(home, 'link'))),\n\
         out=attempt(lambda: open(os.path.join(notes, 'out')).read()),\n\
         twice=attempt(lambda: os.lstat(twice).st_size))",
    );
    tool.file("secret", "hidden");
    tool.file("notes/a", "text");
    std::os::unix::fs::symlink(tool.home("secret"), tool.home("link")).unwrap();
    std::os::unix::fs::symlink(tool.home("secret"), tool.home("notes/out")).unwrap();
    let called = tool.call("{}");
    let missing = json!({
        "lstat": "errno 2", "readlink": "errno 2", "out": "errno 2", "twice": "errno 2",
    });
    assert_eq!(*called.result(), missing);
}

/// K227: what an executor plants is set aside, and its answer and its failure say so.
#[test]
fn what_an_executor_leaves_is_in_the_result() {
    let lines = "[[capabilities]]\nname = \"fs:write\"\nhints = [\"~/out/**\"]";
    let program = "open(os.path.join(home, 'out', args['name']), 'w').write('x')\n\
                   sys.exit(3) if args['fail'] else answer()";
    let tool = Tool::new(lines, program);
    let out = tool.directory("out");
    let called = tool.call(r#"{"name": ".envrc", "fail": false}"#);
    called.result();
    let left = &called.answer["left"][0];
    assert_eq!(left["path"], out.join(".envrc").to_str().unwrap(), "{:#}", called.answer);
    assert!(std::path::Path::new(left["moved_to"].as_str().unwrap()).exists());
    assert!(called.answer["notes"].to_string().contains(".envrc"), "{:#}", called.answer);
    let failed = tool.call(r#"{"name": ".envrc", "fail": true}"#);
    failed.fails("exited", 3);
    assert_eq!(failed.answer["left"].as_array().unwrap().len(), 1, "{:#}", failed.answer);
    let harmless = tool.call(r#"{"name": "note", "fail": false}"#);
    assert_eq!((harmless.result(), &harmless.answer["left"]), (&json!({}), &json!([])));
}
