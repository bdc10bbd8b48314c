//! Requests over HTTP as JavaScript makes them, and their failures in the words of Node.js. Whom they reach is never decided here.

use ureq::http;

use super::answer::{Answer, number};
use crate::requests::{Cause, Failure as Failed, Patience, agent};

/// One of them.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) address: String,
    /// Names and values in turn.
    pub(super) headers: Vec<String>,
    pub(super) body: Vec<u8>,
    /// The bytes of the answer.
    pub(super) most: u64,
}

/// Its status, the words beside it, headers in turn, and the body; or the code of a failure and what it says.
pub(super) fn send(request: Request) -> Answer {
    match once(request) {
        Ok(answer) => answer,
        Err((code, why)) => Answer::List(vec![
            Answer::Number(0.0),
            Answer::Text(code.to_owned()),
            Answer::Text(why),
        ]),
    }
}

type Failure = (&'static str, String);

fn once(request: Request) -> Result<Answer, Failure> {
    let Request { method, address, headers, body, most } = request;
    let invalid = |error: &dyn std::fmt::Display| ("ERR_INVALID_ARG_VALUE", error.to_string());
    let mut built = http::Request::builder().method(method.as_str()).uri(&address);
    for pair in headers.chunks_exact(2) {
        if let [name, value] = pair {
            built = built.header(name, value);
        }
    }
    let agent = agent(address.starts_with("https:"), Patience::Whole).map_err(named)?;
    let sent = if body.is_empty() {
        agent.run(built.body(()).map_err(|error| invalid(&error))?)
    } else {
        agent.run(built.body(body).map_err(|error| invalid(&error))?)
    };
    let failed = |error: ureq::Error| named(error.into());
    let (parts, mut body) = sent.map_err(failed)?.into_parts();
    let bytes = body.with_config().limit(most).read_to_vec().map_err(failed)?;
    let headers = parts.headers.iter().flat_map(|(name, value)| {
        [name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()]
    });
    Ok(Answer::List(vec![
        number(parts.status.as_u16().into()),
        Answer::Text(parts.status.canonical_reason().unwrap_or_default().to_owned()),
        Answer::List(headers.map(Answer::Text).collect()),
        Answer::Bytes(bytes),
    ]))
}

fn named(failed: Failed) -> Failure {
    let code = match failed.cause {
        Cause::NoTls => "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
        Cause::ConnectTimeout | Cause::AnswerTimeout | Cause::Timeout => "ETIMEDOUT",
        Cause::HostNotFound => "ENOTFOUND",
        Cause::ResolverFailed => "EAI_AGAIN",
        Cause::Refused => "ECONNREFUSED",
        Cause::Reset => "ECONNRESET",
        Cause::NetworkUnreachable => "ENETUNREACH",
        Cause::HostUnreachable => "EHOSTUNREACH",
        Cause::Denied => "EACCES",
        Cause::BodyTooLarge => "ERR_OUT_OF_RANGE",
        Cause::Certificate | Cause::Encryption | Cause::Incomplete | Cause::Io => "EIO",
        Cause::HeadersTooLarge | Cause::Protocol | Cause::Other => "ERR_REQUEST_FAILED",
    };
    (code, failed.why)
}
