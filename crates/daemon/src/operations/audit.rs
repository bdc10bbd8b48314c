//! The record: queried. Records are sent as they stand in the log, byte for byte.

use cage::Kind;
use std::collections::VecDeque;
use std::sync::Arc;

use audit::{Filter, ReadError, Reader, RecordError, Timestamp};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use super::blocking;
use crate::answer::{self, Answer, JSON};
use crate::body::Body;
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::query::Query;

/// The records that somebody wants to see.
pub(super) async fn show(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    let known = [FILTERS, &["after", "limit", "last"]].concat();
    let query = Query::read(request.uri().query(), &known)?;
    let filter = filter(&query)?;
    let after = query.number("after", u64::MAX)?.unwrap_or_default();
    let wanted = match (query.number("limit", MOST_RECORDS)?, query.number("last", MOST_RECORDS)?) {
        (Some(_), Some(_)) => {
            return Err(Problem::new(Code::BadRequest, "give `limit` or `last`, not both"));
        }
        (limit, None) => Wanted::First(limit.unwrap_or(USUAL_RECORDS)),
        (None, Some(last)) => Wanted::Last(last),
    };
    let daemon = Arc::clone(daemon);
    let body = blocking(move || {
        let reader = match Reader::open(daemon.log.directory()) {
            Ok(reader) => reader,
            Err(ReadError::NoLog(_)) => return Ok(joined(&VecDeque::new(), false)),
            Err(error) => return Err(unreadable(&error)),
        };
        let mut lines = VecDeque::new();
        let mut more = false;
        for record in reader.records(filter) {
            let record = match record {
                Ok(record) => record,
                // What is no record is for `verify` to tell.
                Err(RecordError::Damaged { .. }) => continue,
                // Those that were read must not be taken for all there are.
                Err(RecordError::Unreadable(error)) => return Err(unreadable(&error.into())),
            };
            if record.sequence <= after {
                continue;
            }
            let count = u64::try_from(lines.len()).unwrap_or(u64::MAX);
            match wanted {
                Wanted::First(most) if count >= most => {
                    more = true;
                    break;
                }
                Wanted::Last(0) => continue,
                Wanted::Last(most) if count >= most => drop(lines.pop_front()),
                Wanted::First(_) | Wanted::Last(_) => {}
            }
            lines.push_back(record.line);
        }
        Ok(joined(&lines, more))
    })
    .await?;
    Ok(answer::with_type(StatusCode::OK, JSON, Body::whole(body)))
}

/// Which of the records that a filter leaves.
#[derive(Clone, Copy)]
enum Wanted {
    /// So many from the beginning on.
    First(u64),
    /// So many at the end.
    Last(u64),
}

/// Records are JSON already, and stay as they were hashed.
fn joined(lines: &VecDeque<String>, more: bool) -> String {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    format!("{{\"records\":[{}],\"more\":{more}}}", lines.join(","))
}

/// The schema of a record.
pub(super) fn schema(request: &Request<Incoming>) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    answer::json(&audit::schema::schema())
}

/// The filter that a query asks for.
pub(super) fn filter(query: &Query) -> Result<Filter, Problem> {
    let text = |name: &str| query.text(name).map(str::to_owned);
    let now = Timestamp::now();
    let moment = |name: &str| match query.text(name) {
        None => Ok(None),
        Some(text) => match Timestamp::named(text, now) {
            Some(moment) => Ok(Some(moment)),
            None => {
                let message = format!("`{name}` is not a moment");
                Err(Problem::new(Code::BadRequest, message).help(
                    "write it as `2026-01-31T12:00:00.000000Z`, or say how long ago: `90s`, `10m`, \
                     `2h`, `3d`",
                ))
            }
        },
    };
    let filter = Filter {
        cage: text("cage"),
        invocation: text("invocation"),
        session: text("session"),
        event: None,
        since: moment("since")?,
        until: moment("until")?,
    };
    filter.of_event(query.text("event")).map_err(|error| {
        Problem::new(Code::BadRequest, error.to_string()).help("`/v1/audit/schema` has their names")
    })
}

/// The log is there and cannot be read.
pub(super) fn unreadable(error: &ReadError) -> Problem {
    Problem::new(Code::Start(Kind::RecordUnavailable), advice::with_causes(error))
}

/// The names of a filter's fields.
pub(super) const FILTERS: &[&str] = &["cage", "invocation", "session", "event", "since", "until"];

const USUAL_RECORDS: u64 = 1000;
const MOST_RECORDS: u64 = 10_000;
