//! One connection of a client: reads a request, asks the provider, passes the answer on while it comes. One request for
//! each connection.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::body::{self, ServerTools};
use super::redact::Redactor;
use super::route::{NoRoute, Route, is_known, passed_back, passed_on, route};
use super::{Begun, Ended, Reserved, Shared};
use crate::cancel::SLICE;
use crate::client::{ASK_AGAIN, read_head};
use crate::connection::{Connection, Patience};
use crate::error::ModelError;
use crate::http::{Progress, RequestHead};
use crate::protocol::count_usage;
use crate::sse::Parser;
use crate::usage::Usage;

/// A refusal of ours: a status, a word and a sentence.
type Refused = (u16, &'static str, String);

/// Tells a client that there are too many.
pub(super) fn refuse_at_once(mut stream: TcpStream) {
    let _given_up = stream.set_write_timeout(Some(SLICE));
    let _given_up =
        stream.write_all(&answer(503, "overloaded_error", "too many calls at one time"));
}

/// Serves one connection to its end.
pub(super) fn serve(mut stream: TcpStream, shared: &Shared) {
    // What is accepted inherits nothing of the listener, whatever the kernel does elsewhere.
    let set_up = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(SLICE)));
    if set_up.and_then(|()| stream.set_write_timeout(Some(CLIENT_TIME))).is_err() {
        return;
    }
    let refused = match read_request(&mut stream, shared) {
        Ok(Some((head, body))) => pass_on(&mut stream, &head, &body, shared).err(),
        Ok(None) => None,
        Err(refused) => Some(refused),
    };
    if let Some((status, kind, message)) = refused {
        let _gone = stream.write_all(&answer(status, kind, &message));
    }
}

/// The request, whole; none where the client left before it was.
fn read_request(
    stream: &mut TcpStream,
    shared: &Shared,
) -> Result<Option<(RequestHead, Vec<u8>)>, Refused> {
    let invalid = |text: String| (400, "invalid_request_error", text);
    let until = Instant::now() + CLIENT_TIME;
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    let head = loop {
        match RequestHead::read(&bytes).map_err(|error| invalid(error.to_string()))? {
            Progress::Head(head, length) => {
                bytes.drain(..length);
                break head;
            }
            Progress::NeedMore => match next(stream, &mut buffer, until, shared) {
                Some(part) => bytes.extend_from_slice(part),
                None => return Ok(None),
            },
        }
    };
    if head.fields.text("expect").is_some_and(|word| word.eq_ignore_ascii_case("100-continue")) {
        let _gone = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    let mut body = head.body().map_err(|error| invalid(error.to_string()))?;
    let mut content = Vec::new();
    loop {
        let taken = body.feed(&bytes, &mut content).map_err(|error| invalid(error.to_string()))?;
        bytes.drain(..taken);
        if content.len() > MOST_REQUEST
            || body.left().is_some_and(|left| left > MOST_REQUEST as u64)
        {
            return Err((
                413,
                "request_too_large",
                format!("the request has more than {MOST_REQUEST} bytes"),
            ));
        }
        if body.is_done() {
            return Ok(Some((head, content)));
        }
        match next(stream, &mut buffer, until, shared) {
            Some(part) => bytes.extend_from_slice(part),
            None => return Ok(None),
        }
    }
}

/// The next bytes of a client; none when it has left, is too slow, or the service ends.
fn next<'a>(
    stream: &mut TcpStream,
    buffer: &'a mut [u8],
    until: Instant,
    shared: &Shared,
) -> Option<&'a [u8]> {
    while Instant::now() < until && !shared.stop.is_cancelled() {
        match stream.read(buffer) {
            Ok(0) => return None,
            Ok(count) => return buffer.get(..count),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => return None,
        }
    }
    None
}

