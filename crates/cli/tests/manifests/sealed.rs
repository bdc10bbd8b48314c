//! The request in a wrapped command line: the caller's own word, and nothing that can be added to.

use sha2::{Digest as _, Sha256};

use super::executor::Tool;
use super::support::Ended;

fn sealed(tool: &Tool) -> String {
    let ended = tool.ask(&["wrap", "@", "--json"]);
    let wrapped: serde_json::Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    wrapped["argv"][3].as_str().unwrap().to_owned()
}

/// T61: a request that was changed on its way starts nothing.
#[test]
fn a_changed_request_starts_nothing() {
    let tool = Tool::new("", "answer()");
    let text = sealed(&tool);
    let run = |text: &str| tool.ask(&["run", "--sealed", text, "--", "sh", "-c", "echo ran"]);
    run(&text).expect_code(0).prints("ran");
    let broader = text.replacen("\"access\":\"ro\"", "\"access\":\"rw\"", 2);
    assert_ne!(broader, text);
    for wrong in
        [broader.as_str(), "", "1.x.{}", &text[..text.len() - 1], &format!("2{}", &text[1..])]
    {
        let ended = run(wrong);
        ended.expect_code(2);
        assert!(!ended.stdout.contains("ran"), "{wrong}");
    }
}

/// No flag adds to a request.
#[test]
fn no_flag_adds_to_a_request() {
    let tool = Tool::new("", "answer()");
    let text = sealed(&tool);
    for flag in [
        "--ro=/srv",
        "--rw=/srv",
        "--hide=/srv",
        "--net=example.com",
        "--host-port=80",
        "--publish=80",
        "--env=A=1",
        "--seccomp=relaxed",
        "--commands=none",
        "--command=ls",
        "--state=scratch",
        "--project=/",
        "--cage=x",
        "--agent=x",
        "--capability=exec:ls",
        "--memory=1G",
        "--pids=5",
        "--cpus=1",
        "--time=5s",
        "--no-net",
        "--no-sandbox",
        "--degraded-limits",
        "--session=s",
        "--backend=bwrap",
    ] {
        let ended = tool.ask(&["run", "--sealed", &text, flag, "--", "true"]);
        ended.expect_code(2).says("cannot be used with");
    }
}

/// A pinned file that changes after the command line was made starts nothing.
#[test]
fn files_are_verified_before_every_start() {
    let tool = Tool::new("", "answer()");
    let module = tool.place.write("module.py", "WORD = 1\n");
    let digest: String =
        Sha256::digest("WORD = 1\n").iter().map(|byte| format!("{byte:02x}")).collect();
    let pinned = format!("files = [{{ path = \"module.py\", sha256 = \"{digest}\" }}]");
    let text = std::fs::read_to_string(&tool.manifest).unwrap();
    std::fs::write(&tool.manifest, format!("{text}{pinned}\n")).unwrap();
    let sealed = sealed(&tool);
    let run = || tool.ask(&["run", "--sealed", &sealed, "--", "sh", "-c", "echo ran"]);
    run().expect_code(0).prints("ran");
    tool.call("{}").result();
    std::fs::write(&module, "WORD = 2\n").unwrap();
    let ended: Ended = run();
    ended.expect_code(125).says("its digest differs");
    assert!(!ended.stdout.contains("ran"));
    tool.call("{}").fails("refused", 125).says("its digest differs");
    tool.ask(&["wrap", "@"]).expect_code(125);
    std::fs::remove_file(&module).unwrap();
    run().expect_code(125);
    tool.call("{}").code.eq(&123).then_some(()).unwrap();
}

/// A descriptor that nobody opened, or that nobody reads, starts nothing.
#[test]
fn a_result_needs_a_reader() {
    let tool = Tool::new("", "answer()");
    let text = sealed(&tool);
    let run = |redirection: &str| {
        let line = format!(
            "exec \"$0\" run --sealed \"$1\" --result-fd 3 -- sh -c 'echo ran' {redirection}"
        );
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).arg(super::support::stockade_binary()).arg(&text);
        shell.env_clear().env("HOME", &tool.place.home).env("XDG_STATE_HOME", tool.place.state());
        Ended::of(shell.env("PATH", "/usr/bin:/bin").output().unwrap())
    };
    let ended = run("3>&1");
    ended.expect_code(0).prints("ran\n{").prints("\"reason\":\"exited\"");
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
    let ended = run("3>&-");
    ended.expect_code(2);
    assert!(!ended.stdout.contains("ran"));
}
