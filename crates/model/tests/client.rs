//! The client against a scripted server that speaks every protocol, and speaks it wrongly where the script says so.
//! V31.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use serde_json::json;
use stockade_model::{
    BaseUrl, Cancel, Client, Content, Delta, Endpoint, Key, Message, ModelError, Pace, Protocol,
    Refusal, Reply, Request, Retries, Role, Stop, Thinking, ToolResult, ToolSpec, Waits,
};
use testing::model_server::{Fault, ModelServer, Step};
use testing::slowly;
use zeroize::Zeroizing;

const ALL: [Protocol; 3] = [Protocol::Anthropic, Protocol::Completions, Protocol::Responses];
const KEY: &str = "sk-a-key-that-is-nowhere";

fn key() -> Key {
    Key::new(Zeroizing::new(KEY.as_bytes().to_vec())).expect("a key")
}

fn client(server: &ModelServer, protocol: Protocol) -> Client {
    let url: BaseUrl = server.url().parse().expect("an address");
    let endpoint = Endpoint::new(protocol, url, Some(key())).expect("an endpoint");
    let retries = Retries {
        most: 3,
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_secs(2),
    };
    let waits =
        Waits { silence: slowly(Duration::from_secs(5)), whole: slowly(Duration::from_secs(30)) };
    Client::new(endpoint, retries, waits, Pace::default())
}

fn request(messages: Vec<Message>) -> Request {
    let schema = json!({ "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"] });
    Request {
        model: "m".to_owned(),
        system: "You test.".to_owned(),
        messages,
        tools: vec![ToolSpec {
            name: "exec".to_owned(),
            description: "Runs a command.".to_owned(),
            schema,
        }],
        max_tokens: 1000,
        temperature: None,
        thinking: Thinking::Off,
    }
}

fn ask(client: &Client, messages: Vec<Message>) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut shown = Vec::new();
    let reply = client.ask(&request(messages), &Cancel::new(), &mut |delta| shown.push(delta));
    (reply, shown)
}

fn started(steps: &[Step], faults: &[Fault]) -> Option<ModelServer> {
    testing::has("python3").then(|| ModelServer::start_faulty(steps, "all done", faults))
}

#[test]
fn a_conversation_goes_through_each_protocol() {
    let two = Step::Together(vec![Step::Run("one".to_owned()), Step::Run("two".to_owned())]);
    let Some(server) = started(&[two], &[]) else { return };
    for protocol in ALL {
        let client = client(&server, protocol);
        let mut messages = vec![Message::user("mend it")];
        let (reply, shown) = ask(&client, messages.clone());
        let reply = reply.expect("an answer");
        assert_eq!(reply.stop, Stop::Calls, "{protocol}");
        assert_eq!(
            shown.iter().filter(|delta| **delta == Delta::Call { name: "exec".to_owned() }).count(),
            2
        );
        let results = reply.message.calls().enumerate().map(|(number, call)| {
            Content::Result(ToolResult {
                id: call.id.clone(),
                text: format!("result {number}"),
                is_error: false,
            })
        });
        let results = results.collect();
        messages.push(reply.message);
        messages.push(Message { role: Role::User, content: results });
        let reply = ask(&client, messages).0.expect("an answer");
        assert_eq!(
            (reply.stop, reply.message.text().as_str()),
            (Stop::Finished, "all done"),
            "{protocol}"
        );
        assert!(reply.usage.output > 0, "{protocol}");
        assert_eq!(server.results(), ["result 0", "result 1"], "{protocol}");
    }
    for request in server.requests() {
        let headers = &request["headers"];
        let sent = [&headers["x-api-key"], &headers["authorization"]]
            .map(|value| value.as_str().unwrap_or_default());
        assert!(sent == [KEY, ""] || sent == ["", &format!("Bearer {KEY}")], "{sent:?}");
        assert!(!request["body"].to_string().contains(KEY));
    }
}

