//! Conversations that are summed up keep calls and results together.

use model::{Arguments, Content, Message, Role, ToolCall, ToolResult};

use super::{kept_from, request, with_summary};

fn conversation(steps: usize) -> Vec<Message> {
    let mut messages = vec![Message::user("the task")];
    for step in 0..steps {
        let id = format!("c{step}");
        let call = ToolCall {
            id: id.clone(),
            name: "read".to_owned(),
            arguments: Arguments::Object(serde_json::Map::new()),
        };
        messages.push(Message { role: Role::Assistant, content: vec![Content::Call(call)] });
        let text = format!("result {step} {}", "x".repeat(5000));
        messages.push(Message {
            role: Role::User,
            content: vec![Content::Result(ToolResult { id, text, is_error: false })],
        });
    }
    messages
}

/// V39: what stays begins with a turn of the model, and every result has its call.
#[test]
fn calls_keep_their_results() {
    assert_eq!(kept_from(&conversation(2)), None);
    for steps in 3..10 {
        let messages = conversation(steps);
        let at = kept_from(&messages).expect("a place");
        let compacted = with_summary(&messages, at, "in short");
        assert!(compacted.len() < messages.len() && compacted[0].text().starts_with("the task"));
        assert_eq!(compacted[1].role, Role::Assistant);
        let calls: Vec<&str> =
            compacted.iter().flat_map(Message::calls).map(|call| call.id.as_str()).collect();
        let results =
            compacted.iter().flat_map(|message| &message.content).filter_map(
                |content| match content {
                    Content::Result(result) => Some(result.id.as_str()),
                    _ => None,
                },
            );
        assert_eq!(results.collect::<Vec<_>>(), calls);
    }
}

#[test]
fn a_summary_is_asked_for_within_bounds() {
    let messages = conversation(50);
    let asked = request("m", &messages, 100, 10_000);
    let text = asked.messages[0].text();
    assert!(
        text.len() < 10_100 && text.contains("result 49") && !text.contains("result 1 "),
        "{}",
        text.len()
    );
}
