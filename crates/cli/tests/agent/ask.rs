//! Questions of the model to the person: answered at a terminal, refused where nobody is.

use std::process::Command;

use serde_json::json;
use testing::model_server::{ModelServer, Step};

use crate::place::Place;

fn questions() -> Vec<Step> {
    vec![Step::Call { tool: "ask".to_owned(), arguments: json!({ "question": "Which colour?" }) }]
}

/// Runs a command at a terminal, and answers its first question.
const TERMINAL: &str = r#"
import os, pty, sys
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown, answered = b"", False
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    shown += part
    if b"your answer" in shown and not answered:
        answered = True
        os.write(terminal, b"blue\n")
sys.stdout.buffer.write(shown)
"#;

/// V27: the person's answer is what the model gets.
#[test]
fn a_question_is_answered_at_the_terminal() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&questions(), "painted");
    let agent = place.command(&server, &["paint"]);
    let mut command = Command::new("python3");
    command.arg("-c").arg(TERMINAL).arg(agent.get_program()).args(agent.get_args());
    command.current_dir(agent.get_current_dir().unwrap()).env_clear();
    for (name, value) in agent.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let shown = command.output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("the agent asks: Which colour?"), "{shown}");
    assert!(server.results().join("\n").contains("blue"), "{:?}\n{shown}", server.results());
}

/// V27: where nobody can be asked, no answer is a refusal.
#[test]
fn nobody_there_is_a_refusal() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&questions(), "not painted");
    let ended = place.agent(&server, &["paint"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let results = server.results();
    assert!(
        results.len() == 1 && results[0].contains("error: there is no tool `ask`"),
        "{results:?}"
    );
}
