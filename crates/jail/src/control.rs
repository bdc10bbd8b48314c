//! What the supervisor and the cage's pid 1 say to each other over their socket pair: one JSON
//! value per packet. Pid 1 is ours, but it lives in the cage: the supervisor treats what it reads
//! as untrusted and caps it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::GuestPath;
use plan::network::SocketKind;
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::channel::{self, Waiting};

use crate::{Refused, SetupFailure, Step};

/// What pid 1 tells the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Something that was made inside for somebody outside; its descriptors come with the packet.
    HandOver(HandOver),
    /// The program's terminal; its other end comes with the packet.
    Terminal,
    /// The tree is built and the cage's root. Its mount table comes with the packet, for
    /// [`crate::Child::verify`].
    Built,
    /// The program's first instruction is next.
    Started(Layers),
    /// The cage could not be built or the program not started.
    Failed(SetupFailure),
    /// The program stopped on a terminal signal.
    Stopped,
    /// What was noted of the program's calls, in as many of these as it takes. Comes before the end.
    Observed {
        /// In the order in which it was seen first.
        observed: Vec<Observed>,
        /// How many more calls were about something that is in no list, because there was too much.
        unlisted: u64,
    },
    /// The program ended, and everything else in the cage but pid 1, which is about to.
    Ended {
        /// How.
        end: End,
        /// System calls that were refused, by name, most frequent first.
        denials: Vec<Denial>,
        /// Names that were asked about in a cage without any network, most frequent first.
        lookups: Vec<Lookup>,
    },
}

/// What pid 1 makes for others, in the order in which it comes. The gate stays shut until all was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandOver {
    /// The sockets by which the cage's programs meet the gatekeeper, in this order. Comes first of all, and in a cage
    /// with a gatekeeper alone.
    Network(Vec<SocketKind>),
    /// Where the kernel asks for the files that are served at these places, in this order. Comes when the tree is
    /// built, in a cage with such mounts alone.
    Files(Vec<GuestPath>),
}

/// What the supervisor tells pid 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The ids of the user namespace are mapped.
    Mapped,
    /// Mounts for the next binds of the Plan, which come with the packet.
    Binds,
    /// The start is on record; run the program.
    Go(Departing),
    /// Send this signal to the program.
    Signal(i32),
    /// Let the stopped program go on.
    Continue,
    /// Write to the program's list of refusals.
    Tell(Refused),
    /// All that is to be known of the cage is known.
    Leave,
}

/// When pid 1 goes after it has told the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Departing {
    /// At once.
    #[default]
    AtOnce,
    /// When it is told to: what counts the cage's usage goes with its last process.
    WhenTold,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

/// A system call that the filter refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Its number on the cage's architecture.
    pub number: u32,
    /// How often.
    pub count: u64,
    /// Whether the caller was killed for it.
    pub killed: bool,
}

/// Something that calls of a program were about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// What came of it.
    pub what: Observation,
    /// What they were about, links resolved as far as it exists.
    pub path: GuestPath,
    /// How many calls.
    pub count: u64,
}

/// What came of calls, as far as pid 1 can tell: it sees them before they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// A write to what the cage has read-only, or to a place that it does not have.
    Unwritable,
    /// A look-up of what is not in the cage, where the host may have it.
    Missing,
    /// A call about what is hidden.
    Hidden,
    /// A file of a grant was read or looked at.
    Read,
    /// A file of a grant was started.
    Executed,
    /// A directory of a grant was looked at.
    Listed,
    /// Something of a grant was changed.
    Written,
    /// Something was left in the cage's own memory, and is gone.
    Vanished,
    /// A memory file system of the cage's own was full at the end.
    Full,
}

/// A name that was asked about where nobody is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// The name; none for those that are no names, or are too many to be told.
    pub name: Option<String>,
    /// How often.
    pub count: u64,
}

/// Which of the layers that a kernel may lack are around the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// The second wall around files.
    pub landlock: LandlockState,
    /// Whether refused calls are named.
    pub notify: NotifyState,
    /// How connections reach the gatekeeper.
    pub network: NetworkState,
}

/// What landlock enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandlockState {
    /// Every right and scope that the Plan uses.
    Full,
    /// Only the rights that this kernel's older landlock knows.
    Partial,
    /// The kernel has no landlock.
    Absent,
}

/// How the connections of a cage's programs reach the gatekeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkState {
    /// Not at all: the cage has its own loopback and nothing else.
    Loopback,
    /// All of them, by packet rules that give each to the gatekeeper's listener; refused datagrams are
    /// told.
    Tproxy,
    /// All of them, by packet rules that translate addresses; refused datagrams are told.
    Redirect,
    /// Those to ports that some rule allows, by a listener for each; the kernel refuses others.
    PerPort,
}

/// Whether refused system calls are reported by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyState {
    /// Pid 1 answers refused calls.
    Listening,
    /// Another listener is above this process; the filter refuses by itself.
    Unavailable,
}

/// One end of the channel.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// A connected pair.
    pub(crate) fn pair() -> Result<(Self, Self), Errno> {
        channel::pair().map(|(one, other)| (Self(one), Self(other)))
    }

    /// Takes a connected socket.
    pub(crate) fn from_fd(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// The socket itself.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Sends one packet, with file descriptors if there are any.
    pub(crate) fn send<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), Errno> {
        let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
        channel::send(self.0.as_fd(), &bytes, descriptors, Waiting::Allowed)
    }

    /// Sends one packet if there is room for it now.
    pub(crate) fn send_if_room<T: Serialize>(&self, message: &T) -> Result<(), Errno> {
        let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
        channel::send(self.0.as_fd(), &bytes, &[], Waiting::Refused)
    }

    /// The next packet; none when the other side is gone. Descriptors that came with it are
    /// returned, at most [`channel::MAX_DESCRIPTORS`].
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> Result<Option<(T, Vec<OwnedFd>)>, Errno> {
        let received = channel::receive(self.0.as_fd(), MAX_PACKET, Waiting::Allowed)?;
        let Some((packet, descriptors)) = received else { return Ok(None) };
        let message = serde_json::from_slice(&packet).map_err(|_| Errno::BADMSG)?;
        Ok(Some((message, descriptors)))
    }
}

impl Channel {
    /// Hands something over to the supervisor, and lets go of it.
    pub(crate) fn hand_over(
        &self,
        what: HandOver,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(), SetupFailure> {
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        self.send(&Report::HandOver(what), &borrowed)
            .map_err(|errno| SetupFailure::kernel(Step::Control, "the supervisor", errno))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Longest packet between supervisor and pid 1.
const MAX_PACKET: usize = 64 * 1024;
