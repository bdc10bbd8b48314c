//! The record on its way to somewhere else: all of it, as `stockade audit verify` takes it on any
//! machine, or its head alone. Writes nothing but the head, never sends the key that signs, and knows
//! no other log than the daemon's own.

use cage::Kind;
use std::io::Read as _;
use std::sync::Arc;

use audit::{Export, ExportError};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use tokio::sync::OwnedSemaphorePermit;

use super::audit::unreadable;
use super::blocking;
use crate::answer::{self, Answer, BYTES};
use crate::body::{Body, Producer};
use crate::daemon::{Daemon, MOST_EXPORTS};
use crate::log;
use crate::problem::{Code, Problem};
use crate::query::Query;

/// The record up to what its head states.
pub(super) async fn export(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let place = Arc::clone(&daemon.exports).try_acquire_owned().map_err(|_| {
        Problem::new(Code::TooMany, format!("{MOST_EXPORTS} clients are sent the record already"))
            .help("ask again when one of them has it")
    })?;
    let daemon = Arc::clone(daemon);
    let export = blocking(move || {
        bring_head_forward(&daemon);
        Export::open(daemon.log.directory()).map_err(|error| not_exported(&error))
    })
    .await?;
    let (length, head) = (export.length(), export.head().clone());
    let sending = Sending { export: Some(export), _place: place };
    let body = Body::measured(sending, length);
    let mut answer = answer::with_type(StatusCode::OK, BYTES, body);
    let headers = answer.headers_mut();
    headers.insert(SEQUENCE, HeaderValue::from(head.sequence()));
    // A key of anything but digits is in no head that is genuine, which is for `verify` to tell.
    if let Ok(key) = HeaderValue::from_str(head.public_key()) {
        headers.insert(PUBLIC_KEY, key);
    }
    Ok(answer)
}

/// How far the record goes, signed: what it can be compared with later.
pub(super) async fn head(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let daemon = Arc::clone(daemon);
    let head = blocking(move || {
        bring_head_forward(&daemon);
        audit::anchor(daemon.log.directory()).map_err(|error| not_exported(&error))
    })
    .await?;
    answer::json(&head)
}

/// States how far the log is durable now. What cannot be stated is exported as it was: a log that
/// takes no more records is one that somebody wants to look at.
fn bring_head_forward(daemon: &Daemon) {
    if let Err(error) = daemon.log.checkpoint() {
        let why = policy::shown::shown(advice::with_causes(&error));
        log::warning(&format!("the head of the record cannot be brought forward: {why}"));
    }
}

fn not_exported(error: &ExportError) -> Problem {
    match error {
        ExportError::Unreadable(error) => unreadable(error),
        ExportError::Incomplete(_) => {
            Problem::new(Code::Start(Kind::RecordUnavailable), advice::with_causes(error))
                .help("`/v1/audit/verify` tells what is missing")
        }
        ExportError::NoHead(_) | ExportError::Copy(_) => {
            Problem::new(Code::Start(Kind::RecordUnavailable), advice::with_causes(error))
        }
    }
}

/// An export that is sent.
struct Sending {
    /// None while a piece of it is read, and after one that could not be.
    export: Option<Export>,
    _place: OwnedSemaphorePermit,
}

impl Producer for Sending {
    async fn next(&mut self) -> Option<Bytes> {
        let mut export = self.export.take()?;
        let read = blocking(move || {
            let mut piece = vec![0; PIECE];
            let count = export.read(&mut piece).map_err(|error| {
                Problem::new(
                    Code::Start(Kind::RecordUnavailable),
                    format!("the record cannot be read on: {error}"),
                )
            })?;
            piece.truncate(count);
            Ok((export, piece))
        });
        match read.await {
            Ok((export, piece)) => {
                self.export = Some(export);
                (!piece.is_empty()).then(|| Bytes::from(piece))
            }
            // The client sees that less comes than was announced.
            Err(problem) => {
                log::warning(&problem.message);
                None
            }
        }
    }
}

/// The number of the last record of an export.
const SEQUENCE: HeaderName = HeaderName::from_static("stockade-sequence");
/// The key that signed it.
const PUBLIC_KEY: HeaderName = HeaderName::from_static("stockade-public-key");

/// How much is read at a time.
const PIECE: usize = 256 << 10;
