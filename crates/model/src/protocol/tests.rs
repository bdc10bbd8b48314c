//! Each protocol by hand-written streams, good and bad, and what the next request gives back of them.

use serde_json::{Value, json};

use super::{Protocol, StreamError};
use crate::message::{
    Arguments, Content, Delta, Message, Reply, Request, Stop, Thinking, ToolResult, ToolSpec,
};
use crate::sse::Event;
use crate::{Role, Usage};

const ALL: [Protocol; 3] = [Protocol::Anthropic, Protocol::Completions, Protocol::Responses];

fn decode(protocol: Protocol, events: &[Value]) -> Result<(Reply, Vec<Delta>), StreamError> {
    let (mut decoder, mut shown) = (protocol.decoder(), Vec::new());
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        decoder.take(&Event { name: String::new(), data }, &mut |delta| shown.push(delta))?;
    }
    Ok((decoder.finish()?, shown))
}

/// Thinks, says "I look", and calls `read` twice.
fn streams(protocol: Protocol) -> Vec<Value> {
    match protocol {
        Protocol::Anthropic => vec![
            json!({ "type": "message_start", "message": { "model": "m-1", "usage": { "input_tokens": 7, "cache_read_input_tokens": 3 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
            json!({ "type": "content_block_delta", "delta": { "type": "thinking_delta", "thinking": "hm" } }),
            json!({ "type": "content_block_delta", "delta": { "type": "signature_delta", "signature": "sig" } }),
            json!({ "type": "content_block_stop" }),
            json!({ "type": "ping" }),
            json!({ "type": "content_block_start", "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "I " } }),
            json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "look" } }),
            json!({ "type": "content_block_stop" }),
            json!({ "type": "content_block_start", "content_block": { "type": "tool_use", "id": "t1", "name": "read", "input": {} } }),
            json!({ "type": "content_block_delta", "delta": { "type": "input_json_delta", "partial_json": "{\"path\":" } }),
            json!({ "type": "content_block_delta", "delta": { "type": "input_json_delta", "partial_json": "\"a\"}" } }),
            json!({ "type": "content_block_stop" }),
            json!({ "type": "content_block_start", "content_block": { "type": "tool_use", "id": "t2", "name": "read" } }),
            json!({ "type": "content_block_stop" }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 5 } }),
            json!({ "type": "message_stop" }),
        ],
        Protocol::Completions => vec![
            json!({ "model": "m-1", "choices": [{ "delta": { "role": "assistant", "reasoning_content": "hm" } }] }),
            json!({ "choices": [{ "delta": { "content": "I " } }] }),
            json!({ "choices": [{ "delta": { "content": "look" } }] }),
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "t1", "function": { "name": "read", "arguments": "{\"path\":" } }] } }] }),
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 1, "id": "t2", "function": { "name": "read", "arguments": "" } }] } }] }),
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": "\"a\"}" } }] } }] }),
            json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 3 } } }),
            json!("[DONE]"),
        ],
        Protocol::Responses => vec![
            json!({ "type": "response.created", "response": { "model": "m-1" } }),
            json!({ "type": "response.reasoning_summary_text.delta", "delta": "hm" }),
            json!({ "type": "response.output_item.done", "item": { "type": "reasoning", "id": "r", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "e" } }),
            json!({ "type": "response.output_text.delta", "delta": "I " }),
            json!({ "type": "response.output_text.delta", "delta": "look" }),
            json!({ "type": "response.output_item.done", "item": { "type": "message", "content": [{ "type": "output_text", "text": "I look" }] } }),
            json!({ "type": "response.output_item.added", "item": { "type": "function_call", "name": "read" } }),
            json!({ "type": "response.output_item.done", "item": { "type": "function_call", "call_id": "t1", "name": "read", "arguments": "{\"path\":\"a\"}" } }),
            json!({ "type": "response.output_item.added", "item": { "type": "function_call", "name": "read" } }),
            json!({ "type": "response.output_item.done", "item": { "type": "function_call", "call_id": "t2", "name": "read", "arguments": "" } }),
            json!({ "type": "response.completed", "response": { "usage": { "input_tokens": 10, "output_tokens": 5, "input_tokens_details": { "cached_tokens": 3 } } } }),
        ],
    }
}

/// V31: the same answer from each protocol.
#[test]
fn each_protocol_gives_the_same_answer() {
    for protocol in ALL {
        let (reply, shown) = decode(protocol, &streams(protocol)).expect("an answer");
        assert_eq!((reply.stop, reply.model.as_str()), (Stop::Calls, "m-1"), "{protocol}");
        assert_eq!(
            reply.usage,
            Usage { input: 7, cached: 3, cache_written: 0, output: 5 },
            "{protocol}"
        );
        assert_eq!(reply.message.text(), "I look", "{protocol}");
        let calls: Vec<_> = reply
            .message
            .calls()
            .map(|call| (call.id.as_str(), call.arguments.to_value()))
            .collect();
        assert_eq!(calls, [("t1", json!({ "path": "a" })), ("t2", json!({}))], "{protocol}");
        let words: String = shown
            .iter()
            .filter_map(
                |delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None },
            )
            .collect();
        assert_eq!(words, "I look", "{protocol}");
        assert!(shown.contains(&Delta::Thinking("hm".to_owned())), "{protocol}");
        assert_eq!(
            shown.iter().filter(|delta| matches!(delta, Delta::Call { .. })).count(),
            2,
            "{protocol}"
        );
    }
}