fn pass_on(
    stream: &mut TcpStream,
    head: &RequestHead,
    body: &[u8],
    shared: &Shared,
) -> Result<(), Refused> {
    if !is_known(&shared.upstreams, &head.fields) {
        return Err((
            401,
            "authentication_error",
            "this is not the key that the client was given".to_owned(),
        ));
    }
    if let Some(name) = head.target.strip_prefix(SERVICES) {
        return ask_other(stream, &head.method, name, body, shared);
    }
    let route = route(&shared.upstreams, head).map_err(|no| match no {
        NoRoute::Unknown => {
            (404, "not_found_error", "the model service has nothing there".to_owned())
        }
        NoRoute::NoProvider => (404, "not_found_error", NO_PROVIDER.to_owned()),
    })?;
    let calls = shared.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let over =
        |what: &str| (429, "rate_limit_error", format!("this cage's budget of {what} is used up"));
    if shared.bounds.calls.is_some_and(|most| calls > most) {
        return Err(over("calls"));
    }
    let (asked, allowed) = looked_at(&route, body, shared.bounds.server_tools);
    let reserved = shared.reserve(most_tokens(&asked, body)).ok_or_else(|| over("tokens"))?;
    let model = asked
        .get("model")
        .and_then(Value::as_str)
        .map(|name| name.chars().take(200).collect::<String>());
    let begun = Begun {
        call: calls,
        path: route.path.clone(),
        model,
        bytes: body.len() as u64,
        sha256: hexadecimal(Sha256::digest(body)),
    };
    shared.record.begun(&begun).map_err(|error| {
        (503, "api_error", format!("the call is not made, because it cannot be recorded: {error}"))
    })?;
    if shared.record.wants_text() {
        shared.record.text(calls, body.get(..MOST_TEXT).unwrap_or(body));
    }
    let mut relay = Relay {
        shared,
        reserved,
        call: calls,
        status: None,
        usage: Usage::default(),
        bytes: 0,
        hash: Sha256::new(),
        text: Vec::new(),
    };
    if let Err(why) = allowed {
        relay.end(&begun, Some(format!("refused: {why}")));
        return Err((400, "invalid_request_error", why));
    }
    let passed = relay.run(stream, head, &route, body);
    let (failure, status) = (passed.err().map(|error| error.to_string()), relay.status);
    relay.end(&begun, failure.clone());
    match (failure, status) {
        // Once an answer has begun, only its end can say that it is not whole.
        (None, _) | (Some(_), Some(_)) => Ok(()),
        (Some(why), None) => Err((502, "api_error", format!("the model cannot be asked: {why}"))),
    }
}

/// What is asked, and whether it may be.
fn looked_at(route: &Route<'_>, sent: &[u8], tools: ServerTools) -> (Value, Result<(), String>) {
    match (route.form, body::read(sent)) {
        (None, _) if sent.is_empty() => (Value::Null, Ok(())),
        // Behind a head that has none, it would begin another request.
        (None, _) => (Value::Null, Err("a request of this kind has no body".to_owned())),
        (Some(_), Err(why)) => (Value::Null, Err(why)),
        (Some(form), Ok(asked)) => {
            let allowed = match tools {
                ServerTools::Allowed => Ok(()),
                ServerTools::Refused => body::check(form, &asked),
            };
            (asked, allowed)
        }
    }
}

/// What a call may take: what it sends, and the longest answer that it asks for.
fn most_tokens(asked: &Value, body: &[u8]) -> u64 {
    let bounds = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let answer = bounds.iter().find_map(|name| asked.get(name)?.as_u64());
    let sent = body.len() as u64 / BYTES_OF_TOKEN;
    answer.unwrap_or(MOST_ANSWER).saturating_add(sent)
}

/// What is no model: `GET` says what it is for, `POST` asks.
fn ask_other(
    stream: &mut TcpStream,
    method: &str,
    name: &str,
    body: &[u8],
    shared: &Shared,
) -> Result<(), Refused> {
    let nothing = || (404, "not_found_error", "this cage has no such service".to_owned());
    let others = shared.upstreams.others.as_deref().ok_or_else(nothing)?;
    let doc = others.doc(name).ok_or_else(nothing)?;
    let text = match method {
        "GET" => doc.into_bytes(),
        "POST" => others.ask(name, body, &shared.stop).map_err(|why| (502, "api_error", why))?,
        _ => return Err(nothing()),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let _gone = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&text));
    Ok(())
}

/// A call under way.
struct Relay<'a> {
    shared: &'a Shared,
    reserved: Reserved<'a>,
    call: u64,
    status: Option<u16>,
    usage: Usage,
    bytes: u64,
    hash: Sha256,
    text: Vec<u8>,
}

