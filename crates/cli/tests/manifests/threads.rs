//! The library in a process with threads: the same calls, and neither a descriptor nor a process left.

use std::collections::BTreeSet;
use std::process::Command;

use invoke::{Answer, Approver, Callback, Calls, Executor, Grants, Options, Question};
use serde_json::{Map, Value, json};

use super::executor::Tool;
use super::support::stockade_binary;

/// A process of its own for a test: its environment is the test's, and nobody else opens descriptors in it.
fn in_own_process(tool: &Tool, name: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env("STOCKADE_TEST_MANIFEST", &tool.manifest);
    command.env("HOME", &tool.place.home).env("XDG_STATE_HOME", tool.place.state());
    command.env_remove("STOCKADE_SANDBOX").env_remove("METNOS_SANDBOX");
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn given() -> Option<Executor> {
    let manifest = std::env::var_os("STOCKADE_TEST_MANIFEST")?;
    Some(Executor::load(manifest.as_ref()).unwrap())
}

fn descriptors() -> BTreeSet<String> {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let name = |entry: std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        Some(format!("{} {}", entry.file_name().display(), target.display()))
    };
    links.filter_map(name).filter(|line| !line.ends_with("/fd")).collect()
}

fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let of_task = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children"));
    tasks.filter_map(|task| of_task(task).ok()).collect::<String>().trim().to_owned()
}

/// T62: calls from many threads at once, good and bad ones, leave nothing behind.
#[test]
fn calls_from_many_threads_leave_nothing() {
    leave_nothing("threads::calls_from_many_threads_leave_nothing", Calls::Few);
}

/// T62: nor do they where one process builds the cages of all; that process stays.
#[test]
fn calls_by_a_host_leave_nothing() {
    leave_nothing("threads::calls_by_a_host_leave_nothing", Calls::Many);
}

fn leave_nothing(name: &str, calls: Calls) {
    let Some(executor) = given() else {
        let tool = Tool::new(
            "timeout_sec = 60\nmax_output = \"4K\"",
            "if args['how'] == 'flood':\n    print('x' * 100000)\nelif args['how'] == 'fail':\n    \
             sys.exit(1)\nelse:\n    answer(n=args['n'])",
        );
        return in_own_process(&tool, name);
    };
    let binary = stockade_binary();
    let options = Options { stockade: Some(&binary), calls, ..Options::new() };
    invoke::invoke(&executor, object(&json!({ "how": "answer", "n": 1 })), &options).unwrap();
    let before = (descriptors(), children());
    assert_eq!(before.1.is_empty(), calls == Calls::Few, "{}", before.1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (executor, binary) = (&executor, binary.as_path());
            scope.spawn(move || {
                let options = Options { stockade: Some(binary), calls, ..Options::new() };
                for (turn, how) in ["answer", "flood", "fail", "answer"].into_iter().enumerate() {
                    let number = thread * 10 + turn;
                    let arguments = json!({ "how": how, "n": number });
                    let called = invoke::invoke(executor, object(&arguments), &options);
                    match (how, called) {
                        ("answer", Ok(invoked)) => assert_eq!(invoked.value["n"], number),
                        ("flood", Err(error)) => assert_eq!(error.failure.kind(), "too_large"),
                        ("fail", Err(error)) => assert_eq!(error.failure.kind(), "exited"),
                        (how, other) => panic!("{how}: {other:?}"),
                    }
                }
            });
        }
    });
    assert_eq!((descriptors(), children()), before);
}

/// M49: who grants the whole network by name and has it approved gets a cage with it; bubblewrap then shares
/// this machine's.
#[test]
fn the_whole_network_is_granted_by_name_and_approved() {
    let Some(executor) = given() else {
        let tool = Tool::new("[[capabilities]]\nname = \"network:*\"", "answer()");
        return in_own_process(&tool, "threads::the_whole_network_is_granted_by_name_and_approved");
    };
    let binary = stockade_binary();
    let grants = Grants::listed(&["network:*"]).unwrap();
    let yes = Callback(|question: &Question| {
        assert!(question.always);
        Answer::Once
    });
    let approver: &dyn Approver = &yes;
    let options = Options { stockade: Some(&binary), grants: &grants, approver, ..Options::new() };
    let wrapped = invoke::wrap_command(&executor, &[], None, &options).unwrap();
    assert_eq!(wrapped.sandbox.level.word(), "native");
    let invoked = invoke::invoke(&executor, &Map::new(), &options).unwrap();
    assert_eq!(invoked.sandbox.level.word(), "native");
    if !invoke::bwrap_available() {
        return;
    }
    let options = Options { backend: Some(invoke::Backend::Bwrap), ..options };
    let wrapped = invoke::wrap_command(&executor, &[], None, &options).unwrap();
    // M82
    assert!(!wrapped.argv.iter().any(|word| word == "--unshare-net"), "{:?}", wrapped.argv);
    assert!(wrapped.notes.iter().any(|note| note.contains("this machine's network")));
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// Code that is swapped while somebody reads the question does not run, with a cage and without one.
#[test]
fn code_that_changes_during_the_question_does_not_run() {
    let Some(executor) = given() else {
        let tool = Tool::new("capabilities = [\"mail:send\"]", "answer(ran='first')");
        return in_own_process(
            &tool,
            "threads::code_that_changes_during_the_question_does_not_run",
        );
    };
    let binary = stockade_binary();
    let code = executor.code.as_path().to_owned();
    let first = std::fs::read_to_string(&code).unwrap();
    let swap = Callback(|_: &Question| {
        std::fs::write(&code, first.replace("first", "second")).unwrap();
        Answer::Once
    });
    let options = Options { stockade: Some(&binary), approver: &swap, ..Options::new() };
    let mut told = Vec::new();
    for calls in [Calls::Few, Calls::Many] {
        let options = Options { calls, ..options };
        let error = invoke::invoke(&executor, &Map::new(), &options).unwrap_err();
        assert!(error.to_string().contains("its digest differs"), "{error}");
        assert!(error.invocation.is_some());
        std::fs::write(&code, &first).unwrap();
        told.push((error.failure, error.stderr));
    }
    // A host says what a process of its own for the call says.
    assert_eq!(told[0], told[1]);
    let wrapped = invoke::wrap_command(&executor, &[], None, &options).unwrap();
    let output = Command::new(&wrapped.argv[0]).args(&wrapped.argv[1..]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("its digest differs"), "{told}");
    if invoke::bwrap_available() {
        std::fs::write(&code, &first).unwrap();
        let options = Options { backend: Some(invoke::Backend::Bwrap), ..options };
        let error = invoke::invoke(&executor, &Map::new(), &options).unwrap_err();
        assert!(error.to_string().contains("its digest differs"), "{error}");
    }
}
