//! Reading what a client sent: no more than the daemon takes, no slower than it waits.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use http_body::Body as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, Request};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize as _, Deserializer};
use serde_json::{Map, Value};

mod unique;

use crate::problem::{Code, Problem};
use unique::Unique;

/// The object that a body holds. An empty body is one with nothing in it.
pub(crate) async fn json<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Problem> {
    let bytes = whole_body(request).await?;
    let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
    // A list would else be taken for the fields in their order.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first == b'[') {
        let problem = Problem::new(Code::BadRequest, "the body is a list and not an object");
        return Err(problem.help("`/v1/openapi.json` has the schema"));
    }
    let unique: Result<Unique, _> = serde_json::from_slice(bytes);
    unique.and_then(|_| serde_json::from_slice(bytes)).map_err(|error| wrong(&error, &[]))
}

/// A body that does not have the form that is asked for. An unknown field is answered with the one that was
/// meant, among those that its place has and those that it could have `beside` them.
pub(crate) fn wrong(error: &serde_json::Error, beside: &[&str]) -> Problem {
    let mut message = error.to_string();
    let mut meant = None;
    if let Some((unknown, mut known)) = unknown_field(&error.to_string()) {
        known.extend(beside);
        meant = policy::text::words::meant(unknown, known.iter().copied()).map(str::to_owned);
        // Without them it says where in the text the field stands.
        if !beside.is_empty() {
            let known = known.join("`, `");
            message = format!("unknown field `{unknown}`, expected one of `{known}`");
        }
    }
    let problem = Problem::new(
        Code::BadRequest,
        format!("the body is wrong: {}", policy::shown::shown(&message)),
    );
    let problem = match meant {
        Some(meant) => problem.help(format!("did you mean `{meant}`?")),
        None => problem,
    };
    problem.help("`/v1/openapi.json` has the schema")
}

/// The field that serde does not know, and those that it does, from what it says of them.
pub(crate) fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (unknown, known) = rest.split_once("`, expected ")?;
    Some((unknown, known.split('`').skip(1).step_by(2).collect()))
}

/// A field that is an object: a list would else be taken for the fields in their order.
pub(crate) fn object<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let fields = Map::<String, Value>::deserialize(deserializer)?;
    serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)
}

/// Refuses a body where nobody would look at it: what a client says in one must not go unheard.
pub(crate) fn refuse_body(request: &Request<Incoming>) -> Result<(), Problem> {
    if request.body().is_end_stream() {
        return Ok(());
    }
    let message = format!("`{}` takes no body here", request.method());
    Err(Problem::new(Code::BadRequest, message).help("`/v1/openapi.json` has what it takes"))
}

/// The next bytes of a body; none at its end.
pub(crate) async fn next_bytes(body: &mut Incoming) -> Result<Option<Bytes>, Problem> {
    let next = async {
        loop {
            match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
                None => return Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if bytes.is_empty() => {}
                    Ok(bytes) => return Ok(Some(bytes)),
                    // Trailers mean nothing here.
                    Err(_) => {}
                },
                Some(Err(error)) => {
                    let message = format!("the body cannot be read: {error}");
                    return Err(Problem::new(Code::BadRequest, message));
                }
            }
        }
    };
    match tokio::time::timeout(BODY_STALL, next).await {
        Ok(next) => next,
        Err(_) => Err(too_slow()),
    }
}

async fn whole_body(request: Request<Incoming>) -> Result<Vec<u8>, Problem> {
    if declared_length(request.headers()).is_some_and(|length| length > MOST_BODY) {
        return Err(too_large());
    }
    let mut body = request.into_body();
    let read = async {
        let mut whole = Vec::new();
        while let Some(bytes) = next_bytes(&mut body).await? {
            if whole.len() + bytes.len() > MOST_BODY {
                return Err(too_large());
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole)
    };
    match tokio::time::timeout(BODY_TIME, read).await {
        Ok(read) => read,
        Err(_) => Err(too_slow()),
    }
}

/// What the client says it will send; a chunked body says nothing.
fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large() -> Problem {
    Problem::new(Code::TooLarge, format!("the body is larger than {MOST_BODY} bytes"))
}

fn too_slow() -> Problem {
    Problem::new(Code::TooSlow, "the body came too slowly")
}

/// Most bytes of a body that is read as a whole: a policy's text, a program's arguments and
/// environment are far smaller.
const MOST_BODY: usize = 1 << 20;

/// Longest time for a body that is read as a whole.
const BODY_TIME: Duration = Duration::from_secs(20);

/// Longest wait for the next bytes of any body.
const BODY_STALL: Duration = Duration::from_secs(20);