/// An answer that was cut anywhere is no answer.
#[test]
fn a_stream_that_ends_early_is_an_error() {
    for protocol in ALL {
        let events = streams(protocol);
        // The last event of completions says only that nothing follows, the one before it what was counted.
        let needed =
            if protocol == Protocol::Completions { events.len() - 2 } else { events.len() };
        for count in 0..needed {
            assert_eq!(
                decode(protocol, &events[..count]).map(|_| ()),
                Err(StreamError::CutOff),
                "{protocol} {count}"
            );
        }
    }
}

#[test]
fn wrong_streams_are_refused() {
    for protocol in ALL {
        let wrong = decode(protocol, &[json!("{no json")]).expect_err("no JSON");
        assert!(matches!(wrong, StreamError::Json(_)) && wrong.may_pass(), "{protocol}: {wrong}");
        assert!(decode(protocol, &[json!([1, 2]), json!(3), json!(null)]).is_err(), "{protocol}");
    }
    let of = |protocol, event| decode(protocol, &[event]).expect_err("refused");
    let nameless = json!({ "type": "content_block_start", "content_block": { "type": "tool_use", "id": "", "name": "" } });
    assert!(matches!(of(Protocol::Anthropic, nameless), StreamError::Sense(_)));
    let stray =
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "x" } });
    assert!(matches!(of(Protocol::Anthropic, stray), StreamError::Sense(_)));
    let far = json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 1_000_000_000, "id": "a" }] } }] });
    assert!(matches!(of(Protocol::Completions, far), StreamError::TooMuch { .. }));
    for (event, passes) in [
        (
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "later" } }),
            true,
        ),
        (
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } }),
            false,
        ),
    ] {
        assert_eq!(of(Protocol::Anthropic, event.clone()).may_pass(), passes);
        assert_eq!(of(Protocol::Responses, event.clone()).may_pass(), passes);
        assert_eq!(of(Protocol::Completions, event).may_pass(), passes);
    }
}

/// Arguments that are too long or no JSON cost the call, not the answer.
#[test]
fn arguments_that_cannot_be_read_are_reported_to_the_model() {
    let item = |arguments: &str| {
        vec![
            json!({ "type": "response.output_item.done", "item": { "type": "function_call", "call_id": "c", "name": "n", "arguments": arguments } }),
            json!({ "type": "response.completed", "response": {} }),
        ]
    };
    for arguments in ["{", "[1]", "\"text\"", &"x".repeat(2 << 20)] {
        let (reply, _) = decode(Protocol::Responses, &item(arguments)).expect("an answer");
        let call = reply.message.calls().next().expect("a call").clone();
        assert!(matches!(call.arguments, Arguments::Unreadable(_)), "{}", &arguments[..1]);
        assert_eq!(reply.stop, Stop::Calls);
    }
    let endless: Vec<Value> = (0..40)
        .map(|_| json!({ "choices": [{ "delta": { "content": "x".repeat(1 << 19) } }] }))
        .collect();
    assert!(matches!(decode(Protocol::Completions, &endless), Err(StreamError::TooMuch { .. })));
}

#[test]
fn what_was_thought_goes_back_to_its_own_provider_alone() {
    for protocol in ALL {
        let (reply, _) = decode(protocol, &streams(protocol)).expect("an answer");
        let results = ["t1", "t2"].map(|id| {
            Content::Result(ToolResult { id: id.to_owned(), text: "r".to_owned(), is_error: false })
        });
        let request = Request {
            model: "m".to_owned(),
            system: "be brief".to_owned(),
            messages: vec![
                Message::user("hello"),
                reply.message,
                Message { role: Role::User, content: results.to_vec() },
            ],
            tools: vec![ToolSpec {
                name: "read".to_owned(),
                description: "reads".to_owned(),
                schema: json!({ "type": "object" }),
            }],
            max_tokens: 100,
            temperature: Some(0.7),
            thinking: Thinking::Budget(2000),
        };
        for other in ALL {
            let text = other.encode(&request).to_string();
            let gives_back = text.contains("\"signature\":\"sig\"")
                || text.contains("\"encrypted_content\":\"e\"");
            assert_eq!(
                gives_back,
                other == protocol && protocol != Protocol::Completions,
                "{protocol} to {other}: {text}"
            );
            for part in ["be brief", "hello", "I look", "t1", "t2", "\"read\""] {
                assert!(text.contains(part), "{other}: {part}");
            }
            assert!(!text.contains("temperature"), "{other}");
        }
    }
}

#[test]
fn thinking_is_asked_for_in_each_protocols_way() {
    let request = |thinking| Request {
        model: "m".to_owned(),
        system: String::new(),
        messages: vec![Message::user("x")],
        tools: Vec::new(),
        max_tokens: 100,
        temperature: Some(0.5),
        thinking,
    };
    for (protocol, thinking, place, expected) in [
        (Protocol::Anthropic, Thinking::Budget(5000), "/thinking/budget_tokens", json!(5000)),
        (Protocol::Anthropic, Thinking::Budget(5000), "/max_tokens", json!(5100)),
        (Protocol::Anthropic, Thinking::Off, "/temperature", json!(0.5)),
        (Protocol::Completions, Thinking::Max, "/reasoning_effort", json!("high")),
        (Protocol::Completions, Thinking::Off, "/max_tokens", json!(100)),
        (Protocol::Responses, Thinking::Budget(1000), "/reasoning/effort", json!("low")),
        (Protocol::Responses, Thinking::Off, "/store", json!(false)),
    ] {
        assert_eq!(
            protocol.encode(&request(thinking)).pointer(place),
            Some(&expected),
            "{protocol} {place}"
        );
    }
}
