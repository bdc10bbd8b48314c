//! What a program has written, by position, and what it will write. A reader who falls behind what
//! is kept is told so by the end of the answer, never by a silent gap.

use std::future::poll_fn;
use std::sync::Arc;

use cage::runner::OutputReader;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, StatusCode};

use crate::answer::{self, Answer, BYTES};
use crate::body::{Body, Producer};
use crate::cages::{Cage, Stream};
use crate::daemon::Daemon;
use crate::phase::Phase;
use crate::problem::{Code, Problem};
use crate::query::Query;

/// The bytes of an output.
pub(super) fn read(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: &str,
    stream: &str,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["offset", "limit", "tail", "follow"])?;
    let cage = daemon.cages.find(name)?;
    let output = cage.output(Stream::named(stream)?).ok_or_else(|| {
        Problem::new(Code::NotFound, format!("there is no `{stream}` of this program"))
            .help("a program with a terminal writes everything to `stdout`")
    })?;
    let kept = output.kept();
    let offset = match (query.number("offset", u64::MAX)?, query.number("tail", u64::MAX)?) {
        (Some(_), Some(_)) => {
            return Err(Problem::new(Code::BadRequest, "give `offset` or `tail`, not both"));
        }
        (Some(offset), None) => offset,
        (None, Some(tail)) => kept.end.saturating_sub(tail),
        (None, None) => 0,
    };
    let limit = query.number("limit", u64::MAX)?;
    let follow = query.flag("follow")?;
    let reader = output.reader_at(offset);
    let first = reader.position();
    // What ends now ends with what is there now, however much comes meanwhile.
    let last = if follow { u64::MAX } else { kept.end.max(first) };
    let last = limit.map_or(last, |limit| last.min(first.saturating_add(limit)));
    let produced =
        Output { reader, last, follow, _cage: Arc::clone(&cage), daemon: Arc::clone(daemon) };
    let mut answer = answer::with_type(StatusCode::OK, BYTES, Body::produced(produced));
    let dropped = first.saturating_sub(offset);
    let headers = [(OFFSET, first), (DROPPED, dropped), (TOTAL, kept.end)];
    for (name, value) in headers {
        answer.headers_mut().insert(name, HeaderValue::from(value));
    }
    Ok(answer)
}

struct Output {
    reader: OutputReader,
    /// The position after the last byte that is wanted.
    last: u64,
    follow: bool,
    /// Whose output it is: kept as long as somebody reads it.
    _cage: Arc<Cage>,
    daemon: Arc<Daemon>,
}

impl Producer for Output {
    async fn next(&mut self) -> Option<Bytes> {
        let wanted = self.last.saturating_sub(self.reader.position()).min(CHUNK);
        let mut buffer = vec![0; usize::try_from(wanted).unwrap_or_default()];
        if buffer.is_empty() {
            return None;
        }
        let count = if self.follow {
            let more = poll_fn(|context| self.reader.poll_read(context, &mut buffer));
            tokio::select! {
                count = more => count,
                () = self.daemon.phase.reached(Phase::Ending) => 0,
            }
        } else {
            self.reader.read_now(&mut buffer).unwrap_or_default()
        };
        // After a gap the positions that the client counts would be wrong.
        if count == 0 || self.reader.missed() > 0 {
            return None;
        }
        buffer.truncate(count);
        Some(Bytes::from(buffer))
    }
}

/// The position of the first byte of the answer.
const OFFSET: HeaderName = HeaderName::from_static("stockade-offset");
/// How many bytes before it were asked for and are not kept any more.
const DROPPED: HeaderName = HeaderName::from_static("stockade-dropped");
/// How many bytes the program had written when it was asked.
const TOTAL: HeaderName = HeaderName::from_static("stockade-total");

const CHUNK: u64 = 64 << 10;
