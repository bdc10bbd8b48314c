//! Requests and answers between a caller and its launcher. A request is as many packets as its
//! bytes and descriptors need, each telling how much of both is still to come; sizes are capped
//! before anything is kept.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use plan::Plan;
use rustix::io::Errno;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use sys::channel::{self, MAX_DESCRIPTORS, Packet, Waiting};

use super::Helper;
use crate::start::Leftovers;
use crate::{Child, LimitsHolder, ProgramStreams, SetupFailure, StartError, Stream};

/// What a caller wants.
pub(super) enum Request {
    /// A cage.
    Cage(Box<CageRequest>),
    /// The helper process.
    Helper,
}

/// A cage to start.
pub(super) struct CageRequest {
    pub(super) plan: Plan,
    pub(super) sources: Vec<OwnedFd>,
    pub(super) streams: ProgramStreams,
    pub(super) limits: Limits,
}

/// A [`LimitsHolder`] that owns its cgroup.
pub(super) enum Limits {
    Nobody,
    Caller { cgroup: Option<OwnedFd> },
}

impl Limits {
    pub(super) fn as_holder(&self) -> LimitsHolder<'_> {
        match self {
            Self::Nobody => LimitsHolder::Nobody,
            Self::Caller { cgroup } => {
                LimitsHolder::Caller { cgroup: cgroup.as_ref().map(AsFd::as_fd) }
            }
        }
    }
}

/// A request on its way.
pub(super) struct WrittenRequest<'a> {
    bytes: Vec<u8>,
    descriptors: Vec<BorrowedFd<'a>>,
}

impl WrittenRequest<'_> {
    pub(super) fn send(&self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        send_parts(socket, &self.bytes, &self.descriptors)
    }
}

impl CageRequest {
    /// Writes a request for a cage.
    pub(super) fn write<'a>(
        plan: &Plan,
        sources: &'a [OwnedFd],
        streams: &'a ProgramStreams,
        limits: LimitsHolder<'a>,
    ) -> WrittenRequest<'a> {
        let mut descriptors = Vec::with_capacity(sources.len() + 4);
        let mut kinds = [StreamKind::Null; 3];
        let wanted = [&streams.stdin, &streams.stdout, &streams.stderr];
        for (kind, stream) in kinds.iter_mut().zip(wanted) {
            *kind = match stream {
                Stream::Descriptor(descriptor) => {
                    descriptors.push(descriptor.as_fd());
                    StreamKind::Descriptor
                }
                Stream::Terminal => StreamKind::Terminal,
                Stream::Null => StreamKind::Null,
            };
        }
        let holder = match limits {
            LimitsHolder::Nobody => HolderKind::Nobody,
            LimitsHolder::Caller { cgroup: None } => HolderKind::Caller,
            LimitsHolder::Caller { cgroup: Some(cgroup) } => {
                descriptors.push(cgroup);
                HolderKind::CallerWithCgroup
            }
        };
        descriptors.extend(sources.iter().map(AsFd::as_fd));
        let mut bytes = vec![RequestKind::Cage as u8];
        bytes.extend(kinds.map(|kind| kind as u8));
        bytes.push(holder as u8);
        bytes.extend(plan::encode(plan));
        WrittenRequest { bytes, descriptors }
    }
}

/// Asks for the helper process.
pub(super) fn send_helper_request(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    send_parts(socket, &[RequestKind::Helper as u8], &[])
}

/// The next request: none when the caller is gone, an error inside when it cannot be taken.
pub(super) fn receive_request(
    socket: BorrowedFd<'_>,
) -> Result<Option<Result<Request, StartError>>, Errno> {
    let Some((bytes, descriptors)) = receive_parts(socket)? else { return Ok(None) };
    Ok(Some(read_request(&bytes, descriptors)))
}

