//! What a supervisor and the process that serves a mount of a cage say to each other: one JSON value per packet. The
//! task comes first and has no credential; keys come with the order to serve, and go no further than the process's memory.
//! Neither side trusts the other's sizes.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::{Access, ByteString, HostPath, RemoteStore};
use rustix::io::{Errno, retry_on_intr};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::channel::{self, Waiting};

/// The word by which a program of ours knows that it is to serve a mount.
pub const COMMAND: &str = "__serve-mount";

/// What a supervisor tells the process, in this order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// What there is to serve. With a store comes the directory that it lies in.
    Prepare(Box<Task>),
    /// Serve it. The descriptor on which the kernel asks comes with it.
    Serve(Keys),
}

/// What there is to serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Where it comes from.
    pub from: TaskSource,
    /// Whether it can be changed.
    pub access: Access,
    /// Whose all files are, as the cage counts.
    pub uid: u32,
    /// Their group.
    pub gid: u32,
    /// Most that a store on this machine takes.
    pub most_bytes: u64,
}

/// Where files come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskSource {
    /// A file with a file system in it, which is made if it is missing and may be changed.
    Store {
        /// The directory that the file lies in.
        directory: HostPath,
        /// Its name there.
        name: ByteString,
    },
    /// A directory with a layer above it, in the form of the kernel's. Both come with the task, the lower one first.
    Layers {
        /// The directory below, which is only read.
        lower: HostPath,
        /// For root: whose files in it are read as their owner's.
        lower_owner: Option<(u32, u32)>,
        /// The directory that holds the layer.
        area: HostPath,
        /// What is not shown, by its path below.
        hidden: Vec<ByteString>,
        /// What can be read and not changed.
        read_only: Vec<ByteString>,
    },
    /// A store far away.
    Remote {
        /// Which.
        store: RemoteStore,
        /// Where it is asked.
        endpoint: String,
        /// In which region it is; empty where there are none.
        region: String,
        /// Where tokens are had; empty where none are.
        token_endpoint: String,
    },
}

/// By what a store far away may be asked.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Keys {
    /// Nothing is needed.
    None,
    /// A key of a store that speaks S3.
    S3 {
        /// The id of the key.
        key_id: String,
        /// The key.
        key: String,
        /// The token that belongs to a key that does not last.
        token: Option<String>,
    },
    /// A key of an account of Azure's.
    Azure {
        /// The account.
        account: String,
        /// Its key.
        key: String,
    },
    /// A token of Google's.
    AccessToken(String),
    /// What such tokens are had for.
    RefreshToken {
        /// The program, as the service knows it.
        client_id: String,
        /// Its secret.
        client_secret: String,
        /// What the drive's owner gave it.
        refresh_token: String,
    },
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "None",
            Self::S3 { .. } => "S3(…)",
            Self::AccessToken(_) => "AccessToken(…)",
            Self::Azure { .. } => "Azure(…)",
            Self::RefreshToken { .. } => "RefreshToken(…)",
        })
    }
}

/// What the process says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerReport {
    /// It has agreed with the kernel, and serves.
    Serving,
    /// It cannot serve, and ends.
    Failed {
        /// Why, without a credential.
        reason: String,
    },
    /// Nobody uses the mount any more, and everything is where it belongs, but for what is named.
    Ended {
        /// What failed last, if something did.
        fault: Option<String>,
    },
}

/// One end of a channel.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// A connected pair.
    pub fn pair() -> Result<(Self, Self), Errno> {
        channel::pair().map(|(one, other)| (Self(one), Self(other)))
    }

    /// Takes a connected socket.
    pub fn from_fd(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Sends one packet, with file descriptors if there are any.
    pub fn send<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), Errno> {
        let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
        if bytes.len() > MOST_BYTES {
            return Err(Errno::MSGSIZE);
        }
        retry_on_intr(|| channel::send(self.as_fd(), &bytes, descriptors, Waiting::Allowed))
    }

    /// The next packet with the descriptors that came with it; none when the other side is gone.
    pub fn receive<T: DeserializeOwned>(
        &self,
        waiting: Waiting,
    ) -> Result<Option<(T, Vec<OwnedFd>)>, Errno> {
        let received = retry_on_intr(|| channel::receive(self.as_fd(), MOST_BYTES, waiting))?;
        let Some((packet, descriptors)) = received else { return Ok(None) };
        let message = serde_json::from_slice(&packet).map_err(|_| Errno::BADMSG)?;
        Ok(Some((message, descriptors)))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Longest packet.
const MOST_BYTES: usize = 64 * 1024;
