//! Sessions: begun, listed, ended.

use std::sync::Arc;

use cage::session::SessionId;
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::{blocking, to_its_end};
use crate::answer::{self, Answer};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::sessions::{end_cages, id};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Begin {
    id: Option<String>,
}

/// Begins a session.
pub(super) async fn begin(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let Begin { id: given } = crate::request::json(request).await?;
    let daemon = Arc::clone(daemon);
    let shown = blocking(move || {
        let id = match &given {
            Some(given) => id(given)?,
            None => SessionId::generate().map_err(|errno| {
                let error = std::io::Error::from(errno);
                Problem::new(Code::Internal, format!("the kernel gives no random bytes: {error}"))
            })?,
        };
        let session = daemon.sessions.begin(&id)?;
        if !session.is_new() {
            let message = format!("there is a session `{id}` already");
            return Err(Problem::new(Code::Conflict, message));
        }
        drop(session);
        daemon.sessions.show(&id, &daemon.cages)
    })
    .await?;
    answer::json_with(StatusCode::CREATED, &shown)
}

/// All sessions.
pub(super) async fn list(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let daemon = Arc::clone(daemon);
    let sessions = blocking(move || daemon.sessions.list(&daemon.cages)).await?;
    answer::json(&json!({ "sessions": sessions }))
}

/// One session.
pub(super) async fn show(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let (id, daemon) = (id(&name)?, Arc::clone(daemon));
    let shown = blocking(move || daemon.sessions.show(&id, &daemon.cages)).await?;
    answer::json(&shown)
}

/// Ends a session: its cages, then what it kept.
pub(super) async fn end(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let (id, daemon) = (id(&name)?, Arc::clone(daemon));
    let (known, asked) = (Arc::clone(&daemon), id.clone());
    blocking(move || known.sessions.show(&asked, &known.cages)).await?;
    let ended = id.to_string();
    let killed = to_its_end(async move {
        let mut killed = 0;
        // Some may have come while the others ended.
        for _ in 0..MOST_ROUNDS {
            match end_cages(&id, &daemon.cages).await {
                0 => break,
                more => killed += more,
            }
        }
        blocking(move || daemon.sessions.wipe(&id, killed)).await
    })
    .await?;
    answer::json(&json!({ "id": ended, "killed": killed }))
}

/// How often the cages of a session that ends are looked for.
const MOST_ROUNDS: usize = 8;
