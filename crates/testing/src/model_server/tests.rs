//! The server under each interface, asked by hand.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{ModelServer, Step};

/// The body of an answer, with the pieces of a stream joined.
fn ask(server: &ModelServer, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: model\r\nX-Api-Key: secret\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

fn server() -> Option<ModelServer> {
    let steps = [Step::Run("make test".to_owned()), Step::Read("/project/a".into())];
    crate::has("python3").then(|| ModelServer::start(&steps, "all done"))
}

fn shell() -> Value {
    json!({ "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"] })
}

#[test]
fn each_interface_offers_the_first_step() {
    let Some(server) = server() else { return };
    let question = "mend it";
    let messages = json!([{ "role": "user", "content": question }]);
    for streams in [false, true] {
        let anthropic = json!({
            "model": "m", "stream": streams, "messages": messages,
            "tools": [{ "name": "Bash", "input_schema": shell() }],
        });
        let completions = json!({
            "model": "m", "stream": streams, "messages": messages,
            "tools": [{ "type": "function", "function": { "name": "bash", "parameters": shell() } }],
        });
        let responses = json!({
            "model": "m", "stream": streams, "input": messages,
            "tools": [{ "type": "function", "name": "shell_command", "parameters": shell() }],
        });
        let gemini = json!({
            "contents": [{ "role": "user", "parts": [{ "text": question }] }],
            "tools": [{ "functionDeclarations": [{ "name": "run_shell_command", "parameters": shell() }] }],
        });
        let method = if streams { "streamGenerateContent" } else { "generateContent" };
        let gemini_path = format!("/v1beta/models/m:{method}?alt=sse");
        for (path, body, tool) in [
            ("/v1/messages?beta=true", anthropic, "Bash"),
            ("/v1/chat/completions", completions, "bash"),
            ("/v1/responses", responses, "shell_command"),
            (&*gemini_path, gemini, "run_shell_command"),
        ] {
            let answer = ask(&server, path, &body);
            assert!(answer.contains(tool) && answer.contains("make test"), "{path}: {answer}");
            assert_eq!(answer.contains("data: "), streams, "{path}: {answer}");
        }
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 8);
    assert!(requests.iter().all(|request| request["headers"]["x-api-key"] == "secret"));
}

#[test]
fn the_conversation_says_how_far_the_script_has_come() {
    let Some(server) = server() else { return };
    let asked = |results: usize| {
        let mut messages = vec![json!({ "role": "user", "content": "mend it" })];
        for number in 0..results {
            messages.push(json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": format!("toolu_{number}"), "name": "Bash", "input": {} },
            ] }));
            messages.push(json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": format!("toolu_{number}"), "content": format!("result {number}") },
            ] }));
        }
        json!({ "model": "m", "messages": messages, "tools": [{ "name": "Bash", "input_schema": shell() }] })
    };
    assert!(ask(&server, "/v1/messages", &asked(0)).contains("make test"));
    // No tool of its own reads: the shell does.
    assert!(ask(&server, "/v1/messages", &asked(1)).contains("cat /project/a"));
    assert!(ask(&server, "/v1/messages", &asked(2)).contains("all done"));
    assert!(ask(&server, "/v1/messages", &asked(0)).contains("make test"));
    assert_eq!(server.results(), ["result 0", "result 1"]);
}

#[test]
fn what_must_have_a_form_has_it() {
    let Some(server) = server() else { return };
    let schema = json!({
        "type": "OBJECT",
        "properties": { "score": { "type": "INTEGER" }, "why": { "type": "STRING" } },
        "required": ["score", "why"],
    });
    let body = json!({
        "contents": [{ "role": "user", "parts": [{ "text": "how hard is it?" }] }],
        "generationConfig": { "responseJsonSchema": schema },
    });
    let answer: Value =
        serde_json::from_str(&ask(&server, "/v1beta/models/m:generateContent", &body))
            .expect("JSON");
    let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str().expect("text");
    let said: Value = serde_json::from_str(text).expect("JSON");
    assert!(said["score"].is_i64() && said["why"].is_string(), "{said}");
}
