//! Cages that were started: shown, signalled, waited for, given input, closed.

use std::sync::Arc;
use std::time::Duration;

use cage::EndReason;
use cage::runner::TerminalSize;
use hyper::Request;
use hyper::body::Incoming;
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;

use super::to_its_end;
use crate::answer::{self, Answer};
use crate::cages::Cage;
use crate::daemon::Daemon;
use crate::input::InputError;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shown::ShownCage;
use crate::signal_name::{SignalWord, number};

/// All cages, or those of a session or in a state.
pub(super) fn list(daemon: &Daemon, request: &Request<Incoming>) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["session", "state"])?;
    let wants_running = match query.text("state") {
        None => None,
        Some("running") => Some(true),
        Some("ended") => Some(false),
        Some(_) => {
            return Err(Problem::new(Code::BadRequest, "`state` must be `running` or `ended`"));
        }
    };
    let session = query.text("session");
    let is_wanted = |cage: &Arc<Cage>| {
        wants_running.is_none_or(|wanted| cage.has_ended() != wanted)
            && session.is_none_or(|session| cage.facts.session.as_deref() == Some(session))
    };
    let cages = daemon.cages.list();
    let shown: Vec<ShownCage> =
        cages.iter().filter(|cage| is_wanted(cage)).map(|cage| (&**cage).into()).collect();
    answer::json(&json!({ "cages": shown }))
}

/// One cage.
pub(super) fn show(
    daemon: &Daemon,
    request: &Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    answer::json(&ShownCage::from(&*daemon.cages.find(name)?))
}

/// The compiled cage.
pub(super) fn plan(
    daemon: &Daemon,
    request: &Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let cage = daemon.cages.find(name)?;
    match cage.handle.plan() {
        Some(plan) => answer::json(plan),
        None => Err(Problem::new(Code::Conflict, "the program runs without a cage")),
    }
}

/// Ends a cage if it runs, waits until nothing of it is left, and forgets it.
pub(super) async fn close(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let (daemon, cage) = (Arc::clone(daemon), daemon.cages.find(name)?);
    cage.handle.begin_close(EndReason::Cancelled);
    let shown = to_its_end(async move {
        cage.ended().await;
        daemon.cages.forget(&cage);
        Ok(ShownCage::from(&*cage))
    });
    answer::json(&shown.await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signal {
    signal: SignalWord,
}

/// Sends a signal to the program.
pub(super) async fn signal(
    daemon: &Daemon,
    request: Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let cage = daemon.cages.find(name)?;
    let Signal { signal } = crate::request::json(request).await?;
    let number = number(&signal)?;
    match cage.handle.signal(number) {
        Ok(()) => answer::json(&ShownCage::from(&*cage)),
        Err(Errno::SRCH) => Err(has_ended()),
        Err(errno) => {
            let error = std::io::Error::from(errno);
            Err(Problem::new(Code::Internal, format!("the signal cannot be sent: {error}")))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resize {
    rows: u16,
    columns: u16,
}

/// Gives the program's terminal another size.
pub(super) async fn resize(
    daemon: &Daemon,
    request: Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let cage = daemon.cages.find(name)?;
    let Resize { rows, columns } = crate::request::json(request).await?;
    set_size(&cage, TerminalSize { rows, columns })?;
    answer::json(&ShownCage::from(&*cage))
}

/// Gives the program's terminal another size.
pub(super) fn set_size(cage: &Cage, size: TerminalSize) -> Result<(), Problem> {
    match cage.handle.resize_terminal(size) {
        // A program that has ended looks at no window.
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(Errno::NOTTY) => Err(Problem::new(Code::Conflict, "the program has no terminal")
            .help("start it with `terminal`")),
        Err(errno) => {
            let error = std::io::Error::from(errno);
            Err(Problem::new(Code::Internal, format!("the terminal cannot be resized: {error}")))
        }
    }
}

/// Answers when the program has ended, or after a while.
pub(super) async fn wait(
    daemon: &Daemon,
    request: &Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["timeout_ms"])?;
    let longest = query.number("timeout_ms", LONGEST_WAIT_MS)?.unwrap_or(USUAL_WAIT_MS);
    let cage = daemon.cages.find(name)?;
    wait_at_most(longest, &cage).await;
    answer::json(&ShownCage::from(&*cage))
}

/// Waits for a cage's end, so many milliseconds. Whoever asked sees by the cage's state whether that
/// was long enough.
pub(super) async fn wait_at_most(milliseconds: u64, cage: &Cage) {
    let _ended = tokio::time::timeout(Duration::from_millis(milliseconds), cage.ended()).await;
}

/// Writes the body to the program's input as fast as it is read.
pub(super) async fn write_input(
    daemon: &Daemon,
    request: Request<Incoming>,
    name: &str,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["close"])?;
    let close = query.flag("close")?;
    let cage = daemon.cages.find(name)?;
    let mut body = request.into_body();
    let mut written: u64 = 0;
    while let Some(bytes) = crate::request::next_bytes(&mut body).await? {
        cage.input.write(&bytes).await.map_err(|error| not_written(&error, written))?;
        written += u64::try_from(bytes.len()).unwrap_or_default();
    }
    if close {
        cage.input.end().await.map_err(|error| not_written(&error, written))?;
    }
    answer::json(&json!({ "written": written }))
}

fn not_written(error: &InputError, written: u64) -> Problem {
    let problem = Problem::new(Code::Conflict, format!("{error}; {written} bytes were written"));
    match error {
        InputError::Missing => problem.help("start the program with `\"stdin\": \"pipe\"`"),
        InputError::Closed | InputError::Broken(_) => problem,
    }
}

fn has_ended() -> Problem {
    Problem::new(Code::Conflict, "the program has ended")
}

/// How long a wait lasts that does not say.
const USUAL_WAIT_MS: u64 = 30_000;

/// The longest that a wait lasts: less than what clients and proxies give a silent connection.
pub(super) const LONGEST_WAIT_MS: u64 = 60_000;
