//! Somebody has to agree: at the terminal, by an answer that was stored, or nobody does.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::executor::Tool;
use super::support::{has, has_all, slowly, stockade_binary};

fn exec() -> Tool {
    Tool::new("[[capabilities]]\nname = \"code:exec\"", "answer(ran=True)")
}

fn mail() -> Tool {
    Tool::new("[[capabilities]]\nname = \"mail:send\"", "answer(ran=True)")
}

/// Calls it on a terminal, types this once the question is there, and returns what the terminal showed and
/// the answer.
fn at_terminal(tool: &Tool, before: &str, typed: &str) -> (String, Value) {
    let answer = tool.home("answer.json");
    let line = format!(
        "'{}' invoke '{}' --args '{{}}' > '{}'",
        stockade_binary().display(),
        tool.manifest.display(),
        answer.display()
    );
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).env_clear().current_dir("/");
    command.env("HOME", &tool.place.home).env("XDG_STATE_HOME", tool.place.state());
    command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    keys.write_all(before.as_bytes()).unwrap();
    let mut shown = Vec::new();
    let mut buffer = [0; 1024];
    while !String::from_utf8_lossy(&shown).contains("N] ") {
        let count = screen.read(&mut buffer).unwrap();
        assert!(count > 0, "no question: {}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&buffer[..count]);
    }
    // What is typed right away was not meant as an answer.
    std::thread::sleep(slowly(Duration::from_millis(800)));
    keys.write_all(typed.as_bytes()).unwrap();
    screen.read_to_end(&mut shown).unwrap();
    child.wait().unwrap();
    let text = std::fs::read_to_string(answer).unwrap();
    (String::from_utf8_lossy(&shown).into_owned(), serde_json::from_str(&text).unwrap())
}

/// Without a terminal nobody agrees, and the refusal is on record.
#[test]
fn without_a_terminal_nobody_agrees() {
    if !has("setsid") {
        return;
    }
    let tool = exec();
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(stockade_binary()).arg("invoke").arg(&tool.manifest);
    command.args(["--args", "{}"]).env_clear().env("HOME", &tool.place.home);
    command.env("XDG_STATE_HOME", tool.place.state()).stdin(Stdio::null());
    super::executor::Called::of(&mut command).fails("refused", 125).says("nobody approved");
    let refused = tool.place.records().into_iter().find(|one| one["event"] == "grant.refused");
    assert_eq!(refused.unwrap()["capability"], "code:exec");
}

/// The question shows what will run, and only a fresh yes counts.
#[test]
fn the_terminal_is_asked() {
    if !has("script") {
        return;
    }
    let tool = mail();
    let (shown, answer) = at_terminal(&tool, "", "y\n");
    assert_eq!(answer["result"]["ran"], true, "{shown}\n{answer:#}");
    assert!(shown.contains("mail:send") && shown.contains("tool.py"), "{shown}");
    let (_, answer) = at_terminal(&tool, "", "\n");
    assert_eq!(answer["error"]["code"], "not_approved");
    // T53: what was typed before the question does not answer it.
    let (_, answer) = at_terminal(&tool, "y\ny\ny\n", "n\n");
    assert_eq!(answer["error"]["code"], "not_approved");
}

/// An answer can be stored for this very code, shown and revoked; what is asked always is never answered by
/// a stored one.
#[test]
fn an_answer_can_be_stored_and_revoked() {
    if !has_all(&["script", "setsid"]) {
        return;
    }
    let tool = exec();
    let (_, answer) = at_terminal(&tool, "", "a\n");
    assert_eq!(answer["result"]["ran"], true);
    // Nobody is asked any more.
    tool.call("{}").result();
    let listed: Value =
        serde_json::from_str(&tool.ask(&["grants", "list", "--json"]).expect_code(0).stdout)
            .unwrap();
    let grant = &listed[0];
    assert_eq!((&grant["executor"], &grant["capability"]), (&"tool".into(), &"code:exec".into()));
    tool.ask(&["grants", "list"]).expect_code(0).prints("code:exec").prints("until revoked");
    // Another code has to ask again.
    let code = tool.place.project.join("tool.py");
    let text = std::fs::read_to_string(&code).unwrap();
    std::fs::write(&code, format!("{text}\n# changed")).unwrap();
    refused(&tool);
    std::fs::write(&code, text).unwrap();
    tool.call("{}").result();
    tool.ask(&["grants", "revoke", "nonsense"]).expect_code(1).says("there is no grant");
    tool.ask(&["grants", "revoke", grant["id"].as_str().unwrap()]).expect_code(0).says("revoked");
    refused(&tool);
    tool.ask(&["grants", "revoke", "--all"]).expect_code(0);
    tool.ask(&["grants", "revoke"]).expect_code(2);
    let events: Vec<String> =
        tool.place.records().iter().map(|one| one["event"].as_str().unwrap().to_owned()).collect();
    assert!(
        events.contains(&"grant.given".to_owned()) && events.contains(&"grant.revoked".to_owned())
    );
}

/// Calls it where nobody can be asked.
#[track_caller]
fn refused(tool: &Tool) {
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(stockade_binary()).arg("invoke").arg(&tool.manifest);
    command.args(["--args", "{}"]).env_clear().env("HOME", &tool.place.home);
    command.env("XDG_STATE_HOME", tool.place.state()).stdin(Stdio::null());
    super::executor::Called::of(&mut command).fails("refused", 125).says("nobody approved");
}

/// T53: after three refusals nobody is asked for a while, whichever process wants to.
#[test]
fn the_terminal_cannot_be_flooded() {
    if !has("script") {
        return;
    }
    let tool = mail();
    for _ in 0..3 {
        let (_, answer) = at_terminal(&tool, "", "n\n");
        assert_eq!(answer["error"]["code"], "not_approved");
    }
    let line = format!(
        "'{}' invoke '{}' --args '{{}}'",
        stockade_binary().display(),
        tool.manifest.display()
    );
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).env_clear().env("HOME", &tool.place.home);
    command.env("XDG_STATE_HOME", tool.place.state()).env("PATH", "/usr/bin:/bin");
    let output = command.env("SHELL", "/bin/sh").stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("not_approved") && !shown.contains("Allow"), "{shown}");
}

/// Stored answers that cannot be read answer nothing, and taking all of them back begins anew.
#[test]
fn broken_grants_can_be_repaired() {
    let tool = exec();
    let file = tool.place.state().join("stockade/grants.json");
    tool.ask(&["grants", "revoke", "--all"]).expect_code(0);
    for broken in ["{", "[]", "{\"version\":9,\"grants\":[]}"] {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, broken).unwrap();
        let called = tool.call("{}");
        called.fails("refused", 125).says("grants revoke --all");
        assert_eq!(called.answer["error"]["code"], "grants");
        tool.ask(&["grants", "list"]).expect_code(123).says("grants revoke --all");
        tool.ask(&["grants", "revoke", "x"]).expect_code(123);
        tool.ask(&["grants", "revoke", "--all"]).expect_code(0);
        assert_eq!(tool.ask(&["grants", "list"]).expect_code(0).stdout, "");
    }
    let events = tool.place.records();
    let revoked = events.iter().filter(|one| one["event"] == "grant.revoked");
    assert_eq!(revoked.filter(|one| one["executor"] == "*").count(), 3);
}