impl Relay<'_> {
    fn run(
        &mut self,
        stream: &mut TcpStream,
        head: &RequestHead,
        route: &Route<'_>,
        body: &[u8],
    ) -> Result<(), ModelError> {
        let waits = self.shared.bounds.waits;
        let until = Instant::now() + waits.whole;
        let patience = Patience {
            cancel: &self.shared.stop,
            silence: waits.silence,
            until,
            whole: waits.whole,
        };
        let mut connection = Connection::open(route.endpoint.url(), patience)?;
        let length = (head.method == "POST").then_some(body.len() as u64);
        let mut fields = passed_on(&head.fields);
        // It was read as that, whatever the client calls it.
        fields.extend(length.map(|_| ("content-type", &b"application/json"[..])));
        connection.write_all(
            &route.endpoint.head(&head.method, &route.target, &fields, length),
            patience,
        )?;
        connection.write_all(body, patience)?;
        let (answered, mut taken) = read_head(&mut connection, patience)?;
        // Another host is none of ours: the client is not sent there either.
        let status = if (300..400).contains(&answered.status) { 502 } else { answered.status };
        self.status = Some(answered.status);
        let key = route.endpoint.key.as_ref().map_or(&b""[..], |key| key.bytes());
        let mut begun = format!("HTTP/1.1 {status} {}\r\n", reason(status)).into_bytes();
        for (name, value) in passed_back(&answered.fields, key) {
            begun.extend_from_slice(name.as_bytes());
            begun.extend_from_slice(b": ");
            begun.extend_from_slice(value);
            begun.extend_from_slice(b"\r\n");
        }
        begun.extend_from_slice(b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
        stream.write_all(&begun).map_err(ModelError::Broken)?;
        let is_stream = answered
            .fields
            .text("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        let mut counter = if is_stream { Counter::stream() } else { Counter::Whole(Vec::new()) };
        let mut reader = answered.body()?;
        let mut redactor = Redactor::new(key);
        let (mut buffer, mut content, mut passed) = (vec![0; 16 << 10], Vec::new(), Vec::new());
        let mut is_over = false;
        while !is_over {
            content.clear();
            passed.clear();
            reader.feed(&taken, &mut content)?;
            counter.take(&content, &mut self.usage);
            redactor.feed(&content, &mut passed);
            is_over = reader.is_done();
            if !is_over {
                // What is there goes out before anything is waited for.
                self.write(stream, &passed)?;
                passed.clear();
                let count = connection.read(&mut buffer, patience)?;
                if count == 0 {
                    reader.end()?;
                    is_over = true;
                }
                taken.clear();
                taken.extend_from_slice(buffer.get(..count).unwrap_or_default());
            }
        }
        redactor.end(&mut passed);
        self.write(stream, &passed)?;
        counter.end(&mut self.usage);
        stream.write_all(b"0\r\n\r\n").map_err(ModelError::Broken)
    }

    /// A piece of the answer, as a chunk.
    fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> Result<(), ModelError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
        if self.shared.record.wants_text() && self.text.len() < MOST_TEXT {
            self.text.extend_from_slice(bytes);
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk).map_err(ModelError::Broken)
    }

    fn end(self, begun: &Begun, failure: Option<String>) {
        self.reserved.count(&self.usage);
        if self.shared.record.wants_text() {
            self.shared.record.text(self.call, &self.text);
        }
        let prices = begun.model.as_deref().and_then(|model| self.shared.record.prices(model));
        self.shared.record.ended(&Ended {
            call: self.call,
            status: self.status,
            failure,
            usage: self.usage,
            cost: prices.map(|prices| prices.of(&self.usage)),
            bytes: self.bytes,
            sha256: hexadecimal(self.hash.finalize()),
        });
    }
}

/// Counts the tokens that an answer reports. What it cannot read it does not count: the answer is the client's.
enum Counter {
    Stream(Option<Parser>),
    Whole(Vec<u8>),
}

impl Counter {
    fn stream() -> Self {
        Self::Stream(Some(Parser::new(MOST_COUNTED)))
    }

    fn take(&mut self, bytes: &[u8], usage: &mut Usage) {
        match self {
            Self::Whole(content) if content.len() + bytes.len() <= MOST_COUNTED => {
                content.extend_from_slice(bytes)
            }
            Self::Whole(_) | Self::Stream(None) => {}
            Self::Stream(parser) => {
                let fed = parser.as_mut().map(|parser| {
                    parser.feed(bytes, &mut |event| {
                        if let Ok(value) = serde_json::from_str(&event.data) {
                            count_usage(&value, usage);
                        }
                    })
                });
                if matches!(fed, Some(Err(_))) {
                    *parser = None;
                }
            }
        }
    }

    fn end(self, usage: &mut Usage) {
        if let Self::Whole(content) = self
            && let Ok(value) = serde_json::from_slice(&content)
        {
            count_usage(&value, usage);
        }
    }
}

/// An answer of our own, in the form that clients of all protocols read.
fn answer(status: u16, kind: &str, message: &str) -> Vec<u8> {
    let body =
        json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string();
    let length = body.len();
    let reason = reason(status);
    // What the operator has decided is so the next time too, a budget that is used up above all.
    let again = (400..500).contains(&status).then(|| format!("{ASK_AGAIN}: false\r\n"));
    let again = again.unwrap_or_default();
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n{again}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn reason(status: u16) -> &'static str {
    match status {
        200..=299 => "OK",
        400..=499 => "Refused",
        _ => "Failed",
    }
}

fn hexadecimal(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is said where no provider of a protocol is configured.
pub const NO_PROVIDER: &str = "no provider is configured for this protocol";
const SERVICES: &str = "/services/";
const CLIENT_TIME: Duration = Duration::from_secs(60);
/// Of an answer that nobody bounds.
const MOST_ANSWER: u64 = 32_000;
const BYTES_OF_TOKEN: u64 = 4;
const MOST_REQUEST: usize = 32 << 20;
const MOST_TEXT: usize = 1 << 20;
const MOST_COUNTED: usize = 8 << 20;
