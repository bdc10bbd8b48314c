//! The server's side of SOCKS 5, 4 and 4a as bytes in and bytes out: what a client asks for, and the
//! answers it understands. Never decides whether it gets it; which cage asks is known from the socket,
//! so nobody authenticates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::decision::{Denial, DenialCode, Target};

/// What is to be done next. `consumed` is how many bytes of the input are dealt with; what follows
/// them belongs to the next step or, after a request, to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input is too short to say.
    NeedMore,
    /// Send these bytes and go on.
    Answer {
        /// How much of the input was looked at.
        consumed: usize,
        /// The bytes.
        answer: &'static [u8],
    },
    /// The client asks for a connection. It gets `request.version.reply(…)`.
    Request {
        /// How much of the input was looked at.
        consumed: usize,
        /// What it asks for.
        request: Request,
    },
    /// The client cannot be served: send these bytes, if any, and close.
    Refuse {
        /// The bytes.
        answer: Vec<u8>,
        /// Why.
        denial: Denial,
    },
}

/// A connection that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The form that answers have.
    pub version: Version,
    /// Where to.
    pub target: Target,
    /// The port there.
    pub port: u16,
}

/// The form of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// SOCKS 4 and 4a.
    V4,
    /// SOCKS 5, RFC 1928.
    V5,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The connection is made.
    Succeeded,
    /// Something else went wrong.
    GeneralFailure,
    /// The rules do not allow it.
    NotAllowed,
    /// There is no way to the network.
    NetworkUnreachable,
    /// The host does not answer, or the name leads nowhere.
    HostUnreachable,
    /// The host refuses.
    ConnectionRefused,
    /// The host did not answer in time.
    TimedOut,
    /// Something other than a connection was asked for.
    CommandNotSupported,
    /// The address is of no known kind.
    AddressTypeNotSupported,
}

/// A client's way from its first byte to its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiation {
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    First,
    /// SOCKS 5 after its greeting.
    Greeted,
}

impl Negotiation {
    /// A client that has said nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at all bytes of the client that no step has consumed. No step needs more than
    /// [`MAX_STEP`] of them.
    pub fn advance(&mut self, input: &[u8]) -> Step {
        let step = match (self.stage, input.first()) {
            (_, None) => Some(Step::NeedMore),
            (Stage::First, Some(5)) => greeting(input),
            (Stage::First, Some(4)) => request_4(input),
            (Stage::Greeted, Some(5)) => request_5(input),
            (stage, Some(_)) => Some(unknown_version(stage)),
        };
        // A reader that ran out of bytes gives nothing.
        let step = step.unwrap_or(Step::NeedMore);
        if matches!(step, Step::Answer { .. }) {
            self.stage = Stage::Greeted;
        }
        step
    }
}

impl Version {
    /// The bytes that tell the client what came of its request. The bound address is left empty: it is
    /// the gatekeeper's and none of the cage's business.
    pub fn reply(self, reply: Reply) -> Vec<u8> {
        match self {
            Self::V5 => vec![5, reply.code(), 0, ADDRESS_V4, 0, 0, 0, 0, 0, 0],
            Self::V4 => {
                let code = if reply == Reply::Succeeded { 90 } else { 91 };
                vec![0, code, 0, 0, 0, 0, 0, 0]
            }
        }
    }
}

impl Reply {
    /// The number in a SOCKS 5 answer.
    pub fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::GeneralFailure => 1,
            Self::NotAllowed => 2,
            Self::NetworkUnreachable => 3,
            Self::HostUnreachable => 4,
            Self::ConnectionRefused => 5,
            Self::TimedOut => 6,
            Self::CommandNotSupported => 7,
            Self::AddressTypeNotSupported => 8,
        }
    }
}

/// `5, count, methods`. Only "no authentication" is taken, which every client offers.
fn greeting(input: &[u8]) -> Option<Step> {
    let mut input = Input::after_version(input);
    let count = input.byte()?;
    let methods = input.take(usize::from(count))?;
    if methods.contains(&NO_AUTHENTICATION) {
        return Some(Step::Answer { consumed: input.consumed, answer: &[5, NO_AUTHENTICATION] });
    }
    Some(Step::Refuse {
        answer: vec![5, NO_METHOD],
        denial: refusal("the SOCKS client insists on authentication, and there is none here"),
    })
}