fn read_request(bytes: &[u8], descriptors: Vec<OwnedFd>) -> Result<Request, StartError> {
    let malformed = |what: &str| StartError::Unsupported(format!("the request {what}"));
    if bytes == [RequestKind::Helper as u8] {
        return Ok(Request::Helper);
    }
    let Some((kinds, encoded)) = bytes.split_first_chunk::<5>() else {
        return Err(malformed("is too short"));
    };
    let plan = plan::decode(encoded).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        StartError::Unsupported(format!("{error}{}", cause.unwrap_or_default()))
    })?;
    let mut descriptors = descriptors.into_iter();
    let mut stream = |kind: u8| match kind {
        kind if kind == StreamKind::Descriptor as u8 => descriptors
            .next()
            .map(Stream::Descriptor)
            .ok_or_else(|| malformed("lacks a descriptor")),
        kind if kind == StreamKind::Terminal as u8 => Ok(Stream::Terminal),
        kind if kind == StreamKind::Null as u8 => Ok(Stream::Null),
        _ => Err(malformed("names an unknown stream")),
    };
    let [request, stdin, stdout, stderr, holder] = *kinds;
    if request != RequestKind::Cage as u8 {
        return Err(malformed("is of an unknown kind"));
    }
    let streams =
        ProgramStreams { stdin: stream(stdin)?, stdout: stream(stdout)?, stderr: stream(stderr)? };
    let limits = match holder {
        kind if kind == HolderKind::Nobody as u8 => Limits::Nobody,
        kind if kind == HolderKind::Caller as u8 => Limits::Caller { cgroup: None },
        kind if kind == HolderKind::CallerWithCgroup as u8 => {
            let cgroup = descriptors.next().ok_or_else(|| malformed("lacks a descriptor"))?;
            Limits::Caller { cgroup: Some(cgroup) }
        }
        _ => return Err(malformed("names an unknown holder of limits")),
    };
    let sources = descriptors.collect();
    Ok(Request::Cage(Box::new(CageRequest { plan, sources, streams, limits })))
}

/// Sends what became of a request. A cage that nobody was there to take ends.
pub(super) fn send_answer(
    socket: BorrowedFd<'_>,
    answer: Result<Child, StartError>,
) -> Result<Leftovers, Errno> {
    match answer {
        Ok(child) => {
            let answer = Answer::Child { pid: child.pid().as_raw_nonzero().get() };
            answer.send(socket, &[child.gone(), child.reports()])?;
            Ok(child.given_away())
        }
        Err(error) => Answer::of_error(error).send(socket, &[]).map(|()| Leftovers::default()),
    }
}

/// Sends the helper process, or why there is none.
pub(super) fn send_helper(
    socket: BorrowedFd<'_>,
    answer: Result<Helper, StartError>,
) -> Result<(), Errno> {
    match answer {
        Ok(Helper { pid, pidfd, control }) => {
            let answer = Answer::Child { pid: pid.as_raw_nonzero().get() };
            answer.send(socket, &[pidfd.as_fd(), control.as_fd()])
        }
        Err(error) => Answer::of_error(error).send(socket, &[]),
    }
}

/// The process that was just asked for.
pub(super) fn receive_helper(socket: BorrowedFd<'_>) -> Result<Result<Helper, StartError>, Errno> {
    let received = receive_answer(socket)?;
    Ok(received.map(|(pid, pidfd, control)| Helper { pid, pidfd, control }))
}

/// A process, a handle on it, and a channel to it.
type Process = (Pid, OwnedFd, OwnedFd);

/// What became of the request that was just sent; an error outside means that the launcher is
/// gone.
pub(super) fn receive_answer(socket: BorrowedFd<'_>) -> Result<Result<Process, StartError>, Errno> {
    let (bytes, descriptors) = receive_parts(socket)?.ok_or(Errno::PIPE)?;
    let answer = serde_json::from_slice(&bytes).map_err(|_| Errno::BADMSG)?;
    Ok(match (answer, <[OwnedFd; 2]>::try_from(descriptors)) {
        (Answer::Child { pid }, Ok([pidfd, control])) => match Pid::from_raw(pid) {
            Some(pid) => Ok((pid, pidfd, control)),
            None => Err(StartError::Vanished),
        },
        (Answer::Unsupported { reason }, _) => Err(StartError::Unsupported(reason)),
        (Answer::Setup { failure }, _) => Err(StartError::Setup(failure)),
        (Answer::Child { .. } | Answer::Vanished, _) => Err(StartError::Vanished),
    })
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Child { pid: i32 },
    Unsupported { reason: String },
    Setup { failure: SetupFailure },
    Vanished,
}

