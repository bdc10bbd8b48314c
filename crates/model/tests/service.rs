//! The model service, asked by hand as a program in a cage could: it adds the key, and nothing gets it out or leads
//! elsewhere. V31, T45.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use stockade_model::service::{Begun, Bounds, Ended, Record, ServerTools, Service, Upstreams};
use stockade_model::{
    BaseUrl, Cancel, Client, Cost, Endpoint, Key, Message, Pace, Prices, Protocol, Request,
    Retries, Thinking, Waits,
};
use testing::model_server::{Fault, ModelServer, Step};
use testing::slowly;
use zeroize::Zeroizing;

const KEY: &str = "sk-outside-only";
const DUMMY: &str = "sk-dummy";

#[derive(Default)]
struct Kept {
    begun: Mutex<Vec<Begun>>,
    ended: Mutex<Vec<Ended>>,
    refuses: bool,
}

impl Record for Kept {
    fn begun(&self, call: &Begun) -> std::io::Result<()> {
        if self.refuses {
            return Err(std::io::Error::other("the disk is full"));
        }
        self.begun.lock().expect("a lock").push(call.clone());
        Ok(())
    }

    fn ended(&self, call: &Ended) {
        self.ended.lock().expect("a lock").push(call.clone());
    }

    fn prices(&self, _model: &str) -> Option<Prices> {
        let price = Cost(1_000_000);
        Some(Prices { input: price, cached: price, cache_written: price, output: price })
    }
}

fn served(server: &ModelServer, bounds: Bounds, kept: Arc<Kept>) -> Service {
    served_to(server, bounds, kept, None)
}

fn served_to(server: &ModelServer, bounds: Bounds, kept: Arc<Kept>, token: Option<Key>) -> Service {
    let endpoint = |protocol| {
        let url: BaseUrl = server.url().parse().expect("an address");
        let key = Key::new(Zeroizing::new(KEY.as_bytes().to_vec())).expect("a key");
        Some(Endpoint::new(protocol, url, Some(key)).expect("an endpoint"))
    };
    let upstreams = Upstreams {
        anthropic: endpoint(Protocol::Anthropic),
        openai: endpoint(Protocol::Completions),
        token,
        others: None,
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    Service::start(listener, upstreams, bounds, kept).expect("a service")
}

fn exchange(service: &Service, request: &str) -> String {
    let mut stream = TcpStream::connect(service.address()).expect("a connection");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(path: &str, fields: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: model\r\n{fields}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn messages() -> Value {
    json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "x" }], "tools": [
        { "name": "exec", "input_schema": { "type": "object", "properties": { "command": {} } } },
    ] })
}

fn server(steps: &[Step], faults: &[Fault]) -> Option<ModelServer> {
    testing::has("python3").then(|| ModelServer::start_faulty(steps, "all done", faults))
}

