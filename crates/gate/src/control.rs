//! What a supervisor and its gatekeeper say to each other: one JSON value per packet. The supervisor
//! sends orders on one channel; each cage has a channel of its own besides, whose end is the end of
//! the registration, so that a cage whose owner is gone is never served.
//!
//! Neither side trusts the other's sizes. Never carries a byte of a cage's traffic.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::network::{GatekeeperPlan, SocketKind};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::{Errno, retry_on_intr};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::channel::{self, MAX_DESCRIPTORS};

use crate::account::Account;
use crate::event::{Counters, Event};
use crate::settings::Settings;

pub use sys::channel::Waiting;

/// What a supervisor tells the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// Serve a cage. With it come the cage's channel, its plan, the sockets of `kinds`, and one
    /// listener for each of `published`, in this order.
    Register(Box<Registration>),
    /// Ask these resolvers from now on, for every cage.
    Upstream {
        /// In the order of trying.
        resolvers: Vec<SocketAddr>,
    },
    /// Take no more cages, and end with the last one.
    Drain,
}

/// What the process says for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProcessReport {
    /// It cannot serve anybody, and ends.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A cage to serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// The start that it belongs to.
    pub invocation: String,
    /// The project that it works on.
    pub project: String,
    /// The user's settings.
    pub settings: Settings,
    /// What the sockets are that were made inside.
    pub kinds: Vec<SocketKind>,
    /// The ports whose listeners were made on the host's loopback.
    pub published: Vec<u16>,
}

/// What a supervisor says on a cage's channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CageOrder {
    /// End every connection and tell the account.
    Unregister,
}

/// What the gatekeeper says on a cage's channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CageReport {
    /// The cage is served.
    Registered,
    /// The cage is not served.
    Refused {
        /// Why.
        reason: String,
    },
    /// Something happened.
    Event(Event),
    /// What went through so far and what did not, now and then while it changes.
    Progress(Counters),
    /// The account, at the end.
    Account(Account),
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

    /// The socket itself.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Sends one packet, with file descriptors if there are any.
    pub fn send<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
        waiting: Waiting,
    ) -> Result<(), Errno> {
        send(self.0.as_fd(), message, descriptors, waiting)
    }

    /// The next packet with the descriptors that came with it; none when the other side is gone.
    pub fn receive<T: DeserializeOwned>(
        &self,
        waiting: Waiting,
    ) -> Result<Option<(T, Vec<OwnedFd>)>, Errno> {
        receive(self.0.as_fd(), waiting)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends one packet, with file descriptors if there are any.
pub(crate) fn send<T: Serialize>(
    socket: BorrowedFd<'_>,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
    waiting: Waiting,
) -> Result<(), Errno> {
    let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
    if bytes.len() > MAX_PACKET || descriptors.len() > MAX_DESCRIPTORS {
        return Err(Errno::MSGSIZE);
    }
    retry_on_intr(|| channel::send(socket, &bytes, descriptors, waiting))
}

/// The next packet with the descriptors that came with it; none when the other side is gone.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
    waiting: Waiting,
) -> Result<Option<(T, Vec<OwnedFd>)>, Errno> {
    let received = retry_on_intr(|| channel::receive(socket, MAX_PACKET, waiting))?;
    let Some((packet, descriptors)) = received else { return Ok(None) };
    let message = serde_json::from_slice(&packet).map_err(|_| Errno::BADMSG)?;
    Ok(Some((message, descriptors)))
}

/// A plan as a sealed file in memory: it can be longer than a packet.
pub fn write_plan(plan: &GatekeeperPlan) -> Result<OwnedFd, Errno> {
    let bytes = serde_json::to_vec(plan).map_err(|_| Errno::INVAL)?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(c"plan", flags)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let written = retry_on_intr(|| rustix::io::write(&file, rest))?;
        rest = rest.get(written..).unwrap_or_default();
    }
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, all)?;
    Ok(file)
}

/// The plan that [`write_plan`] wrote.
pub fn read_plan(file: BorrowedFd<'_>) -> Result<GatekeeperPlan, Errno> {
    let length = usize::try_from(rustix::fs::fstat(file)?.st_size).map_err(|_| Errno::TOOBIG)?;
    if length > MAX_PLAN {
        return Err(Errno::TOOBIG);
    }
    let mut bytes = vec![0_u8; length];
    let mut filled = 0_usize;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let position = u64::try_from(filled).map_err(|_| Errno::TOOBIG)?;
        match retry_on_intr(|| rustix::io::pread(file, &mut *rest, position))? {
            0 => return Err(Errno::BADMSG),
            more => filled += more,
        }
    }
    serde_json::from_slice(&bytes).map_err(|_| Errno::BADMSG)
}

/// Longest packet.
const MAX_PACKET: usize = 128 * 1024;

/// Longest plan of one cage.
const MAX_PLAN: usize = 4 << 20;

#[cfg(test)]
mod tests;
