//! HTTP proxy clients: `CONNECT`, and requests with a whole URL. Those are passed on one to a
//! connection, so that each is decided on by itself.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::farewell::farewell;
use super::inspected::{Conversation, Ends, Speaker, Stop, converse, read_more};
use crate::cage::{Cage, Refusal};
use crate::decision::{Denial, DenialCode, Target};
use crate::dial::DialFailure;
use crate::event::Route;
use crate::inspect::http::{
    self, Answer, Failure, Form, RequestHead, ResponseReader, Scheme, failure,
};
use crate::limits;
use crate::relay::{Direction, Meter, pump_to_end, reset, send, until_idle};

/// Serves one client.
pub(super) async fn serve(cage: Arc<Cage>, stream: TcpStream) {
    let meter = cage.meter();
    let reading = Speaker::read_first_head(&stream, Vec::new(), &meter);
    let read = timeout(limits::GREETING, reading).await;
    let mut speaker = match read {
        Ok(Ok(speaker)) => speaker,
        Ok(Err(Stop::DeniedRequest(denial) | Stop::Denied(denial))) => {
            let words = failure(Failure::BadRequest, &denial.to_string());
            cage.deny(&NO_TARGET, 0, denial, Route::HttpProxy);
            return farewell(stream, &words).await;
        }
        Ok(Err(Stop::Broken)) | Err(_) => return reset(stream),
    };
    let Some(head) = speaker.take_head() else { return reset(stream) };
    let (way, port) = match &head.form {
        Form::Authority { port } => (Route::HttpConnect, *port),
        Form::Absolute { scheme: Scheme::Http, .. } => {
            (Route::HttpProxy, head.host.port_or(Scheme::Http.default_port()))
        }
        Form::Absolute { scheme: Scheme::Https, .. } | Form::Origin | Form::Asterisk => {
            let denial = Denial::new(DenialCode::HttpRefused, NOT_FOR_A_PROXY);
            let words = failure(Failure::BadRequest, &denial.to_string());
            cage.deny(&head.host, 0, denial, Route::HttpProxy);
            return farewell(stream, &words).await;
        }
    };
    let (target, outside) = match reach(&cage, &head.host.target, port, way).await {
        Ok(reached) => reached,
        Err(refusal) => return farewell(stream, &answer_to(&refusal)).await,
    };
    match way {
        Route::HttpConnect => tunnel(&cage, stream, outside, speaker, target, port).await,
        _ => pass_on(&cage, stream, outside, speaker, &head, &meter).await,
    }
}

/// A program may have looked a name up by itself and ask for the address that stands for it.
async fn reach(
    cage: &Cage,
    target: &Target,
    port: u16,
    way: Route,
) -> Result<(Target, TcpStream), Refusal> {
    let target = match target {
        Target::Address(address) => {
            cage.target_of(*address).map_err(|denial| cage.deny(target, port, denial, way))?
        }
        name @ Target::Name(_) => name.clone(),
    };
    let outside = cage.reach(&target, port, way).await?;
    Ok((target, outside))
}

async fn tunnel(
    cage: &Cage,
    mut stream: TcpStream,
    outside: TcpStream,
    speaker: Speaker,
    target: Target,
    port: u16,
) {
    if stream.write_all(http::CONNECTION_ESTABLISHED).await.is_err() {
        return reset(stream);
    }
    let (way, early) = (Route::HttpConnect, speaker.into_rest());
    converse(cage, Conversation { stream, outside, target, port, way, early }).await;
}

/// Passes one request on and its answer back.
async fn pass_on(
    cage: &Cage,
    stream: TcpStream,
    outside: TcpStream,
    mut speaker: Speaker,
    head: &RequestHead,
    meter: &Meter<'_>,
) {
    let ends = Ends { inside: &stream, outside: &outside, meter };
    let outward = async {
        let head = head.in_origin_form();
        send(&outside, &head, Direction::Outward, meter).await?;
        match speaker.pass_body(ends).await {
            Err(denied @ (Stop::Denied(_) | Stop::DeniedRequest(_))) => Err(denied),
            // A server may answer and close before it has read all.
            Ok(()) | Err(Stop::Broken) => std::future::pending().await,
        }
    };
    let exchange = async {
        tokio::select! {
            stopped = outward => stopped,
            answered = pass_answer(ends) => answered,
        }
    };
    match until_idle(meter, exchange).await {
        Ok(()) => farewell(stream, b"").await,
        Err(Stop::Denied(denial) | Stop::DeniedRequest(denial)) => {
            cage.deny(&head.host, 0, denial, Route::HttpProxy);
            reset(stream);
        }
        Err(Stop::Broken) => reset(stream),
    }
}

/// The answer, told to be the last of its connection.
async fn pass_answer(ends: Ends<'_>) -> Result<(), Stop> {
    let mut reader = ResponseReader::new();
    // Everything since the last head that was passed on.
    let mut said = Vec::new();
    let mut looked_at = 0;
    loop {
        if looked_at == said.len() && read_more(ends.outside, &mut said).await? == 0 {
            break;
        }
        let news = said.get(looked_at..).unwrap_or_default();
        match reader.next(news) {
            Ok(Answer::NeedMore) => {
                looked_at = said.len();
                // The reader keeps it as well.
                let kept = 2 * looked_at;
                ends.meter.hold_back(Direction::Inward, kept).map_err(Stop::DeniedRequest)?;
            }
            Ok(Answer::Head { consumed, head }) => {
                let words = if head.is_interim() { head.bytes.clone() } else { head.closing() };
                send(ends.inside, &words, Direction::Inward, ends.meter).await?;
                said.drain(..(looked_at + consumed).min(said.len()));
                looked_at = 0;
                if !head.is_interim() {
                    break;
                }
            }
            // Not HTTP as we read it; the program may know better.
            Err(_) => break,
        }
    }
    send(ends.inside, &said, Direction::Inward, ends.meter).await?;
    drop(said);
    ends.meter.hold_back(Direction::Inward, 0).map_err(Stop::DeniedRequest)?;
    Ok(pump_to_end(ends.outside, ends.inside, Direction::Inward, ends.meter).await?)
}

fn answer_to(refusal: &Refusal) -> Vec<u8> {
    match refusal {
        Refusal::Denied(denial) | Refusal::Failed(DialFailure::Denied(denial)) => {
            http::refusal(denial)
        }
        Refusal::Failed(reason @ DialFailure::TimedOut) => {
            failure(Failure::TimedOut, &reason.to_string())
        }
        // Which resolver was asked and what it said is the user's to know, not the program's.
        Refusal::Failed(DialFailure::Unresolved(_)) => {
            failure(Failure::Unreachable, "the name could not be looked up")
        }
        Refusal::Failed(reason) => failure(Failure::Unreachable, &reason.to_string()),
    }
}

/// What a record shows where a client did not come to naming anything.
const NO_TARGET: &str = "-";
const NOT_FOR_A_PROXY: &str =
    "the request is none for a proxy: it needs a URL that begins with http://, or CONNECT";