#[test]
fn each_protocol_is_served_with_a_key_that_means_nothing() {
    let Some(server) = server(&[], &[]) else { return };
    let kept = Arc::new(Kept::default());
    let service = served(&server, Bounds::default(), Arc::clone(&kept));
    for protocol in [Protocol::Anthropic, Protocol::Completions, Protocol::Responses] {
        let url = format!("http://{}", service.address()).parse().expect("an address");
        let dummy = Key::new(Zeroizing::new(DUMMY.as_bytes().to_vec())).expect("a key");
        let endpoint = Endpoint::new(protocol, url, Some(dummy)).expect("an endpoint");
        let client = Client::new(
            endpoint,
            Retries { most: 1, ..Retries::default() },
            Waits::default(),
            Pace::default(),
        );
        let request = Request {
            model: "m-1".to_owned(),
            system: String::new(),
            messages: vec![Message::user("x")],
            tools: Vec::new(),
            max_tokens: 10,
            temperature: None,
            thinking: Thinking::Off,
        };
        let reply = client.ask(&request, &Cancel::new(), &mut |_| {}).expect("an answer");
        assert_eq!(reply.message.text(), "ok", "{protocol}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        let text = request.to_string();
        assert!(text.contains(KEY) && !text.contains(DUMMY), "{text}");
        assert_eq!(request["headers"]["host"], server.url().trim_start_matches("http://"));
    }
    let (begun, ended) = (kept.begun.lock().expect("a lock"), kept.ended.lock().expect("a lock"));
    assert!(
        begun.iter().all(|call| call.model.as_deref() == Some("m-1") && call.sha256.len() == 64)
    );
    assert!(
        ended.iter().all(|call| call.status == Some(200)
            && call.usage.output == 1
            && call.cost == Some(Cost(2))),
        "{ended:?}"
    );
    assert!(!format!("{begun:?} {ended:?}").contains("sk-"));
}

#[test]
fn what_repeats_the_key_is_cleaned() {
    let repeats = Fault::Status {
        status: 401,
        headers: vec![("x-request-id", "KEY".to_owned()), ("retry-after", "7".to_owned())],
        message: "wrong key KEY, I say: KEY".to_owned(),
    };
    let stream = Fault::Raw(format!("data: {{\"a\": \"{KEY}\"}}\n\n"));
    let Some(server) = server(&[], &[repeats, stream]) else { return };
    let service = served(&server, Bounds::default(), Arc::default());
    for _ in 0..2 {
        let answer = exchange(&service, &post("/v1/messages", "x-api-key: mine\r\n", &messages()));
        assert!(!answer.contains(KEY) && answer.contains("********"), "{answer}");
    }
    let headers = server.requests()[0]["headers"].clone();
    assert_eq!(headers["x-api-key"], KEY);
}

/// T45: nothing but the base URL is reached, and nothing of what identifies the caller arrives.
#[test]
fn nothing_leads_elsewhere() {
    let Some(server) = server(&[], &[]) else { return };
    let service = served(&server, Bounds::default(), Arc::default());
    let other = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let elsewhere = other.local_addr().expect("an address");
    for target in [
        &format!("http://{elsewhere}/v1/messages"),
        &format!("//{elsewhere}/v1/messages"),
        "/v1/../admin",
        "/v1/messages/../../admin",
        "/v1/messages/batches",
        "/v1/files",
        "/v1/organizations/keys",
        "/v1/messages?key=%00",
        "/admin",
        "*",
    ] {
        let answer = exchange(&service, &post(target, "", &messages()));
        assert!(answer.starts_with("HTTP/1.1 404"), "{target}: {answer}");
    }
    for request in [
        format!("CONNECT {elsewhere} HTTP/1.1\r\nhost: x\r\n\r\n"),
        "GET /v1/models/../../keys HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "DELETE /v1/models/m HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "POST /v1/messages HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(),
    ] {
        let answer = exchange(&service, &request);
        assert!(answer.starts_with("HTTP/1.1 40"), "{request}: {answer}");
    }
    assert!(server.requests().is_empty());
    let fields = format!(
        "host: {elsewhere}\r\nx-api-key: mine\r\nauthorization: Bearer mine\r\ncookie: a=b\r\nx-forwarded-host: {elsewhere}\r\nproxy-authorization: mine\r\nanthropic-beta: some\r\n"
    );
    let answer = exchange(&service, &post("/v1/messages?beta=true", &fields, &messages()));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("all done"), "{answer}");
    let arrived = server.requests();
    let text = arrived[0].to_string();
    assert!(
        !text.contains("mine")
            && !text.contains(&elsewhere.to_string())
            && !text.contains("cookie"),
        "{text}"
    );
    assert_eq!(arrived[0]["headers"]["anthropic-beta"], "some");
    other.set_nonblocking(true).expect("a listener");
    assert!(other.accept().is_err());
}

