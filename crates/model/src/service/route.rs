//! Which request goes to which provider, and what of it is passed on. A table: what is not in it does not exist.

use super::body::Form;
use crate::client::Endpoint;
use crate::http::{Fields, RequestHead};
use crate::service::Upstreams;

/// A request that is passed on.
#[derive(Debug)]
pub(super) struct Route<'a> {
    pub(super) endpoint: &'a Endpoint,
    /// With the query, if there is one.
    pub(super) target: String,
    /// Without.
    pub(super) path: String,
    /// What its body is, if it has one.
    pub(super) form: Option<Form>,
}

/// Why a request is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// Nothing is there.
    Unknown,
    /// There would be a provider, and none is configured.
    NoProvider,
}

/// Where a request goes.
pub(super) fn route<'a>(
    upstreams: &'a Upstreams,
    head: &RequestHead,
) -> Result<Route<'a>, NoRoute> {
    let (path, query) = match head.target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (head.target.as_str(), None),
    };
    // Agents are given a base URL with `/v1` or without.
    let full = match path.starts_with("/v1/") {
        true => path.to_owned(),
        false => format!("/v1{path}"),
    };
    let is_of_anthropic = head.fields.first("anthropic-version").is_some();
    let form = match (head.method.as_str(), full.as_str()) {
        ("POST", "/v1/messages" | "/v1/messages/count_tokens") => Some(Form::Messages),
        ("POST", "/v1/chat/completions") => Some(Form::Completions),
        ("POST", "/v1/responses") => Some(Form::Responses),
        ("POST", "/v1/responses/compact") => Some(Form::Compact),
        ("GET", path) if is_of_models(path) => None,
        _ => return Err(NoRoute::Unknown),
    };
    let endpoint = match form {
        Some(Form::Messages) => &upstreams.anthropic,
        None if is_of_anthropic => &upstreams.anthropic,
        Some(_) | None => &upstreams.openai,
    };
    let endpoint = endpoint.as_ref().ok_or(NoRoute::NoProvider)?;
    let is_plain = |query: &str| {
        query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"=&_.-".contains(&byte))
    };
    let target = match query {
        Some(query) if !is_plain(query) || query.len() > MOST_QUERY => {
            return Err(NoRoute::Unknown);
        }
        Some(query) => format!("{full}?{query}"),
        None => full.clone(),
    };
    Ok(Route { endpoint, target, path: full, form })
}

fn is_of_models(path: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    match path.strip_prefix("/v1/models") {
        Some("") => true,
        Some(rest) => rest.strip_prefix('/').is_some_and(|name| {
            !name.is_empty()
                && name.len() <= 200
                && name.bytes().all(is_name)
                && !name.starts_with('.')
        }),
        None => false,
    }
}

/// Whether a client sends the key that it was given. Takes as long whatever it sends.
pub(super) fn is_known(upstreams: &Upstreams, fields: &Fields) -> bool {
    let Some(token) = &upstreams.token else { return true };
    let bearer = fields.first("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
    let sent = fields.first("x-api-key").or(bearer).unwrap_or_default();
    let differs = token.bytes().iter().zip(sent).fold(0, |all, (one, other)| all | (one ^ other));
    differs == 0 && token.bytes().len() == sent.len()
}

/// The fields of a request that a provider gets.
pub(super) fn passed_on(fields: &Fields) -> Vec<(&str, &[u8])> {
    fields
        .iter()
        .filter(|(name, value)| TO_PROVIDER.contains(name) && is_plain_value(value))
        .collect()
}

/// The fields of an answer that a client gets.
pub(super) fn passed_back<'a>(fields: &'a Fields, key: &[u8]) -> Vec<(&'a str, &'a [u8])> {
    let is_passed = |name: &str| {
        TO_CLIENT.contains(&name)
            || name.starts_with("anthropic-ratelimit-")
            || name.starts_with("x-ratelimit-")
    };
    let has_key =
        |value: &[u8]| !key.is_empty() && value.windows(key.len()).any(|part| part == key);
    fields
        .iter()
        .filter(|(name, value)| is_passed(name) && is_plain_value(value) && !has_key(value))
        .collect()
}

/// Neither ends the line nor begins another one, however lenient its reader is.
fn is_plain_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control())
}

/// A client's key is none of them, whatever it is called.
const TO_PROVIDER: &[&str] = &[
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "idempotency-key",
    "openai-beta",
    "user-agent",
];
const TO_CLIENT: &[&str] =
    &["content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id"];
const MOST_QUERY: usize = 200;
