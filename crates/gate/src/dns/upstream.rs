//! Asks the host's resolvers for the addresses of a name. Called for allowed names alone, sends
//! exactly the name that it is given and never a search domain behind it; what comes back counts only
//! if address, port, id and question are those of the query.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plan::destination::Name;
use plan::network::Family;
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::reply::{
    BAD_VERSION, Dialect, FORMAT_ERROR, NOT_IMPLEMENTED, Query, Reply, SERVER_FAILURE,
};

/// The host's resolvers.
#[derive(Debug)]
pub struct Upstream {
    choice: Mutex<Choice>,
}

/// Whom to ask, and whom first.
#[derive(Clone, Debug)]
struct Choice {
    resolvers: Arc<[SocketAddr]>,
    /// Index of the one that answered last; a resolver that is down costs its time-out only once.
    preferred: usize,
}

/// What the resolvers say about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Its addresses, at least one; or why there are none.
    pub addresses: Result<Arc<[IpAddr]>, ResolveFailure>,
    /// For how long the resolvers say that it holds; zero where they do not say.
    pub lifetime: Duration,
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveFailure {
    /// There is no such name.
    #[error("there is no host of this name")]
    NoSuchName,
    /// The name is there and has no address of this family.
    #[error("the host has no address of this family")]
    NoAddress,
    /// Resolvers answered, and none could say.
    #[error("the resolver {resolver} failed with code {code}")]
    ServerFailure {
        /// The last of them.
        resolver: SocketAddr,
        /// Its response code.
        code: u16,
    },
    /// The gatekeeper had no descriptor left to ask with.
    #[error("there are too many open connections to look a name up")]
    NoDescriptor,
    /// No resolver answered.
    #[error("no resolver answered: {tried}")]
    Unreachable {
        /// Which were tried, and what came of it.
        tried: String,
    },
}

impl Upstream {
    /// Asks these, in this order.
    pub fn new(resolvers: Vec<SocketAddr>) -> Self {
        Self { choice: Mutex::new(Choice { resolvers: resolvers.into(), preferred: 0 }) }
    }

    /// Asks others from now on.
    pub fn replace(&self, resolvers: Vec<SocketAddr>) {
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) =
            Choice { resolvers: resolvers.into(), preferred: 0 };
    }

    /// Asks one resolver after the other until one can say, twice round at most and for
    /// [`IN_ALL`] at most.
    pub async fn ask(&self, name: &Name, family: Family) -> Resolution {
        let choice = self.choice.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut trouble = Trouble::default();
        let asking = self.ask_in_turn(&choice, name, family, &mut trouble);
        match timeout(IN_ALL, asking).await {
            Ok(Some(resolution)) => resolution,
            Ok(None) | Err(_) => trouble.conclude(&choice),
        }
    }

    async fn ask_in_turn(
        &self,
        choice: &Choice,
        name: &Name,
        family: Family,
        trouble: &mut Trouble,
    ) -> Option<Resolution> {
        let count = choice.resolvers.len();
        for turn in 0..count.saturating_mul(ROUNDS) {
            let index = choice.preferred.saturating_add(turn).checked_rem(count)?;
            let resolver = *choice.resolvers.get(index)?;
            match timeout(PER_TRY, exchange(resolver, name, family)).await {
                Ok(Ok(reply)) => match conclusion(reply) {
                    Ok(resolution) => {
                        self.prefer(choice, index);
                        return Some(resolution);
                    }
                    Err(code) => trouble.failed = Some((resolver, code)),
                },
                Ok(Err(error)) if is_want_of_descriptors(&error) => {
                    let addresses = Err(ResolveFailure::NoDescriptor);
                    return Some(Resolution { addresses, lifetime: Duration::ZERO });
                }
                Ok(Err(error)) => trouble.silent = Some((resolver, error.to_string())),
                Err(_) => trouble.silent = Some((resolver, TIMED_OUT.to_owned())),
            }
        }
        None
    }

    fn prefer(&self, asked: &Choice, index: usize) {
        let mut choice = self.choice.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&choice.resolvers, &asked.resolvers) {
            choice.preferred = index;
        }
    }
}

/// What went wrong so far.
#[derive(Debug, Default)]
struct Trouble {
    failed: Option<(SocketAddr, u16)>,
    silent: Option<(SocketAddr, String)>,
}