/// T45: a service that others can reach serves whoever has its token alone.
#[test]
fn a_token_keeps_others_out() {
    let Some(server) = server(&[], &[]) else { return };
    let token = Key::new(Zeroizing::new(DUMMY.as_bytes().to_vec())).expect("a key");
    let service = served_to(&server, Bounds::default(), Arc::default(), Some(token));
    for (fields, status) in [
        ("", "401"),
        ("x-api-key: sk-dumm\r\n", "401"),
        ("x-api-key: sk-dummy2\r\n", "401"),
        ("authorization: sk-dummy\r\n", "401"),
        ("authorization: Bearer sk-dummy\r\n", "200"),
        ("x-api-key: sk-dummy\r\n", "200"),
    ] {
        let answer = exchange(&service, &post("/v1/messages", fields, &messages()));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{fields}: {answer}");
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_redirect_is_not_passed_on() {
    let away = Fault::Status {
        status: 307,
        headers: vec![("location", "http://127.0.0.1:1/".to_owned())],
        message: "there".to_owned(),
    };
    let Some(server) = server(&[], &[away]) else { return };
    let service = served(&server, Bounds::default(), Arc::default());
    let answer = exchange(&service, &post("/v1/messages", "", &messages()));
    assert!(answer.starts_with("HTTP/1.1 502") && !answer.contains("location"), "{answer}");
}

#[test]
fn a_call_that_cannot_be_recorded_is_not_made() {
    let Some(server) = server(&[], &[]) else { return };
    let service =
        served(&server, Bounds::default(), Arc::new(Kept { refuses: true, ..Kept::default() }));
    let answer = exchange(&service, &post("/v1/messages", "", &messages()));
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("the disk is full"), "{answer}");
    assert!(server.requests().is_empty());
}

#[test]
fn budgets_hold() {
    let Some(server) = server(&[], &[]) else { return };
    for (bounds, passing) in [
        (Bounds { calls: Some(2), ..Bounds::default() }, 2),
        (Bounds { tokens: Some(3), ..Bounds::default() }, 2),
    ] {
        let service = served(&server, bounds, Arc::default());
        let answers: Vec<bool> = (0..4)
            .map(|_| {
                exchange(&service, &post("/v1/messages", "", &messages()))
                    .starts_with("HTTP/1.1 200")
            })
            .collect();
        assert_eq!(answers.iter().filter(|passed| **passed).count(), passing, "{bounds:?}");
    }
}

/// V31: calls at one time do not go past the budget together.
#[test]
fn calls_under_way_count_towards_the_budget() {
    let slow = vec![Fault::Slow(0.05); 20];
    let Some(server) = server(&[], &slow) else { return };
    let bounds = Bounds { tokens: Some(10), ..Bounds::default() };
    let service = served(&server, bounds, Arc::default());
    let asked = post("/v1/messages", "", &messages());
    let passed = std::thread::scope(|scope| {
        let ask = || exchange(&service, &asked).starts_with("HTTP/1.1 200");
        let asking: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().filter_map(|asking| asking.join().ok()).filter(|passed| *passed).count()
    });
    assert!((1..=5).contains(&passed), "{passed}");
    assert!(service.usage().total() <= 10, "{:?}", service.usage());
}

/// V31, T45: a provider answers, and does nothing elsewhere for a program that has no network. What is refused is on
/// record, and names the field.
#[test]
fn a_provider_is_asked_for_answers_alone() {
    let Some(server) = server(&[], &[]) else { return };
    let kept = Arc::new(Kept::default());
    let service = served(&server, Bounds::default(), Arc::clone(&kept));
    let search = json!({ "model": "m", "max_tokens": 1, "messages": [],
        "tools": [{ "type": "web_search_20250305", "name": "web_search" }] });
    let answer = exchange(&service, &post("/v1/messages", "", &search));
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("invalid_request_error"), "{answer}");
    assert!(answer.contains("tools[0] of type web_search_20250305"), "{answer}");
    assert!(answer.contains("server_tools = true"), "{answer}");
    for body in ["", "[]", "\0", "1", r#"{"a": 1} {}"#, r#"{"model": "m", "model": "n"}"#] {
        let length = body.len();
        let request =
            format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}");
        let answer = exchange(&service, &request);
        assert!(answer.starts_with("HTTP/1.1 400"), "{body}: {answer}");
    }
    // What stands behind a head without a body is another request.
    let other = "POST /v1/files HTTP/1.1\r\n\r\n";
    let hidden =
        format!("GET /v1/models HTTP/1.1\r\ncontent-length: {}\r\n\r\n{other}", other.len());
    let answer = exchange(&service, &hidden);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(server.requests().is_empty(), "{:?}", server.requests());
    let (begun, ended) = (kept.begun.lock().expect("a lock"), kept.ended.lock().expect("a lock"));
    assert_eq!((begun.len(), ended.len()), (8, 8));
    assert_eq!(begun[0].model.as_deref(), Some("m"));
    let failure = ended[0].failure.as_deref().unwrap_or_default();
    assert!(failure.contains("refused") && failure.contains("web_search"), "{failure}");
    drop((begun, ended));
    let bounds = Bounds { server_tools: ServerTools::Allowed, ..Bounds::default() };
    let allowing = served(&server, bounds, Arc::default());
    let answer = exchange(&allowing, &post("/v1/messages", "content-type: text/xml\r\n", &search));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.requests()[0]["headers"]["content-type"], "application/json");
}

#[test]
fn a_service_ends_although_somebody_waits() {
    let Some(server) = server(&[], &[Fault::Silent(30.0)]) else { return };
    let service = served(&server, Bounds::default(), Arc::default());
    let mut asking = TcpStream::connect(service.address()).expect("a connection");
    asking.write_all(post("/v1/messages", "", &messages()).as_bytes()).expect("a request");
    let _idle = TcpStream::connect(service.address()).expect("a connection");
    std::thread::sleep(Duration::from_millis(500));
    let began = std::time::Instant::now();
    drop(service);
    assert!(began.elapsed() < slowly(Duration::from_secs(2)));
}

/// A budget that is used up is so the next time too: a client that asks again what may pass does not ask that again.
#[test]
fn a_refusal_of_ours_is_final() {
    let Some(server) = server(&[], &[]) else { return };
    let bounds = Bounds { calls: Some(0), ..Bounds::default() };
    let service = served(&server, bounds, Arc::default());
    let url = format!("http://{}", service.address()).parse().expect("an address");
    let endpoint = Endpoint::new(Protocol::Completions, url, None).expect("an endpoint");
    let client = Client::new(endpoint, Retries::default(), Waits::default(), Pace::default());
    let request = Request {
        model: "m-1".to_owned(),
        system: String::new(),
        messages: vec![Message::user("x")],
        tools: Vec::new(),
        max_tokens: 10,
        temperature: None,
        thinking: Thinking::Off,
    };
    let mut seen = 0;
    let error = client.ask(&request, &Cancel::new(), &mut |_| seen += 1).expect_err("refused");
    assert!(error.to_string().contains("budget of calls is used up"), "{error}");
    assert_eq!(seen, 0);
}
