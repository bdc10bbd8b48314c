//! Records as they come, as server-sent events. A client that was away says which record it had
//! last and misses nothing.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use audit::{Follower, Record, Start, follow as follow_log};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, StatusCode};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::audit::{FILTERS, filter, unreadable};
use super::blocking;
use crate::answer::{self, Answer, EVENTS};
use crate::body::{Body, Producer};
use crate::daemon::Daemon;
use crate::phase::Phase;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::readiness::watch;

/// Follows the record.
pub(super) async fn follow(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &[FILTERS, &["after"]].concat())?;
    let filter = filter(&query)?;
    let resumed = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
    let resumed = resumed.and_then(|id| id.parse().ok());
    let start = match query.number("after", u64::MAX)?.or(resumed) {
        Some(sequence) => Start::After(sequence),
        None => Start::Now,
    };
    let directory = daemon.log.directory().to_owned();
    let follower =
        blocking(move || follow_log(&directory, filter, start).map_err(|error| unreadable(&error)))
            .await?;
    let failed = |error: std::io::Error| {
        Problem::new(Code::Internal, format!("the record cannot be watched: {error}"))
    };
    let changes = follower.as_fd().try_clone_to_owned().map_err(failed)?;
    let changes = watch(changes, Interest::READABLE).map_err(failed)?;
    let events = Events { follower, changes, daemon: Arc::clone(daemon), begun: false };
    Ok(answer::with_type(StatusCode::OK, EVENTS, Body::produced(events)))
}

struct Events {
    follower: Follower,
    changes: AsyncFd<OwnedFd>,
    daemon: Arc<Daemon>,
    begun: bool,
}

impl Producer for Events {
    async fn next(&mut self) -> Option<Bytes> {
        // The client sees at once that it is heard.
        if !self.begun {
            self.begun = true;
            return Some(Bytes::from_static(b": following\n\n"));
        }
        loop {
            let mut text = String::new();
            while text.len() < ENOUGH {
                match self.follower.next_now() {
                    Ok(Some(record)) => text.push_str(&event(&record)),
                    Ok(None) => break,
                    Err(error) => {
                        let message = policy::shown::shown(advice::with_causes(&error));
                        crate::log::warning(&format!("the record cannot be followed: {message}"));
                        return None;
                    }
                }
            }
            if !text.is_empty() {
                return Some(Bytes::from(text));
            }
            tokio::select! {
                ready = self.changes.readable() => match ready {
                    Ok(mut ready) => ready.clear_ready(),
                    Err(_) => return None,
                },
                () = tokio::time::sleep(BETWEEN_SIGNS) => {
                    return Some(Bytes::from_static(b": still here\n\n"));
                }
                () = self.daemon.phase.reached(Phase::Ending) => return None,
            }
        }
    }
}

/// A record as an event. A line of the log has no line break in it.
fn event(record: &Record) -> String {
    format!("id: {}\nevent: {}\ndata: {}\n\n", record.sequence, record.name, record.line)
}

/// How much is sent at a time.
const ENOUGH: usize = 64 << 10;

/// How often a client is told that nothing has happened, so that it and whatever is between know
/// that the connection lives.
const BETWEEN_SIGNS: Duration = Duration::from_secs(15);
