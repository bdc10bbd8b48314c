//! Listens, lets connections in, and answers requests one by one. Every bound on what a client may
//! send, hold or keep waiting is set here.

use std::convert::Infallible;
use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use walls::Wall;

use crate::admission::{Admitted, Crowded};
use crate::answer::{self, Answer};
use crate::daemon::Daemon;
use crate::log;
use crate::operations;
use crate::peer::Origin;
use crate::problem::{Code, Problem};
use crate::route;
use crate::stall::Impatient;
use crate::token::Token;
use crate::unauthenticated::Caller;

/// What every connection gets.
#[derive(Clone)]
enum Welcome {
    /// It is served, and has its place.
    Served(Arc<Admitted>),
    /// It is served if it shows the token, with each request, and gets its place with the first.
    Asked(Arc<Token>, Arc<Caller>),
    /// Every request is answered with this.
    Refused(Arc<Problem>),
}

/// Serves the unix socket until the daemon is told to stop accepting.
pub(crate) async fn serve_unix(daemon: Arc<Daemon>, listener: StdUnixListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    loop {
        let stream = tokio::select! {
            () = daemon.phase.accepting_ends() => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => { wait_for_room(&error).await; continue }
            },
        };
        let Ok(credentials) = stream.peer_cred() else { continue };
        let pid = credentials.pid().and_then(rustix::process::Pid::from_raw);
        let origin = Origin::User(credentials.uid());
        let welcome = match daemon.allowed.check(credentials.uid(), pid) {
            Ok(()) => match daemon.admission.admit(origin) {
                Ok(admitted) => Welcome::Served(Arc::new(admitted)),
                Err(crowded) => Welcome::Refused(Arc::new(crowded.into())),
            },
            Err(stranger) => Welcome::Refused(Arc::new(stranger.into())),
        };
        begin(&daemon, origin, welcome, stream);
    }
}

/// Serves TCP until the daemon is told to stop accepting.
pub(crate) async fn serve_tcp(
    daemon: Arc<Daemon>,
    listener: std::net::TcpListener,
    token: Token,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let token = Arc::new(token);
    loop {
        let stream = tokio::select! {
            () = daemon.phase.accepting_ends() => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => { wait_for_room(&error).await; continue }
            },
        };
        // Answers are small and somebody waits for each.
        let _slower = stream.set_nodelay(true);
        let caller = Arc::new(daemon.unauthenticated.take());
        begin(&daemon, Origin::Network, Welcome::Asked(Arc::clone(&token), caller), stream);
    }
}

/// A connection that cannot be taken for want of descriptors or memory stays in the queue; asking
/// again at once would only burn the processor.
async fn wait_for_room(error: &io::Error) {
    log::warning(&format!("a connection cannot be taken: {error}"));
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Talks with a connection, if there is room at least for a refusal. Whoever is refused takes no place
/// of those who are served.
fn begin<S>(daemon: &Arc<Daemon>, origin: Origin, welcome: Welcome, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let waiting = match welcome {
        Welcome::Served(_) | Welcome::Asked(..) => None,
        Welcome::Refused(_) => match daemon.rejected.admit(origin) {
            Ok(waiting) => Some(waiting),
            Err(_) => return,
        },
    };
    let daemon = Arc::clone(daemon);
    tokio::spawn(async move {
        let _waiting = waiting;
        converse(daemon, welcome, stream).await;
    });
}

/// One connection from its first request to its last.
async fn converse<S>(daemon: Arc<Daemon>, welcome: Welcome, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let refused = matches!(welcome, Welcome::Refused(_));
    let caller = match &welcome {
        Welcome::Asked(_, caller) => Some(Arc::clone(caller)),
        Welcome::Served(_) | Welcome::Refused(_) => None,
    };
    let service = {
        let daemon = Arc::clone(&daemon);
        service_fn(move |request: Request<Incoming>| {
            let (daemon, welcome) = (Arc::clone(&daemon), welcome.clone());
            async move { Ok::<Answer, Infallible>(respond(&daemon, &welcome, request).await) }
        })
    };
    let patience = if refused { REFUSED_TIME } else { WRITE_STALL };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(if refused { REFUSED_TIME } else { HEAD_TIME })
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD)
        .keep_alive(!refused)
        .serve_connection(Impatient::new(stream, patience), service)
        .with_upgrades();
    tokio::pin!(connection);
    // How a connection ended is its client's business.
    tokio::select! {
        _ended = connection.as_mut() => {}
        () = sent_away(caller.as_deref()) => {}
        () = daemon.phase.connections_end() => {
            connection.as_mut().graceful_shutdown();
            let _ended = tokio::time::timeout(LAST_ANSWERS, connection).await;
        }
    }
}