/// `5, command, 0, kind, address, port`.
fn request_5(input: &[u8]) -> Option<Step> {
    let mut input = Input::after_version(input);
    let version = Version::V5;
    let command = input.byte()?;
    // The kind of address decides how long the request is; all of it is read before an answer, so that
    // a client is not refused in the middle of its sentence.
    let _reserved = input.byte()?;
    let target = match input.byte()? {
        ADDRESS_V4 => Ok(Target::address(IpAddr::from(*input.array::<4>()?))),
        ADDRESS_V6 => Ok(Target::address(IpAddr::V6(Ipv6Addr::from(*input.array::<16>()?)))),
        ADDRESS_NAME => {
            let length = input.byte()?;
            Target::parse(input.take(usize::from(length))?)
        }
        _ => {
            let denial = refusal("the SOCKS request has an address of an unknown kind");
            return Some(refuse(version, Reply::AddressTypeNotSupported, denial));
        }
    };
    let port = u16::from_be_bytes(*input.array::<2>()?);
    Some(finish(version, command, target, port, input.consumed))
}

/// `4, command, port, address, user, 0`, and in 4a a name and 0 for the addresses 0.0.0.1 to 0.0.0.255.
fn request_4(input: &[u8]) -> Option<Step> {
    let mut input = Input::after_version(input);
    let version = Version::V4;
    let too_long = || {
        let denial = refusal("the SOCKS request has a user or host of more than 255 bytes");
        Some(refuse(version, Reply::NotAllowed, denial))
    };
    let command = input.byte()?;
    let port = u16::from_be_bytes(*input.array::<2>()?);
    let address = *input.array::<4>()?;
    if let Terminated::TooLong = input.terminated()? {
        return too_long();
    }
    let target = match address {
        [0, 0, 0, 1..=255] => match input.terminated()? {
            Terminated::TooLong => return too_long(),
            Terminated::Text(host) => Target::parse(host),
        },
        octets => Ok(Target::address(IpAddr::V4(Ipv4Addr::from(octets)))),
    };
    Some(finish(version, command, target, port, input.consumed))
}

fn finish(
    version: Version,
    command: u8,
    target: Result<Target, Denial>,
    port: u16,
    consumed: usize,
) -> Step {
    match (command, target) {
        (CONNECT, Ok(target)) => {
            Step::Request { consumed, request: Request { version, target, port } }
        }
        (CONNECT, Err(denial)) => refuse(version, Reply::NotAllowed, denial),
        _ => {
            let denial = refusal("the SOCKS client asks for something other than a connection");
            refuse(version, Reply::CommandNotSupported, denial)
        }
    }
}

fn unknown_version(stage: Stage) -> Step {
    // In the middle of version 5 a client understands an answer; before it nobody knows.
    let answer = match stage {
        Stage::First => Vec::new(),
        Stage::Greeted => Version::V5.reply(Reply::GeneralFailure),
    };
    Step::Refuse { answer, denial: refusal("the client does not speak SOCKS 5, 4 or 4a") }
}

fn refuse(version: Version, reply: Reply, denial: Denial) -> Step {
    Step::Refuse { answer: version.reply(reply), denial }
}

fn refusal(reason: &str) -> Denial {
    Denial::new(DenialCode::SocksRefused, reason)
}

/// What is left of the input; every reader gives nothing where the input ends too early.
struct Input<'a> {
    rest: &'a [u8],
    consumed: usize,
}

enum Terminated<'a> {
    Text(&'a [u8]),
    TooLong,
}

impl<'a> Input<'a> {
    fn after_version(input: &'a [u8]) -> Self {
        Self { rest: input.get(1..).unwrap_or_default(), consumed: 1 }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        self.consumed += count;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| *byte)
    }

    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        self.take(N)?.first_chunk::<N>()
    }

    /// Text up to a NUL, which is consumed too.
    fn terminated(&mut self) -> Option<Terminated<'a>> {
        let window = self.rest.get(..=MAX_TEXT).unwrap_or(self.rest);
        match window.iter().position(|byte| *byte == 0) {
            Some(end) => {
                let text = self.take(end)?;
                self.take(1)?;
                Some(Terminated::Text(text))
            }
            None if window.len() > MAX_TEXT => Some(Terminated::TooLong),
            None => None,
        }
    }
}

/// The longest step: SOCKS 4a with a user and a host of 255 bytes each.
pub const MAX_STEP: usize = 8 + 2 * (MAX_TEXT + 1);

const MAX_TEXT: usize = 255;
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const ADDRESS_V4: u8 = 1;
const ADDRESS_NAME: u8 = 3;
const ADDRESS_V6: u8 = 4;

#[cfg(test)]
mod tests;
