//! The transcript of one task, as each protocol has it, beside the one that is committed: what is kept of a conversation
//! changes only on purpose. `STOCKADE_UPDATE_GOLDEN=1` writes the files anew.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testing::model_server::ModelServer;

use crate::place::Place;
use crate::{PROTOCOLS, mends};

/// V31, V39, V40: what is said, called and answered, in its order, whatever the protocol.
#[test]
fn a_transcript_is_as_it_was() {
    if !testing::has("python3") {
        return;
    }
    let mut conversations = Vec::new();
    for protocol in PROTOCOLS {
        let place = Place::new();
        let server = ModelServer::start(&mends(&place), "the sum adds now");
        let ended =
            place.agent(&server, &["--protocol", protocol, "--session", "golden", "mend the sum"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let mut transcript = String::new();
        place.each_file_of_state(&mut |path, bytes| {
            if path.ends_with("agents/golden.jsonl") {
                transcript = String::from_utf8(bytes).unwrap();
            }
        });
        let project = place.project.to_str().unwrap();
        let mut calls = Vec::new();
        let lines: Vec<Value> = transcript
            .lines()
            .map(|line| plain(serde_json::from_str(line).unwrap(), project, &mut calls))
            .collect();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        compare(&format!("{protocol}.jsonl"), &text);
        let said = |line: &Value| (line["line"] == "said").then(|| line["message"].clone());
        conversations.push(lines.iter().filter_map(said).collect::<Vec<_>>());
    }
    // Whatever a provider is spoken to in, the conversation is the same.
    assert!(conversations.windows(2).all(|pair| pair[0] == pair[1]), "{conversations:#?}");
}

/// Without what differs from run to run: places, moments, the names that a provider gives its calls, and what is its own form.
fn plain(value: Value, project: &str, calls: &mut Vec<String>) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(project, "PROJECT")),
        Value::Array(values) => {
            values.into_iter().map(|value| plain(value, project, calls)).collect()
        }
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let value = match (name.as_str(), value) {
                    ("at" | "time" | "seconds" | "elapsed" | "milliseconds", _) => json!(0),
                    ("id", Value::String(id)) => {
                        let known = calls.iter().position(|known| *known == id);
                        let number = known.unwrap_or_else(|| {
                            calls.push(id);
                            calls.len() - 1
                        });
                        json!(format!("call {}", number + 1))
                    }
                    (_, value) => plain(value, project, calls),
                };
                (name, value)
            })
            .collect(),
        other => other,
    }
}

fn compare(name: &str, text: &str) {
    let place = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    let path = Path::new(&place).join("tests/agent/golden").join(name);
    if std::env::var_os("STOCKADE_UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{}\n{text}\nis not\n{committed}", path.display());
}