impl Answer {
    fn of_error(error: StartError) -> Self {
        match error {
            StartError::Unsupported(reason) => Self::Unsupported { reason },
            StartError::Setup(failure) => Self::Setup { failure },
            StartError::Vanished | StartError::LauncherGone => Self::Vanished,
        }
    }

    fn send(&self, socket: BorrowedFd<'_>, descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let bytes = serde_json::to_vec(self).map_err(|_| Errno::INVAL)?;
        send_parts(socket, &bytes, descriptors)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    Cage = 0,
    Helper = 1,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamKind {
    Null = 0,
    Terminal = 1,
    Descriptor = 2,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HolderKind {
    Nobody = 0,
    Caller = 1,
    CallerWithCgroup = 2,
}

/// Sends bytes and descriptors in packets: the packet's own bytes, then how many bytes are left and how
/// many descriptors are left, both counting this packet.
fn send_parts(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let (mut bytes, mut descriptors) = (bytes, descriptors);
    let count = |length: usize| u32::try_from(length).map_err(|_| Errno::TOOBIG);
    loop {
        let (chunk, more_bytes) = bytes.split_at(bytes.len().min(MAX_CHUNK));
        let (batch, more_descriptors) =
            descriptors.split_at(descriptors.len().min(MAX_DESCRIPTORS));
        let mut packet = Vec::with_capacity(chunk.len() + SUFFIX);
        packet.extend(chunk);
        packet.extend(count(bytes.len())?.to_le_bytes());
        packet.extend(count(descriptors.len())?.to_le_bytes());
        channel::send(socket, &packet, batch, Waiting::Allowed)?;
        (bytes, descriptors) = (more_bytes, more_descriptors);
        if bytes.is_empty() && descriptors.is_empty() {
            return Ok(());
        }
    }
}

fn receive_parts(socket: BorrowedFd<'_>) -> Result<Option<Packet>, Errno> {
    let (mut bytes, mut descriptors) = (Vec::new(), Vec::new());
    let receive = || channel::receive(socket, MAX_CHUNK + SUFFIX, Waiting::Allowed);
    loop {
        let Some((mut packet, batch)) = rustix::io::retry_on_intr(receive)? else {
            return if bytes.is_empty() { Ok(None) } else { Err(Errno::BADMSG) };
        };
        let Some((chunk, &[a, b, c, d, e, f, g, h])) = packet.split_last_chunk::<SUFFIX>() else {
            return Err(Errno::BADMSG);
        };
        let left_bytes = u32::from_le_bytes([a, b, c, d]);
        let left_descriptors = u32::from_le_bytes([e, f, g, h]);
        let length = chunk.len();
        packet.truncate(length);
        if bytes.is_empty() {
            // Mostly the only one: a copy would be so many more pages that a fork has to share.
            bytes = packet;
        } else {
            bytes.append(&mut packet);
        }
        let came = u32::try_from(batch.len()).map_err(|_| Errno::TOOBIG)?;
        descriptors.extend(batch);
        if bytes.len() > plan::MAX_PLAN_BYTES + SUFFIX || descriptors.len() > MOST_DESCRIPTORS {
            return Err(Errno::TOOBIG);
        }
        let chunk = u32::try_from(length).map_err(|_| Errno::TOOBIG)?;
        if left_bytes <= chunk && left_descriptors <= came {
            return Ok(Some((bytes, descriptors)));
        }
    }
}

const SUFFIX: usize = 8;
const MAX_CHUNK: usize = 64 * 1024;

/// Most descriptors of one request: a source for each of the most grants a policy may have.
const MOST_DESCRIPTORS: usize = 16 * 1024;
