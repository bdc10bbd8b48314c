//! The process that connects to a store for another one, and the other one's side of it. It is asked for one of a few
//! addresses by number, so nobody can have it connect elsewhere, and it has no credential that it could give away.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jail::helper_process::{HelperFiles, HelperJail, HelperLife, HelperNetwork};
use plan::seccomp::Helper;
use rustix::io::Errno;
use rustix::process::Pid;
use sys::channel::{self, Waiting};
use sys::clone::{Forked, Namespaces};

/// Asks the dialer for connections.
#[derive(Debug)]
pub(crate) struct Dialer {
    channel: Mutex<OwnedFd>,
    targets: Vec<(String, u16)>,
}

impl Dialer {
    /// Forks it, which must be done while this process has a single thread and no credential.
    pub(crate) fn start(targets: Vec<(String, u16)>) -> Result<Self, Errno> {
        let copies = settings_of_look_ups();
        let (ours, theirs) = channel::pair()?;
        let parent = rustix::process::getpid();
        match sys::clone::fork_into(Namespaces::NONE, None)? {
            Forked::Child => {
                drop(ours);
                let _ended = live(&theirs, parent, &targets, &copies);
                sys::exec::exit_now(0)
            }
            // The kernel ends it with this process.
            Forked::Parent { .. } => Ok(Self { channel: Mutex::new(ours), targets }),
        }
    }
}

impl remote::Dial for Dialer {
    fn dial(&self, host: &str, port: u16) -> std::io::Result<TcpStream> {
        let is_it = |target: &(String, u16)| target.0 == host && target.1 == port;
        let number = self.targets.iter().position(is_it).and_then(|one| u8::try_from(one).ok());
        let number = number.ok_or_else(|| {
            std::io::Error::other(format!("`{host}:{port}` is not the store's address"))
        })?;
        // One at a time: an answer belongs to the question before it.
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel::send(channel.as_fd(), &[number], &[], Waiting::Allowed)?;
        let answer = rustix::io::retry_on_intr(|| {
            channel::receive(channel.as_fd(), MOST_TEXT, Waiting::Allowed)
        })?;
        let (text, mut connection) =
            answer.ok_or_else(|| std::io::Error::other("the process that dials is gone"))?;
        match connection.pop() {
            Some(connection) => Ok(TcpStream::from(connection)),
            None => Err(std::io::Error::other(String::from_utf8_lossy(&text).into_owned())),
        }
    }
}

/// The whole life of the dialer.
fn live(
    channel: &OwnedFd,
    parent: Pid,
    targets: &[(String, u16)],
    copies: &[(&'static str, Vec<u8>)],
) -> Result<(), Errno> {
    let kept = u32::try_from(channel.as_raw_fd()).map_err(|_| Errno::BADF)?;
    sys::descriptors::close_all_but(&[0, 1, 2, kept])?;
    let _unnamed = rustix::thread::set_name(c"stockade-dial");
    let jail = HelperJail {
        kind: Helper::Dialer,
        life: HelperLife::With(parent),
        network: HelperNetwork::Kept,
        files: HelperFiles::Copies(copies),
        descriptors: 64,
    };
    let jailed = crate::server::enter(&jail);
    loop {
        let asked =
            rustix::io::retry_on_intr(|| channel::receive(channel.as_fd(), 1, Waiting::Allowed));
        let Some((question, _)) = asked? else { return Ok(()) };
        let connected = jailed.clone().and_then(|()| {
            let target = question.first().and_then(|number| targets.get(usize::from(*number)));
            let (host, port) = target.ok_or("there is no such address")?;
            connect(host, *port).map_err(|error| error.to_string())
        });
        match connected {
            Ok(connection) => {
                channel::send(channel.as_fd(), b"+", &[connection.as_fd()], Waiting::Allowed)?;
            }
            Err(text) => {
                let text = text.get(..text.floor_char_boundary(MOST_TEXT)).unwrap_or_default();
                channel::send(channel.as_fd(), text.as_bytes(), &[], Waiting::Allowed)?;
            }
        }
    }
}

fn connect(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()?.take(MOST_ADDRESSES) {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(connection) => return Ok(connection),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What the C library reads to look up a name; what is missing is missing on the host too.
fn settings_of_look_ups() -> Vec<(&'static str, Vec<u8>)> {
    let read = |name: &'static str| {
        let text = std::fs::read(format!("/etc/{name}")).ok()?;
        (text.len() <= MOST_SETTINGS).then_some((name, text))
    };
    ["hosts", "resolv.conf", "nsswitch.conf", "host.conf", "gai.conf"]
        .into_iter()
        .filter_map(read)
        .collect()
}

const PATIENCE: Duration = Duration::from_secs(10);
const MOST_ADDRESSES: usize = 4;
const MOST_TEXT: usize = 512;
const MOST_SETTINGS: usize = 512 * 1024;
