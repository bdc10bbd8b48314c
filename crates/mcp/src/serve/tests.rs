//! A client that asks for what there is, and for what there is not.

use serde_json::{Value, json};

use super::{Asked, Offered, Server, result};
use crate::{Id, Message};

fn server() -> Server {
    let schema = json!({ "type": "object" });
    Server::new(vec![Offered {
        name: "read".to_owned(),
        description: "reads".to_owned(),
        schema,
        is_read_only: true,
    }])
}

fn ask(message: &Value) -> Asked {
    server().take(Message::read(message.to_string().as_bytes()).expect("a message"))
}

fn answer(message: &Value) -> Value {
    match ask(message) {
        Asked::Answer(message) => serde_json::from_str(&message.to_line()).expect("JSON"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_is_answered() {
    let request = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    for (wanted, version) in [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-06-18")] {
        let begun = answer(&request("initialize", json!({ "protocolVersion": wanted })));
        assert_eq!(
            (&begun["id"], &begun["result"]["protocolVersion"]),
            (&json!(7), &json!(version))
        );
    }
    let list = answer(&request("tools/list", json!({})));
    assert_eq!(list["result"]["tools"][0]["name"], "read");
    assert_eq!(answer(&request("ping", json!({})))["result"], json!({}));
    assert_eq!(answer(&request("resources/list", json!({})))["error"]["code"], -32601);
    assert_eq!(answer(&request("tools/call", json!({ "name": "fly" })))["error"]["code"], -32602);
    assert_eq!(
        answer(&request("tools/call", json!({ "name": "read", "arguments": [] })))["error"]["code"],
        -32602
    );
    let call = ask(&request("tools/call", json!({ "name": "read", "arguments": { "path": "a" } })));
    assert!(matches!(call, Asked::Call { id: Id::Number(7), ref tool, .. } if tool == "read"));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "x" } });
    assert_eq!(ask(&cancel), Asked::Cancel(Id::Text("x".to_owned())));
    assert!(result(Id::Number(1), "é", true).to_line().contains("\"isError\":true"));
}

#[test]
fn what_is_no_message_is_refused() {
    for line in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"jsonrpc":"1.0","method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#,
        r#"[{"jsonrpc":"2.0","method":"x"}]"#,
    ] {
        assert!(Message::read(line.as_bytes()).is_err(), "{line}");
    }
}