#[test]
fn what_may_pass_is_asked_again() {
    let busy = |after: &str| Fault::Status {
        status: 429,
        headers: vec![("retry-after", after.to_owned())],
        message: "slow down".to_owned(),
    };
    for protocol in ALL {
        for (fault, least) in [
            (busy("1"), 1),
            (
                Fault::Status {
                    status: 529,
                    headers: Vec::new(),
                    message: "overloaded".to_owned(),
                },
                0,
            ),
            (Fault::Cut(1), 0),
            (Fault::Raw("data: {\"type\": \"message_start\"\n\n".to_owned()), 0),
            (Fault::Raw("data: [1, 2]\n\n".to_owned()), 0),
            (Fault::Raw("data: \u{0}\u{1}nothing\n\n".to_owned()), 0),
            (Fault::Kind("text/html"), 0),
        ] {
            let Some(server) = started(&[], std::slice::from_ref(&fault)) else { return };
            let began = Instant::now();
            let (reply, shown) = ask(&client(&server, protocol), vec![Message::user("x")]);
            assert_eq!(
                reply.expect("an answer").message.text(),
                "all done",
                "{protocol} {fault:?}"
            );
            assert!(began.elapsed() >= Duration::from_secs(least), "{protocol} {fault:?}");
            assert!(
                shown.iter().any(|delta| matches!(delta, Delta::Again { .. })),
                "{protocol} {fault:?}"
            );
            assert_eq!(server.requests().len(), 2);
        }
    }
}

#[test]
fn what_will_not_pass_is_not_asked_again() {
    let status =
        |status, headers| Fault::Status { status, headers, message: "no: KEY is wrong".to_owned() };
    for (fault, requests) in [
        (vec![status(401, Vec::new())], 1),
        (vec![status(400, Vec::new())], 1),
        (vec![status(302, vec![("location", "http://127.0.0.1:1/".to_owned())])], 1),
        (vec![status(429, vec![("retry-after", "3600".to_owned())])], 1),
        (vec![status(500, Vec::new()), status(500, Vec::new()), status(500, Vec::new())], 3),
    ] {
        let Some(server) = started(&[], &fault) else { return };
        let error = ask(&client(&server, Protocol::Anthropic), vec![Message::user("x")])
            .0
            .expect_err("refused");
        assert_eq!(server.requests().len(), requests, "{fault:?}");
        // What the provider repeats of the key is in no message.
        assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
    }
}

#[test]
fn whoever_cancels_is_heard_within_a_second() {
    for fault in [
        Fault::Silent(20.0),
        Fault::Slow(20.0),
        Fault::Status {
            status: 429,
            headers: vec![("retry-after", "2".to_owned())],
            message: String::new(),
        },
    ] {
        let Some(server) = started(&[], std::slice::from_ref(&fault)) else { return };
        let (cancel, client) = (Cancel::new(), client(&server, Protocol::Responses));
        let of_thread = cancel.clone();
        let asking = std::thread::spawn(move || {
            client.ask(&request(vec![Message::user("x")]), &of_thread, &mut |_| {})
        });
        std::thread::sleep(Duration::from_millis(700));
        let began = Instant::now();
        cancel.cancel();
        let reply = asking.join().expect("no panic");
        assert!(matches!(reply, Err(ModelError::Cancelled)), "{fault:?}: {reply:?}");
        assert!(began.elapsed() < slowly(Duration::from_secs(1)), "{fault:?}");
    }
}

#[test]
fn silence_ends() {
    let Some(server) = started(&[], &[Fault::Silent(60.0)]) else { return };
    let url: BaseUrl = server.url().parse().expect("an address");
    let endpoint = Endpoint::new(Protocol::Completions, url, None).expect("an endpoint");
    let waits = Waits { silence: Duration::from_millis(300), whole: Duration::from_secs(60) };
    let retries = Retries { most: 1, ..Retries::default() };
    let client = Client::new(endpoint, retries, waits, Pace::default());
    assert!(matches!(ask(&client, vec![Message::user("x")]).0, Err(ModelError::Silent(_))));
    assert!(server.requests().iter().all(|request| request["headers"]["authorization"].is_null()));
}

#[test]
fn a_key_is_sent_over_tls_or_to_this_machine() {
    let open = Endpoint::new(
        Protocol::Anthropic,
        "http://example.com".parse().expect("an address"),
        Some(key()),
    );
    assert!(matches!(open, Err(Refusal::KeyInTheOpen(_))));
    let local = Endpoint::new(
        Protocol::Anthropic,
        "http://127.0.0.1:1".parse().expect("an address"),
        Some(key()),
    );
    let shown = format!("{:?}", local.expect("an endpoint"));
    assert!(!shown.contains("sk-"), "{shown}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let endpoint =
        Endpoint::new(Protocol::Anthropic, "http://127.0.0.1:1".parse().expect("an address"), None);
    let retries = Retries { most: 2, first_wait: Duration::from_millis(1), ..Retries::default() };
    let client =
        Client::new(endpoint.expect("an endpoint"), retries, Waits::default(), Pace::default());
    let error = ask(&client, vec![Message::user("x")]).0.expect_err("nothing there");
    assert_eq!(error.to_string(), "`http://127.0.0.1:1` cannot be reached");
}