impl Trouble {
    /// A resolver that answered with a failure says more than one that did not answer.
    fn conclude(self, choice: &Choice) -> Resolution {
        let failure = match (self.failed, self.silent) {
            (Some((resolver, code)), _) => ResolveFailure::ServerFailure { resolver, code },
            (None, Some((resolver, error))) => {
                ResolveFailure::Unreachable { tried: describe(choice, resolver, &error) }
            }
            (None, None) if choice.resolvers.is_empty() => {
                ResolveFailure::Unreachable { tried: "the host has none".to_owned() }
            }
            (None, None) => ResolveFailure::Unreachable { tried: TIMED_OUT.to_owned() },
        };
        Resolution { addresses: Err(failure), lifetime: Duration::ZERO }
    }
}

fn describe(choice: &Choice, resolver: SocketAddr, error: &str) -> String {
    match choice.resolvers.len() {
        1 => format!("{resolver}: {error}"),
        count => format!("{count} were tried, the last was {resolver}: {error}"),
    }
}

/// A reply that says how it is, or the code of one that does not.
fn conclusion(reply: Reply) -> Result<Resolution, u16> {
    let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
    match reply {
        Reply::Addresses(addresses, ttl) => {
            Ok(Resolution { addresses: Ok(addresses.into()), lifetime: seconds(ttl) })
        }
        Reply::NoAddress(ttl) => {
            Ok(Resolution { addresses: Err(ResolveFailure::NoAddress), lifetime: seconds(ttl) })
        }
        Reply::NoSuchName(ttl) => {
            Ok(Resolution { addresses: Err(ResolveFailure::NoSuchName), lifetime: seconds(ttl) })
        }
        Reply::Truncated => Err(SERVER_FAILURE),
        Reply::Failed(code) => Err(code),
    }
}

/// One resolver's word, with EDNS if it knows that, on a connection if it does not fit a datagram.
async fn exchange(resolver: SocketAddr, name: &Name, family: Family) -> io::Result<Reply> {
    let reply = exchange_in(Dialect::Extended, resolver, name, family).await?;
    match reply {
        Reply::Failed(FORMAT_ERROR | NOT_IMPLEMENTED | BAD_VERSION) => {
            exchange_in(Dialect::Plain, resolver, name, family).await
        }
        other => Ok(other),
    }
}

async fn exchange_in(
    dialect: Dialect,
    resolver: SocketAddr,
    name: &Name,
    family: Family,
) -> io::Result<Reply> {
    let query = Query::new(random_id()?, name, family, dialect)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    match exchange_datagrams(resolver, &query).await? {
        Reply::Truncated => exchange_on_connection(resolver, &query).await,
        other => Ok(other),
    }
}

/// Each question has a socket of its own, so that the kernel picks another random port for each, and
/// a connected one, so that it drops what comes from elsewhere and tells when nobody listens.
async fn exchange_datagrams(resolver: SocketAddr, query: &Query) -> io::Result<Reply> {
    let any: IpAddr = match resolver {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(resolver).await?;
    socket.send(&query.encode()).await?;
    let mut buffer = [0; LARGEST_DATAGRAM];
    for _ in 0..=MAX_STRAYS {
        let length = socket.recv(&mut buffer).await?;
        if let Some(reply) = buffer.get(..length).and_then(|bytes| query.read(bytes)) {
            return Ok(reply);
        }
    }
    Err(io::Error::other("only answers to other questions came"))
}

async fn exchange_on_connection(resolver: SocketAddr, query: &Query) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(resolver).await?;
    let question = query.encode();
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend_from_slice(&question);
    stream.write_all(&framed).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; usize::from(length)];
    stream.read_exact(&mut answer).await?;
    query.read(&answer).ok_or_else(|| io::Error::other("the answer is to another question"))
}

/// Whether a call failed because this process, or the whole system, has too much open already.
pub(crate) fn is_want_of_descriptors(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

fn random_id() -> io::Result<u16> {
    let mut bytes = [0; 2];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u16::from_ne_bytes(bytes))
}

/// Time for one try.
pub const PER_TRY: Duration = Duration::from_secs(2);
/// Time for all of them.
pub const IN_ALL: Duration = Duration::from_secs(5);
const ROUNDS: usize = 2;
/// Datagrams that are passed over before a try is given up: each is somebody's guess.
const MAX_STRAYS: usize = 16;
const LARGEST_DATAGRAM: usize = 4096;
const TIMED_OUT: &str = "no answer in time";

#[cfg(test)]
mod tests;