/// Returns when a connection has to make room for another.
async fn sent_away(caller: Option<&Caller>) {
    match caller {
        Some(caller) => caller.is_sent_away().await,
        None => std::future::pending().await,
    }
}

async fn respond(
    daemon: &Arc<Daemon>,
    welcome: &Welcome,
    mut request: Request<Incoming>,
) -> Answer {
    let uri = request.uri().clone();
    let answered = match let_in(daemon, welcome, &request) {
        Ok(admitted) => {
            // What goes on beyond HTTP keeps its place.
            request.extensions_mut().insert(admitted);
            operations::perform(daemon, request).await
        }
        Err(problem) => Err(problem),
    };
    answered.unwrap_or_else(|problem| {
        let mut answer = answer::problem(&problem);
        if problem.status == StatusCode::UNAUTHORIZED {
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if problem.status == StatusCode::METHOD_NOT_ALLOWED
            && let Ok(allowed) = HeaderValue::from_str(&route::methods_at(uri.path()))
        {
            answer.headers_mut().insert(ALLOW, allowed);
        }
        answer
    })
}

/// The place of a request that is served.
fn let_in(
    daemon: &Daemon,
    welcome: &Welcome,
    request: &Request<Incoming>,
) -> Result<Arc<Admitted>, Problem> {
    match welcome {
        Welcome::Refused(problem) => Err(Problem::clone(problem)),
        Welcome::Served(admitted) => Ok(Arc::clone(admitted)),
        Welcome::Asked(token, caller)
            if shows(token, request) || !walls::stands(Wall::DaemonToken) =>
        {
            caller.enter(&daemon.admission).map_err(Problem::from)
        }
        Welcome::Asked(..) => {
            Err(Problem::new(Code::Unauthorized, "the token is missing or wrong")
                .help("send `Authorization: Bearer TOKEN` with what is in the daemon's token file"))
        }
    }
}

/// Whether a request shows the token, and nothing else beside it: of two fields something in front of the
/// daemon may have looked at the other one.
fn shows(token: &Token, request: &Request<Incoming>) -> bool {
    let mut fields = request.headers().get_all(AUTHORIZATION).iter().map(HeaderValue::as_bytes);
    let only = fields.next().filter(|_| fields.next().is_none());
    let shown = only.and_then(|value| match value.split_at_checked(BEARER.len()) {
        Some((scheme, shown)) if scheme.eq_ignore_ascii_case(BEARER) => Some(shown),
        _ => None,
    });
    shown.is_some_and(|shown| token.is_shown_by(shown.trim_ascii()))
}

impl From<Crowded> for Problem {
    fn from(crowded: Crowded) -> Self {
        Self::new(Code::TooMany, crowded.to_string())
    }
}

const BEARER: &[u8] = b"Bearer ";

/// Longest time for the head of a request, and for the wait between two requests.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// The same for somebody who will be refused anyway.
const REFUSED_TIME: Duration = Duration::from_secs(2);

/// Longest time in which a client takes nothing of what is there for it.
const WRITE_STALL: Duration = Duration::from_secs(60);

/// What answers that are on their way get when the daemon ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 32 << 10;
