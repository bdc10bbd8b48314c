//! SOCKS clients: asks what they want, lets the cage decide, and answers with the codes that they know.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::farewell::farewell;
use super::inspected::{Conversation, converse};
use crate::cage::{Cage, Refusal};
use crate::decision::{Denial, Target};
use crate::dial::DialFailure;
use crate::event::Route;
use crate::inspect::socks::{MAX_STEP, Negotiation, Reply, Request, Step};
use crate::limits;
use crate::relay::reset;

/// Serves one client.
pub(super) async fn serve(cage: Arc<Cage>, mut stream: TcpStream) {
    let negotiated = timeout(limits::GREETING, negotiate(&mut stream)).await;
    let (request, early) = match negotiated {
        Ok(Ok(Negotiated::Request { request, early })) => (request, early),
        Ok(Ok(Negotiated::Refused { answer, denial })) => {
            cage.deny(&NO_TARGET, 0, denial, Route::Socks);
            return farewell(stream, &answer).await;
        }
        Ok(Err(_)) | Err(_) => return reset(stream),
    };
    let Request { version, target, port } = request;
    let reached = match meant(&cage, target) {
        Ok(target) => {
            cage.reach(&target, port, Route::Socks).await.map(|outside| (target, outside))
        }
        Err((target, denial)) => Err(cage.deny(&target, port, denial, Route::Socks)),
    };
    let (target, outside) = match reached {
        Ok(reached) => reached,
        Err(refusal) => return farewell(stream, &version.reply(reply_to(&refusal))).await,
    };
    if stream.write_all(&version.reply(Reply::Succeeded)).await.is_err() {
        return reset(stream);
    }
    converse(&cage, Conversation { stream, outside, target, port, way: Route::Socks, early }).await;
}

enum Negotiated {
    Request {
        request: Request,
        /// What the client sent behind it.
        early: Vec<u8>,
    },
    Refused {
        answer: Vec<u8>,
        denial: Denial,
    },
}

async fn negotiate(stream: &mut TcpStream) -> io::Result<Negotiated> {
    let mut negotiation = Negotiation::new();
    let mut input = Vec::with_capacity(MAX_STEP);
    loop {
        match negotiation.advance(&input) {
            Step::NeedMore => {
                if stream.read_buf(&mut input).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Step::Answer { consumed, answer } => {
                input.drain(..consumed.min(input.len()));
                stream.write_all(answer).await?;
            }
            Step::Request { consumed, request } => {
                input.drain(..consumed.min(input.len()));
                return Ok(Negotiated::Request { request, early: input });
            }
            Step::Refuse { answer, denial } => return Ok(Negotiated::Refused { answer, denial }),
        }
    }
}

/// A program may have looked a name up by itself and ask for the address that stands for it.
fn meant(cage: &Cage, target: Target) -> Result<Target, (Target, Denial)> {
    match target {
        Target::Address(address) => cage.target_of(address).map_err(|denial| (target, denial)),
        name @ Target::Name(_) => Ok(name),
    }
}

fn reply_to(refusal: &Refusal) -> Reply {
    match refusal {
        Refusal::Denied(_) | Refusal::Failed(DialFailure::Denied(_)) => Reply::NotAllowed,
        Refusal::Failed(DialFailure::Refused) => Reply::ConnectionRefused,
        Refusal::Failed(DialFailure::Unresolved(_) | DialFailure::Unreachable(_)) => {
            Reply::HostUnreachable
        }
        Refusal::Failed(DialFailure::TimedOut) => Reply::TimedOut,
        Refusal::Failed(DialFailure::Proxy(_) | DialFailure::NoDescriptor) => Reply::GeneralFailure,
    }
}

/// What a record shows where a client did not come to naming anything.
const NO_TARGET: &str = "-";
