//! Executors that give no answer: a typed failure each, and nothing left running.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::executor::{Tool, assert_gone, running};
use super::support::slowly;

fn marker(word: &str) -> String {
    format!("{word}.{}", std::process::id())
}

#[test]
fn an_output_that_is_no_object_is_non_json() {
    for program in ["print('hello')", "print('{} {}')", "print('[1]')", "pass"] {
        let called = Tool::new("", program).call("{}");
        called.fails("non_json", 1);
        assert_eq!(called.answer["sandbox"]["level"], "native");
        assert!(called.answer["invocation"].is_string());
    }
}

/// How the output begins is told, safe to print and bounded.
#[test]
fn an_output_that_is_no_object_is_shown() {
    let called = Tool::new("", "print('\\nhello \\x1b[31mthere\\nmore')").call("{}");
    called.fails("non_json", 1).says("it begins with `hello \\u{1b}[31mthere`");
    let called = Tool::new("", "print('x' * 100000)").call("{}");
    let message = called.fails("non_json", 1).answer["error"]["message"].as_str().unwrap();
    assert!(message.len() < 400 && message.contains("xxx…`"), "{message}");
}

/// A signal that asks `invoke` to end cancels the call: its failure is printed, and nothing is left running.
#[test]
fn a_call_that_is_asked_to_end_prints_its_failure() {
    for signal in [Signal::TERM, Signal::INT] {
        let marker = marker(&format!("7{}", signal.as_raw()));
        let tool = Tool::new("", "subprocess.run(['sleep', args['marker']])");
        let arguments = format!("{{\"marker\": \"{marker}\"}}");
        let mut command = tool.command(&["invoke", "@", "--args", &arguments]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        let deadline = Instant::now() + slowly(Duration::from_secs(20));
        while running(&format!("sleep {marker}")).is_empty() {
            assert!(Instant::now() < deadline, "it does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&answer["ok"], &answer["error"]["kind"]), (&false.into(), &"killed".into()));
        assert_eq!(answer["error"]["reason"], "cancelled");
        assert_eq!(output.status.code(), Some(137));
        assert_gone(&format!("sleep {marker}"));
    }
}

#[test]
fn a_program_that_fails_without_an_answer_has_exited() {
    let called = Tool::new("", "print('some', file=sys.stderr); sys.exit(9)").call("{}");
    called.fails("exited", 9);
    assert_eq!(called.answer["error"]["code"], 9);
    assert_eq!(called.answer["stderr"], "some\n");
    Tool::new("", "raise ValueError('x')").call("{}").fails("exited", 1);
}

/// M67, T62, T66: an executor that forks and takes too long is ended with everything that it started.
#[test]
fn an_executor_that_forks_and_takes_too_long_is_ended() {
    let marker = marker("54321");
    let tool = Tool::new(
        "timeout_sec = 1",
        "for turn in range(5):\n    subprocess.Popen(['sleep', args['marker']], start_new_session=True)\n\
         while True: time.sleep(1000)",
    );
    let called = tool.call(&format!("{{\"marker\": \"{marker}\"}}"));
    called.fails("timeout", 124);
    assert_eq!(called.answer["error"]["seconds"], 1);
    assert_gone(&format!("sleep {marker}"));
    // The end is on record, with its reason.
    let exit = tool.place.records().into_iter().find(|one| one["event"] == "subagent.exit");
    assert_eq!(exit.unwrap()["reason"], "walltime_exceeded");
}

/// T66: a caller's own time takes the place of the manifest's.
#[test]
fn a_caller_may_give_less_time() {
    let tool = Tool::new("", "time.sleep(1000)");
    tool.call_with(&["--timeout", "1"], "{}").fails("timeout", 124);
}

/// T66: one that prints 1 GiB is ended long before, and neither output is kept whole.
#[test]
fn too_much_output_is_too_large() {
    for stream in ["stdout", "stderr"] {
        let program = format!(
            "block = 'x' * (1 << 20)\nfor turn in range(1024): sys.{stream}.write(block)\nanswer()"
        );
        let tool = Tool::new("max_output = \"64K\"", &program);
        let called = tool.call("{}");
        called.fails("too_large", 1);
        assert_eq!(called.answer["error"]["stream"], stream);
        assert_eq!(called.answer["error"]["limit"], 64 << 10);
        assert!(called.answer["stderr"].as_str().unwrap().len() <= 64 << 10);
        assert_gone(tool.place.project.to_str().unwrap());
    }
}

/// T66: one that ignores the request to end is ended all the same.
#[test]
fn a_deaf_executor_is_ended_too() {
    let tool = Tool::new(
        "timeout_sec = 1",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\ntime.sleep(1000)",
    );
    tool.call("{}").fails("timeout", 124);
    assert_gone(tool.place.project.to_str().unwrap());
}

#[test]
fn a_signal_is_told_as_killed() {
    let called = Tool::new("", "os.abort()").call("{}");
    called.fails("killed", 137);
    assert_eq!(called.answer["error"]["reason"], "signal 6");
}

/// T66: a bomb of processes is bounded where the manifest says so.
#[test]
fn a_fork_bomb_is_bounded() {
    let tool = Tool::new(
        "pids = 32\ntimeout_sec = 60",
        "made = 0\ntry:\n    while made < 1000:\n        if os.fork() == 0: time.sleep(1000)\n        \
         made += 1\nexcept OSError as error:\n    answer(made=made, errno=error.errno)",
    );
    let called = tool.call("{}");
    if called.answer["error"]["kind"] == "unavailable" {
        // No control group can be had here, and a limit that nothing holds is refused.
        called.fails("unavailable", 122);
        return;
    }
    let result = called.result();
    assert!(result["made"].as_u64().unwrap() < 32, "{result:#}");
    assert_eq!(result["errno"], 11);
    assert_gone(tool.place.project.to_str().unwrap());
}

/// T62: whoever is killed while it waits for an executor takes it along.
#[test]
fn an_executor_ends_with_its_caller() {
    let marker = marker("65432");
    let tool = Tool::new(
        "",
        "subprocess.Popen(['sleep', args['marker']], start_new_session=True)\ntime.sleep(1000)",
    );
    let arguments = format!("{{\"marker\": \"{marker}\"}}");
    let mut command = tool.command(&["invoke", "@", "--args", &arguments]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    let sleep = format!("sleep {marker}");
    while running(&sleep).is_empty() {
        assert!(Instant::now() < deadline, "it did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(&sleep);
    assert_gone(tool.place.project.to_str().unwrap());
}
