//! Answers: a value as JSON, a problem, bytes. Every answer says that it must not be kept or guessed
//! at, because what it tells is true for a moment.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::body::Body;
use crate::problem::{Code, Problem};

/// An answer to a request.
pub(crate) type Answer = Response<Body>;

/// A value, done.
pub(crate) fn json(value: &impl Serialize) -> Result<Answer, Problem> {
    json_with(StatusCode::OK, value)
}

/// A value with another status.
pub(crate) fn json_with(status: StatusCode, value: &impl Serialize) -> Result<Answer, Problem> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| Problem::new(Code::Internal, format!("cannot be told: {error}")))?;
    Ok(with_type(status, JSON, Body::whole(bytes)))
}

/// A problem.
pub(crate) fn problem(problem: &Problem) -> Answer {
    with_type(problem.status, JSON, Body::whole(problem.to_json()))
}

/// Any body.
pub(crate) fn with_type(status: StatusCode, content_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const BYTES: &str = "application/octet-stream";
pub(crate) const EVENTS: &str = "text/event-stream";
