//! One request on its way. A thread of its own sends it and hands the answer over through a pair of sockets, so that the component
//! waits for it as for a connection and no more of a body is held than the kernel keeps of a stream. Never made without
//! a network for the component.
//!
//! The first byte of the stream says that the head of the answer is there, or why there is none; the rest is the body.

use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use ureq::http::request::Parts;
use ureq::http::{HeaderName, HeaderValue, Method, Request, Response};
use ureq::{AsSendBody, Body};

use super::super::host::Place;
use super::bindings::wasi::http::types::{DnsErrorPayload, ErrorCode};
use super::outgoing::Content;
use crate::requests::{Cause, Failure, LONGEST, Patience, agent};

/// A request that is to be sent.
pub(super) struct Order {
    pub(super) head: Parts,
    /// Where the body comes from, if there is one.
    pub(super) body: Option<Receiver<Content>>,
    pub(super) patience: Patience,
    /// The bytes of the body of the answer.
    pub(super) most: u64,
}

/// The component's end of it, which whatever comes of it holds too.
#[derive(Debug)]
pub struct Exchange {
    socket: OwnedFd,
    shared: Arc<Shared>,
}

/// What is not in the stream.
#[derive(Debug)]
struct Shared {
    head: Mutex<Option<Result<Head, ErrorCode>>>,
    /// Why the body ends before its end.
    failed: Mutex<Option<ErrorCode>>,
    /// Given back when the component has dropped all of it and the thread has ended.
    _place: Place,
}

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Exchange {
    /// Sends it.
    pub(super) fn begin(order: Order, place: Place) -> Result<Self, ErrorCode> {
        let refused = |_| ErrorCode::ConnectionLimitReached;
        let (ours, theirs) = UnixStream::pair().map_err(refused)?;
        let shared = Shared { head: Mutex::default(), failed: Mutex::default(), _place: place };
        let shared = Arc::new(shared);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("guest request".to_owned());
        // Nobody waits for it: it ends when its other end is closed, at its own timeouts, or with this process.
        thread.spawn(move || perform(order, &theirs, &of_thread)).map_err(refused)?;
        Ok(Self { socket: ours.into(), shared })
    }

    pub(in super::super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What there is of the stream; nothing is its end.
    pub(in super::super) fn receive(&self, into: &mut [u8]) -> Result<usize, Errno> {
        let received = rustix::net::recv(&self.socket, into, RecvFlags::DONTWAIT);
        received.map(|(_, count)| count)
    }

    /// The head of the answer, once, when it is there.
    pub(super) fn head(&self) -> Option<Result<Head, ErrorCode>> {
        if let Err(Errno::AGAIN | Errno::INTR) = self.receive(&mut [0]) {
            return None;
        }
        let head = self.shared.head.lock().unwrap_or_else(PoisonError::into_inner).take();
        Some(head.unwrap_or(Err(ErrorCode::InternalError(None))))
    }

    /// Why the body has ended before its end, if it has.
    pub(in super::super) fn failure(&self) -> Option<ErrorCode> {
        self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn perform(order: Order, to: &UnixStream, shared: &Shared) {
    let most = order.most;
    let (head, body) = match ask(order) {
        Ok((head, body)) => (Ok(head), Some(body)),
        Err(code) => (Err(code), None),
    };
    *shared.head.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
    let ended = send_all(to, &[1]).map_or(Ok(()), |()| match body {
        Some(body) => hand_over(body, most, to),
        None => Ok(()),
    });
    if let Err(code) = ended {
        *shared.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(code);
    }
}

/// Sends the request, and waits for the head of the answer.
fn ask(order: Order) -> Result<(Head, Body), ErrorCode> {
    let Order { head, body, patience, most } = order;
    let is_encrypted = head.uri.scheme() == Some(&ureq::http::uri::Scheme::HTTPS);
    let has_body = head.method != Method::HEAD;
    let agent = agent(is_encrypted, patience).map_err(code)?;
    let sent = match body {
        Some(body) => {
            let body = body.recv_timeout(LONGEST).map_err(unfinished)?;
            // A method of the standard that has no body has one if it is asked for.
            let request = agent.configure_request(Request::from_parts(head, body.bytes.as_slice()));
            run(&agent, request.allow_non_standard_methods(true).build())
        }
        None => run(&agent, Request::from_parts(head, ())),
    };
    let (parts, body) = sent?.into_parts();
    if has_body && let Some(length) = body.content_length().filter(|length| *length > most) {
        return Err(ErrorCode::HttpResponseBodySize(Some(length)));
    }
    let headers = parts.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
    Ok((Head { status: parts.status.as_u16(), headers: headers.collect() }, body))
}

fn run(
    agent: &ureq::Agent,
    request: Request<impl AsSendBody>,
) -> Result<Response<Body>, ErrorCode> {
    agent.run(request).map_err(|error| code(error.into()))
}

fn unfinished(why: RecvTimeoutError) -> ErrorCode {
    match why {
        RecvTimeoutError::Timeout => ErrorCode::ConnectionWriteTimeout,
        RecvTimeoutError::Disconnected => {
            ErrorCode::InternalError(Some("the body of the request was not finished".to_owned()))
        }
    }
}

/// Hands the body over as it comes, until nobody reads it any more.
fn hand_over(mut body: Body, most: u64, to: &UnixStream) -> Result<(), ErrorCode> {
    let mut from = body.with_config().limit(most).reader();
    let mut bytes = vec![0; AT_ONCE];
    loop {
        let count = match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(match code(ureq::Error::from(error).into()) {
                    ErrorCode::HttpResponseTimeout => ErrorCode::ConnectionReadTimeout,
                    other => other,
                });
            }
        };
        if send_all(to, bytes.get(..count).unwrap_or_default()).is_err() {
            return Ok(());
        }
    }
}

fn send_all(to: &UnixStream, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::net::send(to, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// A failure in the words of the interface.
fn code(failure: Failure) -> ErrorCode {
    match failure.cause {
        Cause::NoTls => ErrorCode::ConfigurationError,
        Cause::ConnectTimeout => ErrorCode::ConnectionTimeout,
        Cause::AnswerTimeout => ErrorCode::HttpResponseTimeout,
        Cause::Timeout => ErrorCode::ConnectionWriteTimeout,
        Cause::HostNotFound => dns("NXDOMAIN"),
        Cause::ResolverFailed => dns("SERVFAIL"),
        Cause::Refused => ErrorCode::ConnectionRefused,
        Cause::Reset => ErrorCode::ConnectionTerminated,
        Cause::NetworkUnreachable => ErrorCode::DestinationIpUnroutable,
        Cause::HostUnreachable => ErrorCode::DestinationUnavailable,
        Cause::Denied => ErrorCode::HttpRequestDenied,
        Cause::Certificate => ErrorCode::TlsCertificateError,
        Cause::Encryption => ErrorCode::TlsProtocolError,
        Cause::BodyTooLarge => ErrorCode::HttpResponseBodySize(None),
        Cause::HeadersTooLarge => ErrorCode::HttpResponseHeaderSectionSize(None),
        Cause::Protocol => ErrorCode::HttpProtocolError,
        Cause::Incomplete => ErrorCode::HttpResponseIncomplete,
        Cause::Io | Cause::Other => ErrorCode::InternalError(Some(failure.why)),
    }
}

fn dns(rcode: &str) -> ErrorCode {
    ErrorCode::DnsError(DnsErrorPayload { rcode: Some(rcode.to_owned()), info_code: None })
}

/// What is read of a body before it is handed over.
const AT_ONCE: usize = 16 << 10;
