//! Whether the record is what was written, by itself or held to what a client knows of it from
//! elsewhere. Changes nothing, and reads no file that a client names: an anchor is sent, not pointed at.

use std::sync::Arc;

use audit::{Expected, Head, VerifyError};
use hyper::Request;
use hyper::body::Incoming;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::audit::unreadable;
use super::blocking;
use crate::answer::{self, Answer};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::query::Query;

/// Whether the log is what was written.
pub(super) async fn verify(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    judge(daemon, Expected::default()).await
}

/// What a client knows of the log. What is given must be something: with a null in its place the
/// answer would be that of a comparison that did not happen.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Known {
    #[serde(deserialize_with = "given")]
    key: Option<String>,
    /// As an object: a list would else be taken for a head's fields in their order.
    #[serde(deserialize_with = "given")]
    anchor: Option<Map<String, Value>>,
}

/// A value that is there, and not null.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Whether the log is what was written, and what the client knows of it.
pub(super) async fn verify_against(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let Known { key, anchor } = crate::request::json(request).await?;
    if key.is_none() && anchor.is_none() {
        let problem = Problem::new(Code::BadRequest, "there is nothing to hold the record to");
        return Err(problem.help("give `key`, `anchor` or both, or ask with `GET`"));
    }
    let anchor = anchor.map(read_anchor).transpose()?;
    let expected = Expected::new(key.as_deref(), anchor)
        .map_err(|error| Problem::new(Code::BadRequest, error.to_string()))?;
    judge(daemon, expected).await
}

fn read_anchor(fields: Map<String, Value>) -> Result<Head, Problem> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| {
        let why = policy::shown::shown(&error);
        Problem::new(Code::BadRequest, format!("`anchor` is not an exported head: {why}"))
            .help("`/v1/audit/head` answers with one")
    })
}

async fn judge(daemon: &Arc<Daemon>, expected: Expected) -> Result<Answer, Problem> {
    let daemon = Arc::clone(daemon);
    let verdict = blocking(move || match audit::verify(daemon.log.directory(), &expected) {
        Ok(verified) => Ok(verified.to_json()),
        Err(VerifyError::Broken(broken)) => Ok(broken.to_json()),
        Err(VerifyError::Unreadable(error)) => Err(unreadable(&error)),
    })
    .await?;
    answer::json(&verdict)
}
