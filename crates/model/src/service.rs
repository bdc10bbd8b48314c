//! The model service: an endpoint on loopback for a program in a cage. It passes requests on to the one configured
//! provider of their protocol, byte for byte, and adds the key outside; so `claude` or `codex` run with a key that
//! means nothing.
//!
//! Only known paths are passed on, with known fields and the tools that a client has itself; whatever key a client sends is
//! dropped. The key is searched for in every answer and taken out. Every call is on record before it is made, and is not made where that fails. Never
//! decides which host is reached by anything that a client sends.

mod body;
mod exchange;
mod redact;
mod route;

pub use exchange::NO_PROVIDER;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use body::ServerTools;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;

use crate::cancel::Cancel;
use crate::client::{Endpoint, Waits};
use crate::key::Key;
use crate::usage::{Cost, Prices, Usage};

/// The providers that a service passes requests on to.
#[derive(Clone, Debug, Default)]
pub struct Upstreams {
    /// Of Anthropic Messages.
    pub anthropic: Option<Endpoint>,
    /// Of chat completions and responses.
    pub openai: Option<Endpoint>,
    /// What a client has to send as its key, which means nothing elsewhere: for a listener that others than one cage
    /// reach, such as one on the host's loopback. Without it every client is served.
    pub token: Option<Key>,
    /// What else is answered beside the models, at `/services/NAME`.
    pub others: Option<Arc<dyn Others>>,
}

/// Services that are no models.
pub trait Others: Send + Sync + std::fmt::Debug {
    /// What one is for; none where these clients have no such service.
    fn doc(&self, name: &str) -> Option<String>;

    /// Asks one that [`Self::doc`] knows, and puts the call on record.
    ///
    /// # Errors
    /// In words for the client.
    fn ask(&self, name: &str, question: &[u8], stop: &Cancel) -> Result<Vec<u8>, String>;
}

/// What a service holds its clients to.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at one time.
    pub connections: usize,
    /// Calls in all.
    pub calls: Option<u64>,
    /// Tokens in all: a call begins while fewer were counted, with those that calls under way may take.
    pub tokens: Option<u64>,
    /// What a provider may be asked to do besides answering.
    pub server_tools: ServerTools,
    /// How long a provider may take.
    pub waits: Waits,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 32,
            calls: None,
            tokens: None,
            server_tools: ServerTools::default(),
            waits: Waits::default(),
        }
    }
}

/// A call that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Begun {
    /// Counted from one.
    pub call: u64,
    /// What is asked for, such as `/v1/messages`.
    pub path: String,
    /// The model, as the client names it.
    pub model: Option<String>,
    /// Bytes of the request.
    pub bytes: u64,
    /// SHA-256 of the request, in hexadecimal.
    pub sha256: String,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// As in [`Begun`].
    pub call: u64,
    /// What the provider answered, if it did.
    pub status: Option<u16>,
    /// Why there was no complete answer.
    pub failure: Option<String>,
    /// What it took.
    pub usage: Usage,
    /// What that cost, where prices are known.
    pub cost: Option<Cost>,
    /// Bytes of the answer.
    pub bytes: u64,
    /// SHA-256 of the answer as the client got it, in hexadecimal.
    pub sha256: String,
}

/// Where calls are recorded.
pub trait Record: Send + Sync {
    /// Before a call is made.
    ///
    /// # Errors
    /// If it cannot be recorded; the call is not made.
    fn begun(&self, call: &Begun) -> io::Result<()>;

    /// After it.
    fn ended(&self, call: &Ended);

    /// The text of a request or an answer, up to a bound, where the operator wants it kept.
    fn text(&self, _call: u64, _text: &[u8]) {}

    /// Whether the operator wants texts kept.
    fn wants_text(&self) -> bool {
        false
    }

    /// Prices of a model, where the operator has given some.
    fn prices(&self, _model: &str) -> Option<Prices> {
        None
    }
}

/// A service that runs until it is dropped.
pub struct Service {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct Shared {
    upstreams: Upstreams,
    bounds: Bounds,
    record: Arc<dyn Record>,
    stop: Cancel,
    open: AtomicUsize,
    calls: AtomicU64,
    spent: Mutex<Spent>,
}

/// What calls took, and may take.
#[derive(Debug, Default)]
struct Spent {
    usage: Usage,
    /// By calls under way.
    reserved: u64,
}

impl Service {
    /// Serves what connects to a listener, which may be one inside a cage's network.
    ///
    /// # Errors
    /// If the kernel refuses a thread.
    pub fn start(
        listener: TcpListener,
        upstreams: Upstreams,
        bounds: Bounds,
        record: Arc<dyn Record>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstreams,
            bounds,
            record,
            stop: Cancel::new(),
            open: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
            spent: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("model service".to_owned());
        let thread = builder.spawn(move || accept(&listener, &of_thread))?;
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more calls, and cuts off those that are under way.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Whether no call is under way.
    pub fn is_idle(&self) -> bool {
        self.shared.open.load(Ordering::Relaxed) == 0
    }

    /// What all calls together took.
    pub fn usage(&self) -> Usage {
        self.shared.spent().usage
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

impl Shared {
    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets tokens aside for a call that is about to begin, if the budget leaves any.
    fn reserve(&self, tokens: u64) -> Option<Reserved<'_>> {
        let mut spent = self.spent();
        let before = spent.usage.total().saturating_add(spent.reserved);
        if self.bounds.tokens.is_some_and(|most| before >= most) {
            return None;
        }
        // Of two sums that are too large none may be given back.
        let tokens = tokens.min(u64::MAX - spent.reserved);
        spent.reserved += tokens;
        Some(Reserved { shared: self, tokens })
    }
}

/// Tokens that a call under way may take.
struct Reserved<'a> {
    shared: &'a Shared,
    tokens: u64,
}

impl Reserved<'_> {
    /// The call has ended: they are given back, and what it took is counted.
    fn count(self, usage: &Usage) {
        self.shared.spent().usage.add(usage);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.shared.spent().reserved -= self.tokens;
    }
}

/// Accepts until it is stopped, and waits for what is open then.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !shared.stop.is_cancelled() {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        let slice = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        if !matches!(rustix::event::poll(&mut polled, Some(&slice)), Ok(1..)) {
            continue;
        }
        threads.retain(|thread| !thread.is_finished());
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            // Such as no descriptor left: it may pass.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        if shared.open.fetch_add(1, Ordering::Relaxed) >= shared.bounds.connections {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            exchange::refuse_at_once(stream);
            continue;
        }
        let of_thread = Arc::clone(shared);
        let builder = std::thread::Builder::new().name("model call".to_owned());
        let spawned = builder.spawn(move || {
            exchange::serve(stream, &of_thread);
            of_thread.open.fetch_sub(1, Ordering::Relaxed);
        });
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(_) => {
                shared.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
    for thread in threads {
        let _panicked = thread.join();
    }
}
